import type { ApiProblem } from "../api/problem";

/** The days in a text: one per line; empty lines do not count. */
export function entriesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The faults of these entries, each with its entry; undefined if the problem concerns something else. */
export function faultOf(problem: ApiProblem, entries: readonly string[]): string | undefined {
  const faults = problem.fields.map(({ field, message }) => {
    const [, place] = /^exclude(?:\/(\d+))?$/.exec(field) ?? [];
    const entry = place === undefined ? undefined : entries[Number(place)];
    return field.startsWith("exclude") ? `${entry === undefined ? "" : `${entry}: `}${message}` : undefined;
  });
  return faults.length > 0 && faults.every((each) => each !== undefined) ? faults.join("; ") : undefined;
}
