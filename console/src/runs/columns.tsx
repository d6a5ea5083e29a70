import Link from "@cloudscape-design/components/link";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { reasonText } from "../job/reasons";
import { withoutCall } from "../shared/errors";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import type { Column } from "../shared/Rows";
import { RunStatus } from "../shared/Status";
import { duration, elapsed } from "../shared/time";
import { Zoned } from "../shared/Zoned";

export type Run = Schemas["Run"];

/** A run by its occurrence, in a zone. */
export const occurrence = (zone: string): Column<Run> => ({
  id: "occurrence",
  header: <Zoned text="Occurrence" zone={zone} />,
  width: 190,
  card: 50,
  cell: (run) => (
    <Link href={to.run(run.id)}>
      <Time at={run.occurrence} zone={zone} bare />
      {run.count > 1 && ` +${run.count - 1}`}
    </Link>
  ),
});
/** The job of a run, and the workflow that it is a step of. */
export const job: Column<Run> = {
  id: "job",
  header: "Job",
  isRowHeader: true,
  width: 165,
  grow: 2,
  cell: (run) => (
    <span title={run.job_id}>
      <Link href={to.job(run.job_id)}>{run.job_id}</Link>
      {run.workflow !== null && (
        <>
          {" in "}
          <Link href={workflowRun(run)}>{run.workflow}</Link>
        </>
      )}
    </span>
  ),
};
export const state: Column<Run> = {
  id: "state",
  header: "State",
  width: 150,
  card: 50,
  cell: (run) => <RunStatus state={run.state} />,
};
export const attempts: Column<Run> = {
  id: "attempts",
  header: "Attempts",
  width: 118,
  spare: true,
  cell: tried,
};
/** `1 of 4`; nothing where no attempt was made and none will be. */
export function tried({ attempts, max_attempts, state }: Run): string {
  const none = attempts === 0 && (state === "SKIPPED" || state === "CANCELLED");
  return none ? "-" : `${attempts} of ${max_attempts}`;
}
export const code: Column<Run> = {
  id: "code",
  header: "Code",
  width: 150,
  card: 30,
  has: (run) => run.code !== null,
  cell: (run) => <span title={run.code ?? undefined}>{run.code ?? "-"}</span>,
};
/** Why a run came into its state: its error, or the reason. */
export const error: Column<Run> = {
  id: "error",
  header: "Error or reason",
  width: 140,
  grow: 3,
  card: 70,
  has: (run) => run.error !== null || run.reason !== null || isDelayed(run),
  cell: (run) =>
    isDelayed(run) ? (
      <>
        Delayed: due <Time at={run.due} brief />
      </>
    ) : (
      <Long text={run.error === null ? reasonText(run.reason) : withoutCall(run.error)} header={run.job_id}>
        {run.error !== null && run.reason !== null && <p>{reasonText(run.reason)}</p>}
        {run.next_attempt_at !== null && (
          <p>
            Next attempt: <Time at={run.next_attempt_at} />
          </p>
        )}
      </Long>
    ),
};

/** All that the list of runs shows. */
export const columns = (zone: string): Column<Run>[] => [
  job,
  state,
  occurrence(zone),
  { id: "took", header: "Duration", width: 115, cell: took },
  code,
  error,
  {
    id: "lateness",
    header: "Lateness",
    width: 118,
    spare: true,
    cell: (run) => (run.lateness_seconds === null ? "-" : duration(run.lateness_seconds)),
  },
  attempts,
];

/** Whether a manual run starts later. */
function isDelayed(run: Run): boolean {
  return run.state === "QUEUED" && run.requested_by !== null && new Date(run.due).getTime() > Date.now();
}

/** How long the last attempt took, or has taken; nothing of the waits before it. */
export function took(run: Run): string {
  const seconds = elapsed(run.attempt_started_at, run.finished_at);
  return seconds === null ? "-" : duration(seconds);
}

/** The workflow's run that a run is, or is a part of: they differ in the job's id alone. */
export function workflowRun(run: Pick<Run, "id" | "job_id" | "workflow">): string | undefined {
  return run.workflow === null
    ? undefined
    : to.workflowRun(run.workflow, run.id.slice(run.job_id.length + 1));
}
