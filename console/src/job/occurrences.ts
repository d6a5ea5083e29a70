import type { Schemas } from "../api/client";
import { withoutCall } from "../shared/errors";
import { duration, elapsed, inZone } from "../shared/time";
import { reasonText } from "./reasons";

type Run = Schemas["Run"];

export const KINDS = [
  "failed",
  "without a record",
  "late",
  "in progress",
  "skipped",
  "cancelled",
  "ran",
  "upcoming",
] as const;
/** The outcomes of an occurrence: the worst first, and past outcomes before future ones. */
export type Kind = (typeof KINDS)[number];

export interface Occurrence {
  at: string;
  kind: Kind;
  /** Further details; may be empty. */
  text: string;
  run: string | null;
  /** Seconds; null where none has been measured. */
  lateness: number | null;
  took: number | null;
  /** How many occurrences its record covers. */
  count: number;
}

const UNKNOWN = { text: "", run: null, lateness: null, took: null, count: 1 };

/** What the records and the schedule say together. `expected` are instants that the schedule names; `grace` is the
 * lateness in seconds from which on the job calls a run late. Sorted by time.
 */
export function occurrences(
  runs: readonly Run[],
  expected: readonly string[],
  { now, grace }: { now: number; grace: number },
): Occurrence[] {
  const found: Occurrence[] = [];
  const covered = new Map<string, number>();
  const recorded = new Map(runs.filter(bySchedule).map((run) => [Date.parse(run.occurrence), run]));
  let covering: { run: Run; left: number } | null = null;
  const sorted = [...new Set([...expected.map((at) => Date.parse(at)), ...recorded.keys()])].sort(
    (a, b) => a - b,
  );
  for (const instant of sorted) {
    const own = recorded.get(instant);
    if (own !== undefined) {
      covering = { run: own, left: own.count - 1 };
      continue;
    }
    const at = new Date(instant).toISOString().replace(".000Z", "Z");
    if (covering !== null && covering.left > 0) {
      covering.left -= 1;
      covered.set(covering.run.id, (covered.get(covering.run.id) ?? 0) + 1);
      found.push({ ...ofRun(covering.run, now, grace), at });
    } else if (instant > now) found.push({ at, kind: "upcoming", ...UNKNOWN });
    else found.push({ at, kind: "without a record", ...UNKNOWN });
  }
  // Occurrences that a record covers, but that the schedule no longer contains, are counted with the record.
  const records = runs.map((run) => ({
    ...ofRun(run, now, grace),
    count: run.count - (covered.get(run.id) ?? 0),
  }));
  return [...records, ...found].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** Whether the schedule named it, and not a person or a backfill: their ids have a suffix. */
function bySchedule(run: Run): boolean {
  return run.id === `${run.job_id}.${run.id.split(".")[1]}`;
}

function ofRun(run: Run, now: number, grace: number): Occurrence {
  return {
    at: run.occurrence,
    kind: kindOf(run, now, grace),
    text: textOf(run),
    run: run.id,
    lateness: run.lateness_seconds === null ? null : Math.max(run.lateness_seconds, 0),
    took: run.finished_at === null ? null : elapsed(run.attempt_started_at, run.finished_at),
    count: 1,
  };
}

function kindOf(run: Run, now: number, grace: number): Kind {
  switch (run.state) {
    case "SUCCEEDED":
      return (run.lateness_seconds ?? 0) > grace ? "late" : "ran";
    case "DEAD":
      return "failed";
    case "SKIPPED":
      return "skipped";
    case "CANCELLED":
      return "cancelled";
    case "QUEUED":
      return Date.parse(run.due) > now ? "upcoming" : "in progress";
    default:
      return "in progress";
  }
}

function textOf(run: Run): string {
  const late = run.lateness_seconds ?? 0;
  const took = run.finished_at === null ? null : elapsed(run.attempt_started_at, run.finished_at);
  return [
    run.count > 1 && `covers ${run.count} occurrences`,
    reasonText(run.reason),
    run.error && withoutCall(run.error),
    late >= 1 && `${duration(late)} after it was due`,
    took !== null && `took ${duration(took)}`,
    run.requested_by && `requested by ${run.requested_by}`,
  ]
    .filter(Boolean)
    .join("; ");
}

/** The last of them that are not to come, oldest first. */
export function recent(all: readonly Occurrence[], most: number): Occurrence[] {
  return all.filter((each) => each.kind !== "upcoming").slice(-most);
}

/** `2026-03-28 03:00:00 Europe/Berlin: failed, no space left; took 2 s`. */
export function inWords({ at, kind, text }: Occurrence, zone: string): string {
  return `${inZone(at, zone)}: ${kind}${text && `, ${text}`}`;
}
