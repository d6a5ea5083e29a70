import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import Tabs from "@cloudscape-design/components/tabs";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { api, fetcher, freshKey } from "../api/client";
import { paced, RUN } from "../api/polling";
import { asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { NoteField } from "../dead-letters/NoteField";
import { startOf } from "../job/questions";
import { workflowRun } from "../runs/columns";
import { CopyId } from "../shared/CopyId";
import { useZone } from "../shared/clock";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { useConfirm } from "../shared/useConfirm";
import { useFilters } from "../shared/useFilters";
import { type When, WhenInput, whenAt } from "../shared/WhenInput";
import { Attempts } from "./Attempts";
import { Failure, Message, Payload, Progress, Result } from "./Contents";
import { Facts } from "./Facts";
import { LogTab } from "./LogTab";
import { readPayload, readRun } from "./reading";
import { isOver, type SingleRun } from "./strip";

export default function RunPage() {
  const { runId = "" } = useParams();
  return <Run key={runId} runId={runId} />;
}

function Run({ runId }: { runId: string }) {
  const [redriven, setRedriven] = useState(false);
  const [{ tab = "attempts" }, change] = useFilters(["tab"]);
  const path = { run_id: runId };
  const found = useQuery({
    queryKey: ["run", runId],
    queryFn: ({ signal }) => readRun(runId, signal),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isOver(data) && !(redriven && data.state === "DEAD") ? false : paced(RUN),
  });
  const job = api.useQuery(
    "get",
    "/v1/jobs/{job_id}",
    { params: { path: { job_id: found.data?.job_id ?? "" } } },
    { enabled: found.data !== undefined },
  );
  const sent = useQuery({
    queryKey: ["run", runId, "payload", found.data?.attempts, found.data?.state],
    queryFn: ({ signal }) => readPayload(runId, signal),
    enabled: found.data !== undefined,
  });
  const zone = useZone(job.data?.timezone);
  const notices = useNotices();
  const navigate = useNavigate();
  const { ask, modal } = useConfirm();
  const refusal = useRefusal("jobs:write");
  const run = found.data;
  if (run === undefined) {
    if (found.error === null) return <Spinner size="large" />;
    if (asProblem(found.error).status === 404) {
      return <NotFound what="Run" list={{ href: "#/runs", text: "Runs" }} />;
    }
    return (
      <SpaceBetween size="m">
        <Header variant="h1">Run {runId}</Header>
        <ProblemBox error={found.error} retry={() => void found.refetch()} />
      </SpaceBetween>
    );
  }

  const cancel = () =>
    ask({
      header: "Cancel the run?",
      text: cancellation(run, job.data?.target.type === "workflow"),
      action: "Cancel the run",
      grave: true,
      async run() {
        await fetcher.POST("/v1/runs/{run_id}/cancel", { params: { path } });
        notices.done("The run is being cancelled.");
      },
    });
  const redrive = () =>
    ask({
      header: "Redrive the run?",
      text: (
        <SpaceBetween size="s">
          <div>
            The run starts again with up to {run.max_attempts} more{" "}
            {run.max_attempts === 1 ? "attempt" : "attempts"}.
          </div>
          {sent.data !== undefined && <Payload sent={sent.data} />}
        </SpaceBetween>
      ),
      action: "Redrive",
      grave: true,
      async run() {
        await fetcher.POST("/v1/runs/{run_id}/redrive", { params: { path } });
        setRedriven(true);
        notices.done("The run was redriven.");
      },
    });
  const discard = () => {
    let note = "";
    ask({
      header: "Discard the run?",
      text: (
        <SpaceBetween size="s">
          <div>The run stays dead, and is no longer listed with the dead runs. It can still be redriven.</div>
          <Note change={(text) => (note = text)} />
        </SpaceBetween>
      ),
      action: "Discard",
      async run() {
        await fetcher.POST("/v1/runs/{run_id}/discard", { params: { path }, body: { note: note || null } });
        notices.done("The run was discarded.");
      },
    });
  };
  const succeed = () => {
    let reason = "";
    ask({
      header: "Mark the run as succeeded?",
      text: (
        <SpaceBetween size="s">
          <div>
            The run ends now, although its program has not completed it. A later callback has no effect.
          </div>
          <Note label="Reason" change={(text) => (reason = text)} />
        </SpaceBetween>
      ),
      action: "Mark as succeeded",
      grave: true,
      async run() {
        await fetcher.POST("/v1/runs/{run_id}/mark-succeeded", { params: { path }, body: { reason } });
        notices.done("The run is being marked as succeeded.");
      },
    });
  };
  const reschedule = () => {
    let when = whenAt(run.due, zone);
    ask({
      header: "Reschedule the run?",
      text: (
        <SpaceBetween size="s">
          <div>The run starts at the new time instead. Its id stays.</div>
          <NewTime initial={when} zone={zone} change={(to) => (when = to)} />
        </SpaceBetween>
      ),
      action: "Reschedule",
      async run() {
        const at = startOf(when, zone);
        await fetcher.PATCH("/v1/runs/{run_id}", { params: { path }, body: { at } });
        await found.refetch();
        notices.done("The run was rescheduled.");
      },
    });
  };
  const isWorkflow = job.data?.target.type === "workflow";
  const noJob = refusal ?? (job.data === undefined ? "The job was deleted or cannot be read." : undefined);
  const again = () => {
    const key = freshKey();
    const own = sent.data?.own && sent.data.problem === null ? sent.data.payloadText : null;
    ask({
      header: `Run ${run.job_id} again?`,
      text: `A new run of the job starts now with ${own === null ? "the job's payload" : "the payload of this run"}. This run is not changed.`,
      action: "Run again",
      async run() {
        const { data } = await fetcher.POST("/v1/jobs/{job_id}/run", {
          params: { path: { job_id: run.job_id }, header: { "Idempotency-Key": key } },
          body: own === null ? undefined : { payload: undefined, at: null, delay_seconds: null },
          // As the API sent it: the browser would round large numbers.
          ...(own !== null && { bodySerializer: () => `{"payload": ${own}}` }),
        });
        if (data !== undefined)
          navigate((isWorkflow ? (workflowRun(data) ?? to.run(data.id)) : to.run(data.id)).slice(1));
      },
    });
  };
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        info={<CopyId id={run.id} what="run id" />}
        actions={
          <SpaceBetween direction="horizontal" size="xs">
            {isWorkflow && <Button href={workflowRun(run)}>View the steps</Button>}
            {isOver(run) && (
              <Button onClick={again} disabled={noJob !== undefined} disabledReason={noJob}>
                Run again
              </Button>
            )}
            {run.state === "WAITING" && run.workflow !== run.job_id && (
              <Button onClick={succeed} disabled={refusal !== undefined} disabledReason={refusal}>
                Mark as succeeded
              </Button>
            )}
            {isDelayed(run) && (
              <Button onClick={reschedule} disabled={noJob !== undefined} disabledReason={noJob}>
                Reschedule
              </Button>
            )}
            {!isOver(run) && (
              <Button onClick={cancel} disabled={refusal !== undefined} disabledReason={refusal}>
                Cancel
              </Button>
            )}
            {run.state === "DEAD" && run.discarded === null && (
              <Button onClick={discard} disabled={refusal !== undefined} disabledReason={refusal}>
                Discard
              </Button>
            )}
            {run.state === "DEAD" && (
              <Button
                variant="primary"
                onClick={redrive}
                disabled={refusal !== undefined}
                disabledReason={refusal}
              >
                Redrive
              </Button>
            )}
          </SpaceBetween>
        }
      >
        Run <span className="text">{run.id}</span>
      </Header>
      <ProblemBox error={found.error} retry={() => void found.refetch()} />
      <Failure run={run} />
      <Facts run={run} zone={zone} />
      <Tabs
        ariaLabel="About this run"
        activeTabId={tab}
        onChange={({ detail }) => change({ tab: detail.activeTabId })}
        tabs={[
          {
            id: "attempts",
            label: "Attempts and data",
            content: (
              <SpaceBetween size="l">
                <Progress run={run} zone={zone} />
                <Attempts run={run} zone={zone} isWorkflow={isWorkflow} />
                <Result run={run} />
                {!sent.isPending && <Message sent={sent.data} error={sent.error} />}
              </SpaceBetween>
            ),
          },
          { id: "log", label: "Log", content: <LogTab run={run} /> },
        ]}
      />
      {modal}
    </SpaceBetween>
  );
}

/** Whether the run was requested for a later time and has not come due. */
function isDelayed(run: SingleRun): boolean {
  const requested = /\.m[\w-]+$/.test(run.id);
  return (
    run.state === "QUEUED" && run.waiting_since === null && requested && Date.parse(run.due) > Date.now()
  );
}

/** The field for the new time of a run, which keeps its own value, like `Note`. */
function NewTime({ initial, zone, change }: { initial: When; zone: string; change(when: When): void }) {
  const [when, setWhen] = useState(initial);
  return (
    <WhenInput
      when={when}
      zone={zone}
      onChange={(to) => {
        setWhen(to);
        change(to);
      }}
    />
  );
}

/** The effect of a cancellation, which depends on the run's state. */
function cancellation(run: SingleRun, isWorkflow: boolean): string {
  const started = run.state === "RUNNING" || run.state === "WAITING";
  if (!started) return "No more attempts will start.";
  if (run.execution !== null) return "The run ends immediately, and its execution is stopped.";
  if (run.heartbeat_until !== null) return "The worker receives the cancellation with its next heartbeat.";
  if (run.state === "WAITING" || isWorkflow) return "The run ends immediately.";
  return "The current call is not interrupted. If it fails, it is not retried.";
}

/** The field for a note, which keeps its own text: the question that contains it is not rendered again. */
function Note({ label, change }: { label?: string; change(text: string): void }) {
  const [text, setText] = useState("");
  return (
    <NoteField
      required={label}
      value={text}
      change={(to) => {
        setText(to);
        change(to);
      }}
    />
  );
}
