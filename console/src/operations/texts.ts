import type { Schemas } from "../api/client";

export type Operation = Schemas["Operation"];
export type Choice = Omit<Schemas["OperationRequest"], "per_minute" | "limit" | "expected">;

/** How long an ended operation is shown (ms). */
const SHOWN_MS = 10 * 60_000;

/** Whether a list shows the operation at `now`: while it runs, and for some minutes after its end. One that has stalled
 * has no end.
 */
export function isShown(operation: Operation, now: number): boolean {
  if (operation.state === "RUNNING" || operation.ended_at === null) return true;
  return now < Date.parse(operation.ended_at) + SHOWN_MS;
}

const VERBS: Record<Operation["kind"], string> = { redrive: "Redrive", cancel: "Cancel", discard: "Discard" };

/** What it does, and with which runs. */
export function whatOf({ kind, filter }: Operation): string {
  const states = kind === "cancel" ? filter.state.join(", ") : "dead";
  const parts = Object.entries({
    "of the job": filter.job_id,
    "with the tag": filter.tag,
    "with the error": filter.error,
    since: filter.since,
    until: filter.until,
  }).flatMap(([word, value]) => (value === null ? [] : `${word} ${value}`));
  return `${VERBS[kind]} ${states} runs ${parts.join(", ") || "of all jobs"}`;
}

const REASONS: Record<string, string> = {
  job_deleted: "of deleted jobs",
  job_unreadable: "of jobs that this release cannot read",
  nothing_to_redrive: "of workflows without a dead step",
  not_dead: "that are no longer dead",
  out_of_scope: "without your tags",
};

const skippedOf = (skipped: Operation["skipped"]) =>
  Object.entries(skipped).map(([why, count]) => `${number(count)} skipped (${REASONS[why] ?? why})`);

/** The counts in words. */
export function countsOf({ done, refused, skipped, expected }: Operation): string {
  const of = expected === null ? "" : ` of ${number(expected)}`;
  const others = skippedOf(skipped);
  if (refused > 0) others.push(`${number(refused)} not accepted by a queue; repeat it`);
  return [`${number(done)}${of} ${done === 1 && of === "" ? "run" : "runs"} done`, ...others].join(", ");
}

/** How much is done (0 to 100); undefined if it is not known how many runs there are. */
export function shareOf({ state, done, refused, skipped, expected }: Operation): number | undefined {
  if (state === "SUCCEEDED") return 100;
  if (expected === null) return undefined;
  const handled = done + refused + Object.values(skipped).reduce((sum, count) => sum + count, 0);
  return Math.min((handled / Math.max(expected, 1)) * 100, 100);
}

type Estimate = Schemas["OperationEstimate"];

/** Whether there is no run to handle. Where not all were counted, there may be some. */
export const isNothing = ({ runs, more }: Pick<Estimate, "runs" | "more">): boolean => runs === 0 && !more;

/** What an estimate does not include, in sentences: runs that are skipped, and those that were not counted. */
export function restOf({ skipped, more }: Estimate): string {
  const others = skippedOf(skipped).join(", ");
  return `${others && ` ${others}.`}${more ? " Not all runs were counted." : ""}`;
}

/** An estimate in words: `at least 2,000 runs`. */
export function amountOf({ runs, more }: Pick<Estimate, "runs" | "more">): string {
  if (runs === 0 && more) return "an unknown number of runs";
  return `${more ? "at least " : ""}${number(runs)} ${runs === 1 && !more ? "run" : "runs"}`;
}

/** A pace in runs per second as the API has it. */
export const perMinute = (pace: number): number => Math.max(1, Math.round(pace * 60));

const number = (count: number) => count.toLocaleString("en-GB");
