const REASONS: Record<string, string> = {
  missed: "missed: not started within the job's grace",
  superseded: "a later occurrence ran for both",
  start_deadline: "not started by the job's start deadline",
  overlap: "another run of the job was alive",
  overlap_full: "another run of the job was alive, and the line was full",
  replaced: "a newer run of the job took its place",
  paused: "the job was paused",
  deleted: "the job was deleted",
  edited: "the schedule was changed before",
  skipped_on_request: "somebody asked to skip it",
  upstream_failed: "a job before it failed",
  upstream_skipped: "a job before it did not run",
  not_needed: "it runs after a failure only, and there was none",
  not_its_time: "it takes part at other times only",
  not_retryable: "the failure forbids another attempt",
  cancelled: "somebody cancelled it",
  steps_failed: "its jobs have ended",
  workflow_over: "the run of its workflow was over",
};

/** What the reason in a run's record means; one that a newer release has is shown as it is. */
export function reasonText(reason: string | null): string {
  return reason === null ? "" : (REASONS[reason] ?? reason);
}
