/** `Last 3 runs, oldest first: SUCCEEDED, SUCCEEDED, DEAD`. */
export function stripText(states: readonly string[]): string {
  if (states.length === 0) return "No runs yet";
  return `Last ${states.length === 1 ? "run" : `${states.length} runs, oldest first`}: ${states.join(", ")}`;
}

/** `1 job`, `1,200 jobs`. */
export function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count.toLocaleString("en-GB")} jobs`;
}
