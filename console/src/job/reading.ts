import { fetcher, type Schemas } from "../api/client";

export const PER_PAGE = 100;
const MOST_PAGES = 10;
const MOST_PREVIEWS = 5;
const ALL_STATES = "QUEUED,RUNNING,WAITING,RETRYING,SUCCEEDED,DEAD,CANCELLED,SKIPPED";

type Job = Pick<
  Schemas["Job"],
  | "schedule"
  | "timezone"
  | "dst_gap"
  | "dst_fold"
  | "anchor"
  | "start"
  | "end"
  | "exclude"
  | "calendar"
  | "on_excluded"
  | "planned_pause"
>;

/** The next occurrence of the job's schedule after an instant. */
export async function readPreview(
  job: Job,
  after: string,
  count: number,
  signal: AbortSignal,
): Promise<Schemas["Occurrence"][]> {
  if (job.schedule === null) return [];
  const {
    schedule,
    timezone,
    dst_gap,
    dst_fold,
    anchor,
    start,
    end,
    exclude,
    calendar,
    on_excluded,
    planned_pause,
  } = job;
  const { data } = await fetcher.POST("/v1/schedules/preview", {
    body: {
      schedule,
      timezone,
      dst_gap,
      dst_fold,
      anchor,
      start,
      end,
      exclude: planned_pause === null ? exclude : [...exclude, planned_pause],
      calendar,
      on_excluded,
      after,
      count,
    },
    signal,
  });
  return data?.occurrences ?? [];
}

/** The runs of a job by their occurrences, newest first, those that are enqueued among them; `more` if there are more
 * than are read.
 */
export async function readRuns(
  jobId: string,
  query: { from?: string; to?: string; state?: string },
  signal: AbortSignal,
): Promise<{ items: Schemas["Run"][]; more: boolean }> {
  const items: Schemas["Run"][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { data } = await fetcher.GET("/v1/jobs/{job_id}/runs", {
      params: { path: { job_id: jobId }, query: { state: ALL_STATES, ...query, limit: PER_PAGE, cursor } },
      signal,
    });
    items.push(...(data?.items ?? []));
    if (!data?.next_cursor) return { items, more: false };
    cursor = data.next_cursor;
  }
  return { items, more: true };
}

/** With a start, the API omits queued runs: a job that runs every few seconds has pages of them. */
export const EVER = "1970-01-01T00:00:00Z";

/** The newest runs of a job, without upcoming ones. */
export async function readLast(jobId: string, limit: number, signal: AbortSignal): Promise<Schemas["Run"][]> {
  const { data } = await fetcher.GET("/v1/jobs/{job_id}/runs", {
    params: { path: { job_id: jobId }, query: { limit, from: EVER } },
    signal,
  });
  return data?.items ?? [];
}

/** The instants of a window that the schedule has and the job does not exclude. Where the past has more of them than
 * are read it has none, and `complete` is false. `until`: the last one that was read, where there are more to come.
 */
export async function readExpected(
  job: Schemas["Job"],
  window: { from: string; to: string },
  signal: AbortSignal,
): Promise<{ instants: string[]; complete: boolean; until: string | null }> {
  const present = Date.now();
  const end = Date.parse(window.to);
  const begin = Math.max(Date.parse(window.from), Date.parse(job.created_at));
  const past = await readInstants(job, begin, Math.min(present, end), signal);
  const from = Math.max(present, Date.parse(window.from));
  const coming = await readInstants(job, from, job.state === "COMPLETED" ? from : end, signal);
  const instants = [...(past.complete ? past.instants : []), ...coming.instants];
  const until = coming.complete ? null : (coming.instants.at(-1) ?? null);
  return { instants, complete: past.complete, until };
}

async function readInstants(
  job: Job,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<{ instants: string[]; complete: boolean }> {
  const instants: string[] = [];
  let after = from;
  for (let page = 0; page < MOST_PREVIEWS; page++) {
    if (after >= to) return { instants, complete: true };
    const found = await readPreview(job, new Date(after).toISOString(), PER_PAGE, signal);
    const named = found.flatMap(({ at, mark }) => (at === null || mark === "excluded" ? [] : [at]));
    instants.push(...named.filter((at) => Date.parse(at) <= to));
    after = named.length < PER_PAGE ? to : Date.parse(named.at(-1) ?? "");
    if (Number.isNaN(after)) break;
  }
  return { instants, complete: after >= to };
}
