import type { Run } from "../runs/columns";

/** Dead runs whose errors differ only in numbers, ids and times. */
export interface Group {
  pattern: string;
  runs: Run[];
  jobs: string[];
  /** When the first and the last of them died. */
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
      return { pattern, runs: members, jobs, first: died[0] ?? null, last: died.at(-1) ?? null };
    })
    .sort((one, other) => other.runs.length - one.runs.length || one.pattern.localeCompare(other.pattern));
}
