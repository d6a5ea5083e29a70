import { fetcher } from "../api/client";
import { patiently } from "../shared/patiently";
import type { Planned } from "./spread";

/** The API plans this many jobs at once. */
const TOGETHER = 500;
const NAMED = 1_000;

/** All jobs with a run in a minute, in the order of their ids. */
export async function jobsAt(minute: Date, signal: AbortSignal): Promise<string[]> {
  const window = {
    from: minute.toISOString(),
    to: new Date(minute.getTime() + 60_000).toISOString(),
    step: 60,
    largest: NAMED,
  };
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...window, cursor };
    const { data } = await patiently(
      () => fetcher.GET("/v1/upcoming", { params: { query }, signal }),
      signal,
    );
    ids.push(...(data?.buckets ?? []).flatMap((bucket) => bucket.jobs.map((job) => job.id)));
    cursor = data?.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return ids.toSorted();
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
