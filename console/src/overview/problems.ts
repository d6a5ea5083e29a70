/** What needs attention, from what was read. What was not read is never called fine. */

import type { Schemas } from "../api/client";

type Run = Pick<
  Schemas["Run"],
  "id" | "job_id" | "finished_at" | "started_at" | "error" | "code" | "waiting_until" | "heartbeat_until"
>;

/** The kinds of problems, the most severe first. */
export const KINDS = ["overdue", "silent", "dead", "stuck", "breaker", "retrying"] as const;
export type Kind = (typeof KINDS)[number];

/** Something that was read: undefined if it was not read yet; `cut` if there is more than was read. */
export interface Read<Item> {
  items: readonly Item[] | undefined;
  cut: boolean;
  /** The time of the read (ms). */
  at: number;
  /** Whether the last read failed. */
  failed: boolean;
}

export interface Found {
  overdue: Read<string>;
  silent: Read<string>;
  dead: Read<Run>;
  /** The runs in progress. */
  stuck: Read<Run>;
  breaker: Read<Pick<Schemas["ListedLimit"], "key" | "waiting_for_breaker">>;
  retrying: Read<Run>;
}

/** A job, or a key whose circuit breaker holds runs, with all that is wrong with it. */
export interface Problem {
  id: string;
  isKey: boolean;
  /** How many runs (jobs: 1) of each kind. */
  counts: Partial<Record<Kind, number>>;
  /** When the first and the last of its runs failed, and the last of them. */
  since: string | null;
  last: string | null;
  latest: string | null;
  error: string | null;
  code: string | null;
}

/** A deadline may be over for this long (ms) until its run counts as stuck: checks run every minute. */
const GRACE = 120_000;

export function isStuck(run: Run, now: number): boolean {
  const deadline = run.heartbeat_until ?? run.waiting_until;
  return deadline !== null && Date.parse(deadline) + GRACE < now;
}

/** What was found for some jobs only (null: for all). Keys are of no job, and remain. Where jobs are left out, the result
 * is only as complete, new and known as the ids of the chosen jobs.
 */
export function narrowed(found: Found, chosen: Read<string> | null, now: number): Found {
  if (chosen === null) return found;
  const ids = new Set(chosen.items);
  const narrow = <Item>(read: Read<Item>, idOf: (item: Item) => string): Read<Item> => {
    const items = read.items?.filter((item) => ids.has(idOf(item)));
    if (items?.length === read.items?.length) return read;
    return {
      items: chosen.items && items,
      cut: read.cut || chosen.cut,
      at: Math.min(read.at, chosen.at),
      failed: read.failed || chosen.failed,
    };
  };
  const ofRun = (run: Run) => run.job_id;
  const stuck = found.stuck.items?.filter((run) => isStuck(run, now));
  return {
    overdue: narrow(found.overdue, String),
    silent: narrow(found.silent, String),
    dead: narrow(found.dead, ofRun),
    stuck: narrow({ ...found.stuck, items: stuck }, ofRun),
    breaker: found.breaker,
    retrying: narrow(found.retrying, ofRun),
  };
}

/** The problems, the most severe first, then the latest. */
export function problemsOf(found: Found, now: number): Problem[] {
  const problems = new Map<string, Problem>();
  const of = (id: string, isKey = false): Problem => {
    const name = `${isKey} ${id}`;
    const none = { since: null, last: null, latest: null, error: null, code: null };
    const problem = problems.get(name) ?? { id, isKey, counts: {}, ...none };
    problems.set(name, problem);
    return problem;
  };
  const add = (problem: Problem, kind: Kind, count = 1) => {
    problem.counts[kind] = (problem.counts[kind] ?? 0) + count;
  };
  const addRuns = (kind: Kind, runs: readonly Run[]) => {
    for (const run of runs) {
      const problem = of(run.job_id);
      add(problem, kind);
      const at = run.finished_at ?? run.started_at;
      if (at === null) continue;
      if (problem.since === null || at < problem.since) problem.since = at;
      if (problem.last !== null && at <= problem.last) continue;
      Object.assign(problem, { last: at, latest: run.id, error: run.error, code: run.code });
    }
  };
  addRuns("dead", found.dead.items ?? []);
  addRuns("retrying", found.retrying.items ?? []);
  addRuns(
    "stuck",
    (found.stuck.items ?? []).filter((run) => isStuck(run, now)),
  );
  for (const id of found.overdue.items ?? []) add(of(id), "overdue");
  for (const id of found.silent.items ?? []) add(of(id), "silent");
  for (const { key, waiting_for_breaker } of found.breaker.items ?? [])
    if (waiting_for_breaker > 0) add(of(key, true), "breaker", waiting_for_breaker);
  return [...problems.values()].sort(
    (one, other) =>
      KINDS.indexOf(worstOf(one)) - KINDS.indexOf(worstOf(other)) ||
      (other.last ?? "").localeCompare(one.last ?? "") ||
      one.id.localeCompare(other.id),
  );
}

export function worstOf({ counts }: Problem): Kind {
  return KINDS.find((kind) => counts[kind] !== undefined) ?? "retrying";
}

const WHAT: Record<Kind, (count: number) => string> = {
  overdue: () => "overdue",
  silent: () => "does not fire",
  dead: (count) => `dead ×${count}`,
  stuck: (count) => `stuck ×${count}`,
  breaker: (count) => `breaker open, ${count} ${count === 1 ? "run waits" : "runs wait"}`,
  retrying: (count) => `retrying ×${count}`,
};

/** `dead ×8, retrying ×1`. */
export function whatOf({ counts }: Problem): string {
  return KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [WHAT[kind](counts[kind])])).join(", ");
}

const COUNTED: Record<Kind, [one: string, many: string]> = {
  dead: ["job failing", "jobs failing"],
  breaker: ["breaker open", "breakers open"],
  overdue: ["overdue", "overdue"],
  silent: ["not firing", "not firing"],
  stuck: ["stuck", "stuck"],
  retrying: ["retrying", "retrying"],
};

export interface Sentence {
  type: "error" | "warning" | "success" | "pending" | "loading";
  text: string;
  /** The time of the oldest data (ms); null: none. */
  at: number | null;
}

/** Data are as good as new for this long (ms). */
export const FRESH = 15 * 60_000;

/** `62 jobs failing, 1 breaker open, 2 overdue`: the numbers that were seen, and what was not read. It is a success only
 * if everything was read completely and lately.
 */
export function sentenceOf(found: Found, problems: readonly Problem[], now: number): Sentence {
  const reads = Object.entries(found) as [Kind, Read<unknown>][];
  const times = reads.flatMap(([, { items, at }]) => (items === undefined ? [] : [at]));
  const at = times.length === 0 ? null : Math.min(...times);
  const names = Object.keys(COUNTED) as Kind[];
  const parts = names.flatMap((kind) => {
    const count = problems.filter(({ counts }) => counts[kind] !== undefined).length;
    const [one, many] = COUNTED[kind];
    if (count === 0) return [];
    return `${atLeast(count, found[kind].cut)} ${count === 1 ? one : many}`;
  });
  const reading = reads.some(([, { items, failed }]) => items === undefined && !failed);
  if (parts.length === 0 && reading) return { type: "loading", text: "Reading", at };
  const unknown = names.filter((kind) => {
    const { items, cut, failed } = found[kind];
    return items === undefined ? failed : cut && !problems.some((p) => p.counts[kind]);
  });
  const stale = reads.some(([, { failed, at }]) => failed || now - at > FRESH);
  const rest =
    unknown.length === 0 ? [] : [`not known: ${unknown.map((each) => COUNTED[each][1]).join(", ")}`];
  if (parts.length > 0) {
    const severe = problems.some((each) => worstOf(each) !== "retrying");
    const text = [...parts, ...rest, ...(reading ? ["reading the rest"] : [])].join(", ");
    return { type: severe ? "error" : "warning", text, at };
  }
  if (rest.length > 0 || stale)
    return { type: "pending", text: ["No problem among the data that were read", ...rest].join("; "), at };
  return { type: "success", text: "Nothing needs attention", at };
}

/** `12`, or `at least 12` where not all was read. */
export function atLeast(count: number, cut: boolean): string {
  return `${cut ? "at least " : ""}${count.toLocaleString("en-GB")}`;
}
