import type { Run } from "../runs/columns";

/** Dead runs whose errors differ only in numbers, ids and times. */
export interface Group {
  pattern: string;
  runs: Run[];
  jobs: string[];
  code: string | null;
  /** When they died, in order. */
  times: string[];
  /** The first and the last of these. */
  first: string | null;
  last: string | null;
}

const MOST = 160;
const NO_ERROR = "(no error was recorded)";

/** An error without the parts that differ between runs: instants, ids, numbers. */
export function patternOf(error: string | null): string {
  if (error === null || error.trim() === "") return NO_ERROR;
  const letters = [
    ...error
      .slice(0, 20 * MOST)
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)?/g, "…")
      .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "…")
      .replace(/\b(?=[a-z]*\d)[0-9a-f]{8,}\b/gi, "…")
      .replace(/\d+([.,:]\d+)*/g, (number) => (isStatus(number) ? number : "…"))
      .replace(/\s+/g, " ")
      .trim(),
  ];
  return letters.length > MOST ? `${letters.slice(0, MOST).join("")}…` : letters.join("");
}

/** The status of an HTTP response distinguishes errors. */
const isStatus = (number: string) => /^[45]\d\d$/.test(number);

/** The groups, the largest first. */
export function groupsOf(runs: readonly Run[]): Group[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const pattern = patternOf(run.error);
    const others = groups.get(pattern);
    if (others === undefined) groups.set(pattern, [run]);
    else others.push(run);
  }
  return [...groups]
    .map(([pattern, members]) => {
      const died = members.flatMap((run) => run.finished_at ?? []).sort();
      const jobs = [...new Set(members.map((run) => run.job_id))].sort();
      const code = members[0]?.code ?? null;
      return {
        pattern,
        runs: members,
        jobs,
        code,
        times: died,
        first: died[0] ?? null,
        last: died.at(-1) ?? null,
      };
    })
    .sort((one, other) => other.runs.length - one.runs.length || one.pattern.localeCompare(other.pattern));
}

const BARS = 16;

/** How many of some times there are in each part of a span of time. */
export function sparkOf(times: readonly string[], from: number, to: number): number[] {
  const counts = Array.from({ length: BARS }, () => 0);
  for (const time of times) {
    const place = Math.floor(((Date.parse(time) - from) / Math.max(to - from, 1)) * BARS);
    const index = Math.min(Math.max(place, 0), BARS - 1);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}
