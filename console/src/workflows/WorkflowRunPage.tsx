import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { useNavigate, useParams } from "react-router";
import { api, fetcher, freshKey, type Schemas } from "../api/client";
import { paced, RUN } from "../api/polling";
import { asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { reasonText, workflowError } from "../job/reasons";
import { Time, useNow } from "../shared/Instant";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { useConfirm } from "../shared/useConfirm";
import { Forecast, useForecast } from "./Forecast";
import Graph from "./Graph";
import { criticalPath, few, isOver, isSettled, rerunOf } from "./graph";
import { StepTable } from "./StepTable";

const JOBS_PER_SECOND = 50;

/** A run of a workflow: the state of each job, live while it is not over. */
export default function WorkflowRunPage() {
  const { workflowId = "", instant = "" } = useParams();
  const { data, error, refetch } = api.useQuery(
    "get",
    "/v1/workflows/{workflow_id}/runs/{instant}",
    { params: { path: { workflow_id: workflowId, instant } } },
    { refetchInterval: (query) => (query.state.data && isSettled(query.state.data) ? false : paced(RUN)) },
  );
  if (data === undefined) {
    if (error === null) return <Spinner size="large" />;
    if (asProblem(error).status === 404) {
      return <NotFound what="Run" list={{ href: to.workflow(workflowId), text: workflowId }} />;
    }
    return asProblem(error).status === 409 ? (
      <NotBegun id={workflowId} instant={instant} detail={asProblem(error).detail} />
    ) : (
      <ProblemBox error={error} retry={() => void refetch()} />
    );
  }
  return <Run key={data.run} id={workflowId} run={data} error={error} />;
}

function NotBegun({ id, instant, detail }: { id: string; instant: string; detail: string }) {
  return (
    <SpaceBetween size="m">
      <Header variant="h1">Workflow run</Header>
      <Alert
        header="There are no steps to show"
        action={<Button href={to.run(`${id}.${instant}`)}>View run</Button>}
      >
        <span className="text">{detail}</span> This page reloads automatically.
      </Alert>
    </SpaceBetween>
  );
}

function Run({ id, run, error }: { id: string; run: Schemas["WorkflowRun"]; error: unknown }) {
  const refusal = useRefusal("jobs:write");
  const navigate = useNavigate();
  const notices = useNotices();
  const confirm = useConfirm();
  // The run of a step with items: their job is the step's.
  const items = run.jobs.some((each) => each.job_id === id);
  const { data: workflow } = api.useQuery(
    "get",
    "/v1/workflows/{workflow_id}",
    { params: { path: { workflow_id: id } } },
    { enabled: !items },
  );
  const over = isOver(run.state);
  const unended = over ? undefined : "The workflow's run has not ended yet.";
  const noRerun = items ? "An item cannot be rerun; redrive it." : unended;
  // Drawing a thousand jobs takes a while: not every second.
  const now = useNow(isSettled(run) ? null : 1_000 * Math.ceil(run.jobs.length / JOBS_PER_SECOND));
  const path = criticalPath(run.jobs, now);
  const forecast = useForecast(id, run, !items && !over);
  const took = elapsed(run.started_at, run.finished_at, now);
  const instantOf = (runId: string) => runId.slice(id.length + 1);

  const rerun = (from: readonly string[]) => {
    const again = rerunOf(run.jobs, from);
    const key = freshKey();
    confirm.ask({
      header: `Rerun from ${few(from)}`,
      text: `A new run of the same occurrence runs ${steps(again.length)}: ${few(again)}. The other steps keep the results of this run.`,
      action: `Run ${steps(again.length)}`,
      async run() {
        const { data } = await fetcher.POST("/v1/runs/{run_id}/rerun", {
          params: { path: { run_id: run.run }, header: { "Idempotency-Key": key } },
          body: { from: [...from] },
        });
        if (data !== undefined) navigate(to.workflowRun(id, instantOf(data.id)).slice(1));
      },
    });
  };
  const idsOf = (...states: string[]) =>
    run.jobs.filter(({ state }) => states.includes(state)).map(({ id }) => id);
  const failed = idsOf("DEAD", "CANCELLED");
  const dead = idsOf("DEAD");
  const redrive = () =>
    confirm.ask({
      header: "Redrive this run",
      text:
        dead.length === 0
          ? "This run continues with the steps that have not run."
          : `This run continues. ${few(dead)} ${dead.length === 1 ? "restarts" : "restart"} with a new set of attempts, followed by the downstream steps. (A rerun would create a new run instead.)`,
      action: "Redrive",
      grave: true,
      async run() {
        await fetcher.POST("/v1/runs/{run_id}/redrive", { params: { path: { run_id: run.run } } });
        notices.done("The run was redriven.");
      },
    });
  const ends = run.counts.due + run.counts.waiting;
  const cancel = () =>
    confirm.ask({
      header: "Cancel this run",
      text: `${steps(ends)} ${ends === 1 ? "has" : "have"} not ended. Active steps are cancelled; the other steps do not start.`,
      action: "Cancel the run",
      grave: true,
      async run() {
        await fetcher.POST("/v1/runs/{run_id}/cancel", { params: { path: { run_id: run.run } } });
      },
    });

  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={
          <>
            Run <Link href={to.run(run.run)}>{run.run}</Link> of{" "}
            <Link href={items ? to.job(id) : to.workflow(id)}>{id}</Link>
          </>
        }
        actions={
          <SpaceBetween direction="horizontal" size="xs">
            {!over && (
              <Button onClick={cancel} disabled={refusal !== undefined} disabledReason={refusal}>
                Cancel
              </Button>
            )}
            {over && failed.length > 0 && !items && (
              <Button onClick={() => rerun(failed)} disabled={refusal !== undefined} disabledReason={refusal}>
                Rerun from failed steps
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
        {items ? "Items of a step" : "Workflow run"}
      </Header>
      <ProblemBox error={error} />
      {run.error !== null && (
        <Alert type="error" header={workflowError(run.code)}>
          <span className="text">{run.error}</span>
        </Alert>
      )}
      <Container>
        <KeyValuePairs
          columns={4}
          items={[
            {
              label: "State",
              value: (
                <>
                  <RunStatus state={run.state} /> {reasonText(run.reason)}
                </>
              ),
            },
            { label: "Occurrence", value: <Time at={run.occurrence} zone={workflow?.timezone} /> },
            { label: "Duration", value: took === null ? "-" : duration(took) },
            { label: "Deadline", value: <Time at={run.deadline} zone={workflow?.timezone} /> },
            { label: "Steps", value: countsText(run.counts) },
            {
              label: "Critical path",
              value: path.ids.length === 0 ? "-" : `${path.ids.join(" → ")} (${duration(path.seconds)})`,
            },
            ...(forecast === null
              ? []
              : [
                  {
                    label: "Predicted end",
                    value: <Forecast forecast={forecast} zone={workflow?.timezone} />,
                  },
                ]),
            ...(run.rerun_of === null
              ? []
              : [
                  {
                    label: "Rerun of",
                    value: (
                      <>
                        <Link href={to.workflowRun(id, instantOf(run.rerun_of))}>{run.rerun_of}</Link> from{" "}
                        {few(run.rerun_from)}
                      </>
                    ),
                  },
                ]),
          ]}
        />
      </Container>
      <Container header={<Header variant="h2">Graph</Header>}>
        <Graph
          label={`Graph of ${run.run}; the table below has the same data`}
          steps={run.jobs.map((each) => ({
            ...each,
            href: each.run === null ? to.job(each.job_id) : to.run(each.run),
            critical: path.ids.includes(each.id),
          }))}
        />
        {path.ids.length > 0 && (
          <Box color="text-body-secondary" fontSize="body-s">
            Thick borders mark the critical path: the chain of steps with the longest duration.
          </Box>
        )}
      </Container>
      <StepTable
        steps={run.jobs}
        occurrence={run.occurrence}
        now={now}
        rerun={(from) => rerun([from])}
        refusal={refusal ?? noRerun}
      />
      {confirm.modal}
    </SpaceBetween>
  );
}

function steps(count: number): string {
  return count === 1 ? "1 step" : `${count} steps`;
}

const COUNTS: [keyof Schemas["Counts"], string][] = [
  ["succeeded", "succeeded"],
  ["failed", "failed"],
  ["aborted", "stopped by a failure or the end of the run"],
  ["skipped", "skipped"],
  ["due", "due or active"],
  ["waiting", "waiting"],
  ["left", "not started"],
];

function countsText(counts: Schemas["Counts"]): string {
  return COUNTS.filter(([name]) => counts[name] > 0)
    .map(([name, text]) => `${counts[name]} ${text}`)
    .join(", ");
}
