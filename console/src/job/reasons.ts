const REASONS: Record<string, string> = {
  missed: "missed: not started within the job's grace period",
  superseded: "superseded: the run of a later occurrence covers this occurrence",
  start_deadline: "not started by the job's start deadline",
  overlap: "another run of the job was active",
  overlap_full: "another run of the job was active, and the wait queue was full",
  replaced: "a newer run of the job replaced it",
  paused: "the job was paused",
  deleted: "the job was deleted",
  edited: "the schedule was changed before it was due",
  skipped_on_request: "it was skipped on request",
  upstream_failed: "an upstream step failed",
  upstream_skipped: "an upstream step was skipped",
  not_needed: "it runs only after a failure, and no upstream step failed",
  not_its_time: "the step is not part of this occurrence of the workflow",
  attempts_exhausted: "the last attempt failed",
  not_retryable: "the error is not retryable",
  too_old: "the next attempt would start too late",
  at_most_once: "the job allows one attempt (at most once)",
  lost: "the worker of the last attempt was lost",
  dead_lettered: "its message was moved to the dead-letter queue",
  cancelled: "it was cancelled on request",
  steps_failed: "a step failed",
  workflow_over: "the run of its workflow had ended",
};

/** What the reason in a run's record means; one that a newer release has is shown as it is. */
export function reasonText(reason: string | null): string {
  return reason === null ? "" : (REASONS[reason] ?? reason);
}

const CODES: Record<string, string> = {
  "workflow.failed": "A step failed",
  "workflow.deadline": "The steps did not end by the deadline",
  "workflow.start": "Steps could not be started",
};

/** A title for the error of a workflow's run. */
export function workflowError(code: string | null): string {
  return code === null ? "The run failed" : (CODES[code] ?? code);
}
