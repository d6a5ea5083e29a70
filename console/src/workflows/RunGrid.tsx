import "../shared/colors.css";
import "./grid.css";
import Box from "@cloudscape-design/components/box";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQueries, useQuery } from "@tanstack/react-query";
import { fetcher, type Schemas } from "../api/client";
import { LIST, paced } from "../api/polling";
import { to } from "../app/routes";
import { readLast } from "../job/reading";
import { markOf } from "../jobs/LastRuns";
import { useZone } from "../shared/clock";
import { ProblemBox } from "../shared/ProblemBox";
import { wall } from "../shared/time";
import { isSettled, whyOf } from "./graph";

const RUNS = 10;

/** The last runs of a workflow, a column each, and the state of every step in them. Runs that have ended are read once. */
export function RunGrid({ workflow }: { workflow: Pick<Schemas["Workflow"], "id" | "timezone" | "jobs"> }) {
  const { id } = workflow;
  const zone = useZone(workflow.timezone);
  const runs = useQuery({
    queryKey: ["grid", id],
    queryFn: ({ signal }) => readLast(id, RUNS, signal),
    refetchInterval: () => paced(LIST),
  });
  const shown = runs.data?.toReversed() ?? [];
  const details = useQueries({
    queries: shown.map((run) => ({
      queryKey: ["grid", id, run.id, run.state],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { path: { workflow_id: id, instant: run.id.slice(id.length + 1) } };
        return (await fetcher.GET("/v1/workflows/{workflow_id}/runs/{instant}", { params, signal })).data;
      },
      retry: false, // a run that has not started has no steps
      staleTime: Number.POSITIVE_INFINITY,
      refetchInterval: ({ state }: { state: { data: Schemas["WorkflowRun"] | undefined } }) =>
        state.data === undefined || isSettled(state.data) ? false : paced(LIST),
    })),
  });
  if (runs.error !== null && runs.data === undefined)
    return <ProblemBox error={runs.error} retry={() => void runs.refetch()} />;
  if (runs.data === undefined) return <StatusIndicator type="loading">Loading</StatusIndicator>;
  if (shown.length === 0) return <Box color="text-body-secondary">The workflow has not run yet.</Box>;
  const columns = shown.map((run, place) => ({
    run,
    steps: new Map(details[place]?.data?.jobs.map((step) => [step.id, step])),
  }));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
    <section className="grid-of-runs" aria-label="Steps and last runs" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            {columns.map(({ run }) => (
              <th key={run.id} scope="col">
                <a
                  href={to.workflowRun(id, run.id.slice(id.length + 1))}
                  title={`${run.state} ${wall(run.occurrence, zone)} ${zone}`}
                >
                  {wall(run.occurrence, zone).slice(5, 16)}
                </a>
                <Mark state={run.state} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Object.entries(workflow.jobs).map(([name, { job_id }]) => (
            <tr key={name}>
              <th scope="row">
                <a href={to.job(job_id)}>{name}</a>
              </th>
              {columns.map(({ run, steps }) => {
                const step = steps.get(name);
                const text = step && [step.state, whyOf(step)].filter(Boolean).join(": ");
                return (
                  <td key={run.id}>
                    {step === undefined ? (
                      ""
                    ) : step.run === null ? (
                      <Mark state={step.state} text={text} />
                    ) : (
                      <a href={to.run(step.run)} title={text} aria-label={`${name}: ${text}`}>
                        <Mark state={step.state} />
                      </a>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Mark({ state, text = state }: { state: string; text?: string }) {
  const { color, height } = markOf(state);
  return (
    <span
      role="img"
      aria-label={text}
      title={text}
      className="grid-mark"
      style={{ background: color, blockSize: height }}
    />
  );
}
