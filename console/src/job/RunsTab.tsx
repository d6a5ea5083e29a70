import Link from "@cloudscape-design/components/link";
import Select from "@cloudscape-design/components/select";
import { fetcher, type Schemas } from "../api/client";
import { to } from "../app/routes";
import { code, took, tried } from "../runs/columns";
import { useZone } from "../shared/clock";
import { withoutCall } from "../shared/errors";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import { PagedTable } from "../shared/PagedTable";
import { RunStatus } from "../shared/Status";
import { duration } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { Zoned } from "../shared/Zoned";
import { EVER } from "./reading";
import { reasonText } from "./reasons";

const STATES = [
  "QUEUED",
  "RUNNING",
  "WAITING",
  "RETRYING",
  "SUCCEEDED",
  "DEAD",
  "CANCELLED",
  "SKIPPED",
] as const;

const CAUGHT_UP = "caught-up";

/** The query's parameters for a choice of the filter. */
function chosen(state: string | undefined) {
  if (state === CAUGHT_UP) return { caught_up: "true" as const, from: EVER };
  return { state, ...(state === undefined && { from: EVER }) };
}

/** The runs of a job, or of a workflow, which is one. */
export function RunsTab({
  jobId,
  zone,
  address = to.run,
}: {
  jobId: string;
  zone: string;
  address?: (runId: string) => string;
}) {
  const [{ state }, change] = useFilters(["state"]);
  const shown = useZone(zone);
  const pages = usePages(["runs of", jobId, state], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/jobs/{job_id}/runs", {
      params: {
        path: { job_id: jobId },
        query: { limit: 20, cursor, ...chosen(state) },
      },
      signal,
    });
    if (data === undefined) throw new SyntaxError("an empty response");
    return data;
  });
  const options = [
    { label: "All except upcoming", value: "" },
    { label: "Caught up", value: CAUGHT_UP },
    ...STATES.map((each) => ({ label: each, value: each })),
  ];
  return (
    <PagedTable
      pages={pages}
      variant="embedded"
      stickyHeader={false}
      ariaLabels={{ tableLabel: "Runs" }}
      filter={
        <Select
          ariaLabel="State"
          options={options}
          selectedOption={options.find((each) => each.value === (state ?? "")) ?? null}
          onChange={({ detail }) => change({ state: detail.selectedOption.value })}
        />
      }
      empty={
        state === CAUGHT_UP
          ? "There was no catch-up."
          : state
            ? `No runs have the state ${state}. Choose another state.`
            : "The job has not run yet."
      }
      columnDefinitions={[
        {
          id: "run",
          header: <Zoned text="Occurrence" zone={shown} />,
          isRowHeader: true,
          width: 190,
          cell: (run) => (
            <Link href={address(run.id)}>
              <Time at={run.occurrence} zone={zone} bare />
            </Link>
          ),
        },
        {
          id: "state",
          header: "State",
          width: 160,
          card: 50,
          cell: (run) => <RunStatus state={run.state} />,
        },
        {
          id: "took",
          header: "Duration",
          width: 110,
          card: 50,
          labelled: true,
          cell: took,
        },
        {
          id: "late",
          header: "Lateness",
          width: 118,
          spare: true,
          card: 50,
          labelled: true,
          cell: (run) => (run.lateness_seconds === null ? "-" : duration(Math.max(run.lateness_seconds, 0))),
        },
        {
          id: "attempts",
          header: "Attempts",
          width: 118,
          spare: true,
          card: 50,
          labelled: true,
          cell: tried,
        },
        code,
        {
          id: "why",
          header: "Reason",
          width: 200,
          grow: 1,
          card: 100,
          has: (run) => reasonOf(run) !== "",
          cell: (run) => <Long text={reasonOf(run)} header="Reason" />,
        },
      ]}
    />
  );
}

/** The origin of a run that the schedule did not start: the letter after its instant (docs/runs.md). */
const STARTS: Record<string, string> = { m: "manual", b: "backfill", f: "backfill" };

/** Whether a workflow's run repeats an earlier one: it has the occurrence of that run, and is due when it is requested. */
function isRerun({ id, occurrence, due }: Schemas["Run"]): boolean {
  return id.includes(".m") && Date.parse(occurrence) < Date.parse(due);
}

function reasonOf(run: Schemas["Run"]): string {
  const suffix = run.id.split(".")[2];
  return [
    suffix !== undefined && (isRerun(run) ? "rerun" : STARTS[suffix.slice(0, 1)]),
    run.count > 1 && `covers ${run.count} occurrences`,
    reasonText(run.reason),
    run.error && withoutCall(run.error),
    run.requested_by && `by ${run.requested_by}`,
  ]
    .filter(Boolean)
    .join("; ");
}
