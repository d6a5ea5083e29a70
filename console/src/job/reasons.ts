const REASONS: Record<string, string> = {
  missed: "missed: not started within the job's grace period",
  superseded: "superseded: the run of a later occurrence covers this occurrence",
  start_deadline: "not started before the job's start deadline",
  overlap: "another run of the job was active",
  overlap_full: "another run of the job was active, and the wait queue was full",
  replaced: "a newer run of the job replaced it",
  paused: "the job was paused",
  deleted: "the job was deleted",
  edited: "the schedule was changed before the run was due",
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
  deadline: "it missed a deadline of its job",
};

/** The meaning of the reason in a run's record. A reason of a newer release is shown unchanged. */
export function reasonText(reason: string | null): string {
  return reason === null ? "" : (REASONS[reason] ?? reason);
}

const CODES: Record<string, string> = {
  "workflow.failed": "A step failed",
  "workflow.deadline": "The steps did not end by the deadline",
  "workflow.start": "Steps could not be started",
};

/** A title for the error of a run. */
export function failureText({ reason, code }: { reason: string | null; code: string | null }): string {
  if (code !== null && code in CODES) return workflowError(code);
  const text = reasonText(reason) || "an attempt failed";
  return text[0]?.toUpperCase() + text.slice(1);
}

/** A title for the error of a workflow's run. */
export function workflowError(code: string | null): string {
  return code === null ? "The run failed" : (CODES[code] ?? code);
}

const VERDICTS: Record<string, string> = {
  fired: "it ran",
  running: "it is running",
  queued: "it is in the queue",
  skipped: "it was skipped",
  paused: "the job was paused",
  cancelled: "it was cancelled",
  deleted: "the job was deleted",
  not_an_occurrence: "the schedule has no occurrence at this time",
  excluded: "the job excludes this time",
  gap: "this time does not exist, because the clocks go forward",
  fold: "this time occurs twice, because the clocks go back",
  before_start: "the schedule had not started",
  after_end: "the schedule had ended",
  before_creation: "the job did not exist yet",
  max_runs: "the job had reached its maximum number of runs",
  completed: "the job was completed",
  future: "it is not due yet",
  late: "it is due and not in the queue yet",
  waits: "it waits for other steps of its workflow",
  lost: "it was enqueued, but has neither a record nor a message",
  expired: "its record has expired",
  changed: "unknown, because the job was changed later",
  unclear: "there is not enough stored data to explain this",
};

/** The meaning of a verdict of the API's explanation. A verdict of a newer release is shown unchanged. */
export function verdictText(verdict: string, state?: string): string {
  if (verdict === "fired" && state === "DEAD") return "it failed";
  return VERDICTS[verdict] ?? verdict.replaceAll("_", " ");
}
