import type { Schemas } from "../api/client";
import { reasonText } from "../job/reasons";
import { withoutCall } from "../shared/errors";
import { elapsed } from "../shared/time";

export type Step = Pick<Schemas["StepRun"], "id" | "after">;
type StepRun = Schemas["StepRun"];

export const NODE = { width: 200, height: 56 };

/** From each job to those directly after it. */
export function edges(steps: readonly Step[]): { from: string; to: string }[] {
  const known = new Set(steps.map(({ id }) => id));
  return steps.flatMap(({ id, after }) =>
    after.filter((before) => known.has(before)).map((before) => ({ from: before, to: id })),
  );
}

/** The jobs that a rerun from some runs: these and all after them, in the order of `steps`. */
export function rerunOf(steps: readonly Step[], from: readonly string[]): string[] {
  const found = new Set(from);
  const next = new Map<string, string[]>();
  for (const edge of edges(steps)) next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to]);
  const open = [...from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const each of next.get(id) ?? []) {
      if (!found.has(each)) {
        found.add(each);
        open.push(each);
      }
    }
  }
  return steps.map(({ id }) => id).filter((id) => found.has(id));
}

/** The chain of jobs that took longest, by their real durations: what to make quicker. A job that starts after the first
 * success, or failure, of those before it has waited for that one only. What a rerun did not run again took no time.
 * Seconds; without a job where none has started.
 */
export function criticalPath(steps: readonly StepRun[], now: number): { ids: string[]; seconds: number } {
  const byId = new Map(steps.map((each) => [each.id, each]));
  const best = new Map<string, { ids: string[]; seconds: number }>();
  const of = (step: StepRun): { ids: string[]; seconds: number } => {
    const known = best.get(step.id);
    if (known !== undefined) return known;
    best.set(step.id, NONE); // ends a circle, which a workflow has not
    const before = longest(waitedFor(step, byId).map(of));
    const own = step.carried_over ? null : elapsed(step.started_at, step.finished_at, now);
    const found =
      own === null ? before : { ids: [...before.ids, step.id], seconds: before.seconds + Math.max(own, 0) };
    best.set(step.id, found);
    return found;
  };
  return longest(steps.map(of));
}

/** The jobs whose ends a job has waited for. */
function waitedFor(step: StepRun, byId: Map<string, StepRun>): StepRun[] {
  const all = step.after.flatMap((id) => byId.get(id) ?? []);
  const decides = FIRST[step.when];
  if (decides === undefined || step.started_at === null) return all;
  const [first, ...others] = all.filter((each) => decides(each.state));
  if (first === undefined) return all;
  return [others.reduce((one, other) => (endOf(other) < endOf(one) ? other : one), first)];
}

/** When a job's end counted for the others (milliseconds): at once, if a rerun did not run it again. */
function endOf(step: StepRun): number {
  if (step.carried_over) return Number.NEGATIVE_INFINITY;
  return step.finished_at === null ? Number.POSITIVE_INFINITY : Date.parse(step.finished_at);
}

/** By the rules with which one end is enough: whether an end is such a one. */
const FIRST: Partial<Record<string, (state: string) => boolean>> = {
  any_success: (state) => state === "SUCCEEDED",
  any_failure: (state) => state === "DEAD" || state === "CANCELLED",
};

const NONE = { ids: [] as string[], seconds: 0 };

function longest(chains: { ids: string[]; seconds: number }[]) {
  return chains.reduce((one, other) => (other.seconds > one.seconds ? other : one), NONE);
}

const RULES: Record<string, string> = {
  all_success: "all upstream steps to succeed",
  all_done: "all upstream steps to end",
  any_success: "one upstream step to succeed",
  any_failure: "one upstream step to fail",
  none_failed: "all upstream steps to end, with none failed and at least one succeeded",
};

/** The most names that a text lists: a workflow has up to 1,024 steps. */
const NAMES = 20;

/** Names in words. */
export function few(names: readonly string[]): string {
  const shown = names.slice(0, NAMES).join(", ");
  return names.length > NAMES ? `${shown} and ${names.length - NAMES} more` : shown;
}

/** When a job starts, in words. */
export function ruleText(rule: string): string {
  return RULES[rule] ?? rule;
}

/** The reason for the state of a step; empty if the state is sufficient. */
export function whyOf(step: StepRun): string {
  if (step.carried_over) return "Not run again: the result of the previous run is used";
  if (step.state === "WAITS") {
    const whom = step.waits_for.length > 0 ? `; not ended yet: ${step.waits_for.join(", ")}` : "";
    return `Waits for ${ruleText(step.when)}${whom}`;
  }
  if (step.state === "DUE") return "The step can start; its message is in the queue";
  if (step.state === "LEFT") return "Not started: the run of its workflow had ended";
  return [reasonText(step.reason), step.code, step.error && withoutCall(step.error)]
    .filter(Boolean)
    .join(": ");
}

const OVER: readonly string[] = ["SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED", "LEFT"];

export function isOver(state: string): boolean {
  return OVER.includes(state);
}

/** Whether a run no longer changes. Its steps are read at different moments, and may end after the run. */
export function isSettled(
  run: Pick<Schemas["WorkflowRun"], "state"> & { jobs: readonly { state: string }[] },
): boolean {
  return [run, ...run.jobs].every((each) => isOver(each.state));
}
