/** `Last 3 runs, the latest last: SUCCEEDED, SUCCEEDED, DEAD`. */
export function stripText(states: readonly string[]): string {
  if (states.length === 0) return "No runs yet";
  return `Last ${states.length === 1 ? "run" : `${states.length} runs, the latest last`}: ${states.join(", ")}`;
}

/** `1 job`, `1,200 jobs`. */
export function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count.toLocaleString("en-GB")} jobs`;
}
