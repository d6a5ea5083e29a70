import Link from "@cloudscape-design/components/link";
import type { TableProps } from "@cloudscape-design/components/table";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { reasonText } from "../job/reasons";
import { Time } from "../shared/Instant";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { cut } from "./texts";

export type Run = Schemas["Run"];
type Column = TableProps.ColumnDefinition<Run>;

/** A run by its occurrence, in a zone. */
export const occurrence = (zone?: string): Column => ({
  id: "occurrence",
  header: "Occurrence",
  isRowHeader: true,
  minWidth: 180,
  cell: (run) => (
    <Link href={to.run(run.id)}>
      <Time at={run.occurrence} zone={zone} />
    </Link>
  ),
});
export const job: Column = {
  id: "job",
  header: "Job",
  cell: (run) => <Link href={to.job(run.job_id)}>{run.job_id}</Link>,
};
export const attempts: Column = {
  id: "attempts",
  header: "Attempts",
  cell: (run) => `${run.attempts} of ${run.max_attempts}`,
};
export const error: Column = {
  id: "error",
  header: "Error",
  minWidth: 220,
  cell: (run) => <span className="text">{cut(run.error)}</span>,
};

/** All that the list of runs shows. */
export const columns = (zone?: string): Column[] => [
  occurrence(zone),
  {
    id: "state",
    header: "State",
    minWidth: 170,
    cell: (run) => (
      <>
        <RunStatus state={run.state} />
        {run.reason !== null && <div className="text">{reasonText(run.reason)}</div>}
        {run.count > 1 && <div>{run.count} occurrences</div>}
      </>
    ),
  },
  job,
  { id: "started", header: "Started", cell: (run) => <Time at={run.started_at} zone={zone} brief /> },
  {
    id: "lateness",
    header: "Lateness",
    cell: (run) => (run.lateness_seconds === null ? "-" : duration(run.lateness_seconds)),
  },
  { id: "took", header: "Duration", cell: took },
  attempts,
  error,
  {
    id: "workflow",
    header: "Workflow",
    cell: (run) => (run.workflow === null ? "-" : <Link href={workflowRun(run)}>{run.workflow}</Link>),
  },
];

function took(run: Run): string {
  const seconds = elapsed(run.started_at, run.finished_at);
  return seconds === null ? "-" : duration(seconds);
}

/** The workflow's run that a run is, or is a part of: they differ in the job's id alone. */
export function workflowRun(run: Pick<Run, "id" | "job_id" | "workflow">): string | undefined {
  return run.workflow === null
    ? undefined
    : to.workflowRun(run.workflow, run.id.slice(run.job_id.length + 1));
}
