import { requests, targets } from "../shared/kinds.json";
import type { Doc, Path } from "./document";

export interface Field {
  path: Path;
  label: string;
  kind:
    | "text"
    | "area"
    | "number"
    | "choice"
    | "list"
    | "pairs"
    | "json"
    | "flag"
    | "secret"
    | "auth"
    | "notices"
    | "instant";
  /** Its meaning, or an example. */
  hint?: string;
  /** The default. */
  standard?: string;
  low?: number;
  high?: number;
  /** The most items of a list. */
  most?: number;
  options?: readonly { value: string; label: string }[];
}

/** The defaults and limits in the OpenAPI document. */
const DECLARED: Record<string, { standard?: string; low?: number; high?: number; most?: number }> =
  requests.JobRequest;

const field = (place: string, label: string, kind: Field["kind"], more: Partial<Field> = {}): Field => ({
  path: place.split("/"),
  label,
  kind,
  ...DECLARED[place],
  ...more,
});

const options = (labels: Record<string, string>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

export const PEOPLE: Field[] = [
  field("name", "Name", "text", { hint: "A display name. The API and the command line use the id." }),
  field("description", "Description", "area", { hint: "The purpose of the job, in one line." }),
  field("owner", "Owner", "text", { hint: "The team or person responsible for it." }),
  field("tags", "Tags", "list", { hint: "Separated by commas." }),
  field("runbook_url", "Runbook", "text", { hint: "The URL of the instructions for failed runs." }),
];

export const SHAPE: Field[] = [
  field("dst_gap", "If the time does not exist (clocks go forward)", "choice", {
    options: options({ next: "Run at the first moment after the gap", skip: "Skip the run" }),
  }),
  field("dst_fold", "If the time occurs twice (clocks go back)", "choice", {
    options: options({
      first: "Run at the first of the two times",
      second: "Run at the second of the two times",
      both: "Run at both times",
    }),
  }),
  field("start", "Start", "instant"),
  field("end", "End (exclusive)", "instant"),
  field("anchor", "Anchor", "instant", {
    hint: "The start of the intervals of a rate expression.",
  }),
  field("exclude", "Exclusions", "list", {
    hint: "Times without runs, separated by commas: dates, instants, ranges of either (2026-12-24/2027-01-06), or cron expressions (* * * * SAT-SUN).",
  }),
  field("calendar", "Calendars", "list", {
    hint: "The ids of calendars, separated by commas. Their exclusions also apply.",
  }),
  field("on_excluded", "On an excluded day", "choice", {
    options: options({
      skip: "Skip the run",
      previous: "Run on the previous day that is not excluded",
      next: "Run on the next day that is not excluded",
    }),
  }),
  field("jitter_seconds", "Jitter, in seconds", "number", {
    hint: "The maximum random delay of a run.",
  }),
  field("spread", "Spread", "json", {
    hint: 'Delays all runs to a quiet minute within this time: {"within_minutes": 30}',
  }),
  field("max_runs", "Maximum runs", "number", { standard: "no limit" }),
  field("missed/policy", "If runs were missed", "choice", {
    options: options({
      run_once: "Run once for all of them",
      skip: "Skip them",
      run_all: "Run all of them",
    }),
  }),
  field("missed/grace_seconds", "Grace period, in seconds", "number", {
    hint: "An occurrence that is not enqueued within this time after it was due is missed.",
  }),
  field("missed/max_missed", "Maximum missed occurrences", "number", {
    hint: "The limit for “Run all of them”.",
  }),
];

export const RUNNING: Field[] = [
  field("timeout_seconds", "Timeout, in seconds", "number"),
  field("priority", "Priority", "choice", {
    options: options({ high: "High", normal: "Normal", low: "Low" }),
  }),
  field("retry/max_attempts", "Attempts", "number", { hint: "Including the first attempt." }),
];

export const RARE: Field[] = [
  field("retry/backoff", "Backoff", "choice", {
    options: options({
      exponential: "Exponential (doubles each time)",
      linear: "Linear (increases each time)",
      fixed: "Fixed (always the same)",
    }),
  }),
  field("retry/min_seconds", "Minimum delay, in seconds", "number"),
  field("retry/max_seconds", "Maximum delay, in seconds", "number"),
  field("retry/max_age_seconds", "Maximum age for retries, in seconds", "number", {
    standard: "no age limit",
  }),
  field("retry/on", "Retry only these errors", "list", { hint: "Statuses and codes: 503, 5xx, timeout." }),
  field("retry/never", "Never retry these errors", "list", { hint: "Statuses and codes: 404, 4xx." }),
  field("completion", "A run succeeds when", "choice", {
    options: options({
      response: "The target has responded",
      callback: "The target has called back",
      end: "The work that the call has started has ended",
    }),
    hint: "The end of the work is known for Step Functions, ECS, durable functions, Batch, Glue and CodeBuild.",
  }),
  field("completion_seconds", "Maximum wait after the call, in seconds", "number"),
  field("heartbeat_seconds", "Maximum heartbeat interval, in seconds", "number"),
  field("start_deadline_seconds", "Start deadline, in seconds", "number", {
    standard: "no limit",
    hint: "A run is skipped if it has not started within this time after it was due.",
  }),
  field("start_within_seconds", "Notify if not started within (seconds)", "number", {
    standard: "none",
    hint: "A notice is sent if a run has not started within this time after it was due.",
  }),
  field("finish_by", "Notify if not finished by", "number", {
    standard: "none",
    hint: "A number of seconds after the due time, or a time of day: 06:00.",
  }),
  field("on_deadline", "After a missed deadline", "choice", {
    options: options({ notify: "Notify", cancel: "Notify, and cancel the run" }),
  }),
  field("notify", "Notices", "notices"),
  field("then", "Jobs that run afterwards", "json", {
    hint: '[{"job": "report", "on": "succeeded"}]; on can also be dead or any.',
  }),
  field("pause_on_failure", "Pause after this many consecutive failed runs", "number", { standard: "never" }),
  field("estimated_seconds", "Estimated duration, in seconds", "number"),
  field("delivery", "Delivery", "choice", {
    options: options({
      at_least_once: "At least once",
      at_most_once: "At most once: never a second attempt",
    }),
  }),
  field("idempotency_key", "Idempotency key", "text", {
    hint: "A template. All attempts of a run have the same key.",
  }),
  field("concurrency/key", "Concurrency key", "text", {
    hint: "Runs with the same key share a limit. A template, such as crm-{{payload.region}}.",
  }),
  field("concurrency/limit", "Concurrency limit", "number", { hint: "The maximum number of active runs." }),
  field("concurrency/priority", "Priority in the wait queue", "number"),
  field("results", "Location of results", "json", {
    hint: 'A bucket that the stage allows: {"bucket": "acme-reports", "prefix": "daily/"}',
  }),
  field("breaker/failures", "Failures that open the circuit breaker", "number", {
    hint: "In a row. Runs then wait while the target fails.",
  }),
  field("breaker/open_seconds", "Circuit breaker open for (seconds)", "number"),
  field("breaker/key", "Circuit breaker key", "text", { standard: "the host of the target" }),
  field("rate/key", "Rate key", "text", { hint: "Attempts with the same key share a rate. A template." }),
  field("rate/per_minute", "Rate per minute", "number"),
  field("rate/burst", "Burst", "number", { hint: "The attempts that start at once." }),
  field("after_completion", "After completion", "json", {
    hint: 'Deletes the job after it is completed: {"delete_after_seconds": 86400}. With null, the job is kept.',
  }),
  field("ping_url", "Ping after a success", "text", {
    hint: "The address of an external monitor that reports if the pings stop.",
  }),
  field("expect_every", "Maximum time between pings, in seconds", "number", {
    hint: "For a job without a schedule: the job runs if no ping arrives within this time.",
  }),
  field("precision", "Precision", "choice", {
    standard: "second",
    options: options({ second: "Second", exact: "Exact (a worker holds the message until the due time)" }),
  }),
  field("events", "Events to publish", "list", { hint: "deaths, failures, late, deadlines, all" }),
];

type Kind = { label: string; fields: Field[]; first: Doc };

/** The kinds of targets: their fields, and the values of a new target (domain/targets/kinds.py). */
export const TARGETS: Record<string, Kind> = Object.fromEntries(
  Object.entries(targets as Record<string, Partial<Kind>>).filter(
    (entry): entry is [string, Kind] => "fields" in entry[1],
  ),
);
