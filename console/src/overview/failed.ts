/** The jobs that failed, of runs that did not succeed. */

import type { Schemas } from "../api/client";

type Found = Pick<Schemas["Run"], "id" | "job_id" | "state" | "finished_at" | "error">;

export interface FailedJob {
  id: string;
  /** Its dead runs, the latest death first. */
  runs: readonly string[];
  last: string | null;
  /** Of the latest death. */
  error: string | null;
}

/** The jobs with dead runs, the latest death first. */
export function failedJobs(runs: readonly Found[]): FailedJob[] {
  const jobs = new Map<string, Found[]>();
  for (const run of runs.filter(({ state }) => state === "DEAD")) {
    const others = jobs.get(run.job_id);
    if (others === undefined) jobs.set(run.job_id, [run]);
    else others.push(run);
  }
  return [...jobs]
    .map(([id, found]) => {
      const dead = found.toSorted((one, other) => latest(other).localeCompare(latest(one)));
      return {
        id,
        runs: dead.map((run) => run.id),
        last: dead[0]?.finished_at ?? null,
        error: dead[0]?.error ?? null,
      };
    })
    .sort((one, other) => (other.last ?? "").localeCompare(one.last ?? "") || one.id.localeCompare(other.id));
}

function latest(run: Found): string {
  return run.finished_at ?? "";
}
