import "../shared/colors.css";
import "./delays.css";
import Container from "@cloudscape-design/components/container";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs, { type KeyValuePairsProps } from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { ReactNode } from "react";
import { api } from "../api/client";
import { LIST, paced } from "../api/polling";
import { useStage } from "../app/context";
import { to } from "../app/routes";
import { reasonText } from "../job/reasons";
import { workflowRun } from "../runs/columns";
import { CopyId } from "../shared/CopyId";
import { Time } from "../shared/Instant";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { logsLink, tracesLink, windowOf } from "./links";
import { isOver, type SingleRun } from "./strip";

const DELAYS = {
  dispatch: { text: "until it was sent", color: "var(--dc-inactive)" },
  queue: { text: "in the queue", color: "var(--dc-warning)" },
  waiting: { text: "waiting for other runs", color: "var(--dc-info)" },
  start: { text: "in the worker", color: "var(--dc-success)" },
} as const;

/** Who requested a run: a caller, or the end of another run (`duecourse:after RUN PLACE`). */
function Author({ by }: { by: string }) {
  const [word, before] = by.split(" ");
  if (word !== "duecourse:after" || before === undefined) return by;
  return (
    <>
      the end of <Link href={to.run(before)}>{before}</Link>
    </>
  );
}

/** Where the lateness of a run came from, as one bar. */
function Delays({ of }: { of: NonNullable<SingleRun["delays"]> }) {
  const parts = Object.entries(DELAYS)
    .map(([name, part]) => ({ ...part, seconds: of[name as keyof typeof DELAYS] }))
    .filter(({ seconds }) => seconds >= 0.05);
  const text = parts.map((part) => `${duration(part.seconds)} ${part.text}`).join(", ");
  return (
    <div>
      <div className="delays" role="img" aria-label={`Where it came from: ${text}`}>
        {parts.map(({ text: name, color, seconds }) => (
          <div key={name} style={{ background: color, flexGrow: seconds }} />
        ))}
      </div>
      {text}
    </div>
  );
}

/** The state, times, requester and log links of a run. */
export function Facts({ run, zone }: { run: SingleRun; zone: string }) {
  const over = isOver(run);
  const at = (instant: string | null) => (instant === null ? null : <Time at={instant} zone={zone} />);
  const why = `${to.job(run.job_id)}?tab=why&at=${encodeURIComponent(run.occurrence)}`;
  return (
    <Container header={<Header>Details</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          pair("State", <RunStatus state={run.state} />),
          pair("Reason", run.reason === null ? null : reasonText(run.reason)),
          pair("Waits for the steps", run.waits_for?.join(", ") || null),
          pair("Job", <Link href={to.job(run.job_id)}>{run.job_id}</Link>),
          pair(
            "Occurrence",
            <SpaceBetween size="xxs">
              <Time at={run.occurrence} zone={zone} />
              <Link href={why}>Why it ran or did not run</Link>
            </SpaceBetween>,
          ),
          pair("Due", at(run.due)),
          pair(
            "Lateness",
            run.lateness_seconds === null ? null : (
              <>
                {duration(run.lateness_seconds)}
                {run.delays && <Delays of={run.delays} />}
              </>
            ),
          ),
          pair("Started", at(run.started_at)),
          pair(over ? "Ended" : "Last attempt ended", at(run.finished_at)),
          pair("Next attempt", at(run.next_attempt_at)),
          pair("Duration", over ? durationText(run) : null),
          pair(
            run.waiting_for === "concurrency" ? "Waits for the concurrency key" : "Concurrency key",
            run.concurrency_key && <Link href={to.limit(run.concurrency_key)}>{run.concurrency_key}</Link>,
          ),
          pair(
            "Position in the wait queue",
            run.waiting_for === "concurrency" && run.concurrency_key !== null ? (
              <Position run={run.id} limit_key={run.concurrency_key} />
            ) : null,
          ),
          pair(
            "Waits for the rate of the key",
            run.waiting_for === "rate" && run.rate_key !== null ? (
              <Link href={to.limit(run.rate_key)}>{run.rate_key}</Link>
            ) : null,
          ),
          pair(
            "Waits for the circuit breaker",
            run.breaker_key && <Link href={to.limit(run.breaker_key)}>{run.breaker_key}</Link>,
          ),
          pair(
            run.waiting_for === "rate" || run.waiting_for === "breaker"
              ? "Waiting since"
              : "In the wait queue since",
            at(run.waiting_for === null ? null : run.waiting_since),
          ),
          pair(
            "Execution",
            run.execution && (
              <>
                {run.execution.id} <CopyId id={run.execution.id} what="id of the execution" />
              </>
            ),
          ),
          pair(
            run.execution === null ? "Callback deadline" : "Deadline of the execution",
            at(run.waiting_until),
          ),
          pair("Heartbeat deadline", at(run.heartbeat_until)),
          pair("Worker", run.worker),
          pair("Covers", run.count > 1 ? `${run.count} occurrences` : null),
          pair("Requested by", run.requested_by && <Author by={run.requested_by} />),
          pair("Cancellation requested", run.cancel_requested),
          run.discarded && pair("Discarded", <Discarded of={run.discarded} at={at(run.discarded.at)} />),
          pair("Workflow", run.workflow && <Link href={workflowRun(run)}>{run.workflow}</Link>),
          { label: "Log lines and traces", value: <Elsewhere run={run} /> },
        ].filter((each): each is KeyValuePairsProps.Pair => each !== null)}
      />
    </Container>
  );
}

function Discarded({ of: { by, note }, at }: { of: NonNullable<SingleRun["discarded"]>; at: ReactNode }) {
  return (
    <>
      {at} <span className="text">{by === null ? "because its job was deleted" : `by ${by}`}</span>
      {note !== null && <div className="text">{note}</div>}
    </>
  );
}

/** How long a run's attempts took; with several, also the time from the first to the end, with waits and until a redrive. */
function durationText(run: SingleRun): string | null {
  const took = elapsed(run.started_at, run.finished_at);
  if (took === null) return null;
  const each = run.attempt_list.map(({ started_at, ended_at }) => ended_at && elapsed(started_at, ended_at));
  if (run.attempts < 2 || each.length < run.attempts || each.some((one) => typeof one !== "number")) {
    return duration(took);
  }
  const sum = each.reduce<number>((all, one) => all + Math.max(Number(one), 0), 0);
  return `${duration(sum)} in ${run.attempts} attempts; ${duration(took)} from the first start to the end`;
}

/** Where a run is in the wait queue of its key. The API names the first runs. */
function Position({ run, limit_key }: { run: string; limit_key: string }) {
  const params = { path: { limit_key } };
  const found = api.useQuery(
    "get",
    "/v1/limits/{limit_key}",
    { params },
    { refetchInterval: () => paced(LIST) },
  );
  if (found.data === undefined) return "…";
  const { queue, waiting } = found.data;
  const place = queue.find((each) => each.id === run)?.place;
  return place === undefined
    ? `Not among the first ${queue.length} (${waiting} waiting)`
    : `${place} of ${waiting}`;
}

function pair(label: string, value: ReactNode): KeyValuePairsProps.Pair | null {
  if (value === null) return null;
  return { label, value: typeof value === "string" ? <span className="text">{value}</span> : value };
}

const LOCAL = "local";

/** Where the run's log lines and traces are, in AWS's own console. */
function Elsewhere({ run }: { run: SingleRun }) {
  const { settings: told } = useStage();
  // The logs of a local stack are not in AWS.
  const settings = told.stage === LOCAL ? { ...told, logs: {}, traces: false } : told;
  const window = windowOf(run, Date.now());
  const id = run.correlation_id;
  const logs =
    id === null
      ? logsLink(settings, "run_id", run.id, window)
      : logsLink(settings, "correlation_id", id, window);
  const traces = tracesLink(settings, window);
  return (
    <SpaceBetween size="xxs">
      {id !== null && (
        <CopyToClipboard
          variant="inline"
          textToCopy={id}
          copyButtonAriaLabel="Copy the correlation id"
          copySuccessText="Copied"
          copyErrorText="Copying failed"
        />
      )}
      {logs !== null && (
        <Link external href={logs}>
          Log lines
        </Link>
      )}
      {traces !== null && (
        <Link external href={traces}>
          Traces
        </Link>
      )}
    </SpaceBetween>
  );
}
