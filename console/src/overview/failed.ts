/** The jobs of dead runs. */

import type { Schemas } from "../api/client";

type Found = Pick<Schemas["Run"], "id" | "job_id" | "finished_at" | "error">;

export interface FailedJob {
  id: string;
  /** How many of its dead runs were read. */
  runs: number;
  /** Its run that died last. */
  latest: string;
  last: string | null;
  /** Of the latest death. */
  error: string | null;
}

/** The jobs of these dead runs, the latest death first. */
export function failedJobs(dead: readonly Found[]): FailedJob[] {
  const jobs = new Map<string, FailedJob>();
  for (const run of dead.toSorted((one, other) => died(other).localeCompare(died(one)))) {
    const job = jobs.get(run.job_id);
    if (job !== undefined) job.runs += 1;
    else
      jobs.set(run.job_id, {
        id: run.job_id,
        runs: 1,
        latest: run.id,
        last: run.finished_at,
        error: run.error,
      });
  }
  return [...jobs.values()].sort(
    (one, other) => (other.last ?? "").localeCompare(one.last ?? "") || one.id.localeCompare(other.id),
  );
}

function died(run: Found): string {
  return run.finished_at ?? "";
}
