import { fetcher } from "../api/client";
import { patiently } from "../shared/patiently";
import type { Planned } from "./spread";

/** The API plans this many jobs at once. */
const TOGETHER = 500;
const NAMED = 1_000;

export interface MinuteJobs {
  ids: readonly string[];
  /** The number of runs of jobs that the API does not name. */
  unnamed: number;
}

/** The jobs whose schedules have a run in a minute, in the order of their ids. Delayed runs cannot be spread. The API
 * names some of the jobs if there are very many.
 */
export async function jobsAt(minute: Date, signal: AbortSignal): Promise<MinuteJobs> {
  const window = {
    from: minute.toISOString(),
    to: new Date(minute.getTime() + 60_000).toISOString(),
    step: 60,
    largest: NAMED,
  };
  const runs = new Map<string, number>();
  const add = (id: string, count: number) => runs.set(id, (runs.get(id) ?? 0) + count);
  let unnamed = 0;
  let cursor: string | undefined;
  do {
    const query = { ...window, cursor };
    const { data } = await patiently(
      () => fetcher.GET("/v1/upcoming", { params: { query }, signal }),
      signal,
    );
    for (const bucket of data?.buckets ?? []) {
      unnamed += bucket.runs;
      for (const job of bucket.jobs) {
        unnamed -= job.runs;
        add(job.id, job.runs);
      }
    }
    for (const run of data?.delayed_runs ?? []) add(run.job_id, -1);
    cursor = data?.next_cursor ?? undefined;
  } while (cursor !== undefined);
  const scheduled = [...runs].filter(([, count]) => count > 0);
  return { ids: scheduled.map(([id]) => id).toSorted(), unnamed };
}

/** A quiet minute for each of the jobs. Nothing is changed. */
export async function planFor(
  ids: readonly string[],
  within_minutes: number,
  signal: AbortSignal,
): Promise<Planned[]> {
  const found: Planned[] = [];
  for (let begin = 0; begin < ids.length; begin += TOGETHER) {
    const body = { ids: ids.slice(begin, begin + TOGETHER), within_minutes };
    const { data } = await patiently(() => fetcher.POST("/v1/jobs/spread", { body, signal }), signal);
    found.push(...(data?.jobs ?? []));
  }
  return found;
}
