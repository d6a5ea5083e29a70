import type { Schemas } from "../api/client";

export type Planned = Schemas["PlannedSpread"];

/** The runs in the busiest of the minutes of these jobs, now and afterwards; null if the forecast is not known. */
export function busiest(jobs: readonly Planned[]): { before: number; after: number } | null {
  const known = jobs.filter((job) => job.before !== null && job.after !== null);
  if (known.length === 0) return null;
  const most = (of: (job: Planned) => number | undefined) => Math.max(...known.map((job) => of(job) ?? 0));
  return { before: most((job) => job.before?.runs), after: most((job) => job.after?.runs) };
}
