/** The load of the next hours: runs by minute, as `GET /v1/upcoming` counts them with a step of a minute. */

import type { Schemas } from "../api/client";

export type Upcoming = Pick<Schemas["Upcoming"], "from" | "to" | "buckets" | "jobs" | "uncounted"> &
  // During a deployment, an API of the previous release does not return these.
  Partial<Pick<Schemas["Upcoming"], "paused" | "late" | "late_jobs" | "uncounted_jobs" | "delayed_runs">>;

/** So many jobs, the first of them by their ids. */
export interface Named {
  count: number;
  ids: readonly string[];
}

export interface Minute {
  at: Date;
  runs: number;
  jobs: readonly Schemas["UpcomingJob"][];
}

export interface Load {
  /** Every `minutes` of the window, those without runs, too. */
  bars: readonly { at: Date; runs: number; hot: boolean }[];
  /** Those with the most runs, fullest first. */
  hot: readonly Minute[];
  runs: number;
  /** So many of them are delayed runs. */
  delayed: number;
  jobs: number;
  paused: number;
  /** A run is due and in no lane yet. */
  late: Named;
  /** Their place in the schedule cannot be read. */
  silent: Named;
}

const HOT_MINUTES = 5;
/** Fewer runs than these in a minute are nothing to look at, even where no minute has more. */
const FEW = 2;

/** Adds up pages of some jobs each, all with the same window; a bar covers this number of minutes. */
export function loadOf(pages: readonly Upcoming[], minutesOfBar = 10): Load {
  const width = minutesOfBar * 60_000;
  const minutes = new Map<number, { runs: number; jobs: Map<string, number> }>();
  for (const bucket of pages.flatMap((page) => page.buckets)) {
    const at = new Date(bucket.at).getTime();
    const minute = minutes.get(at) ?? { runs: 0, jobs: new Map<string, number>() };
    minute.runs += bucket.runs;
    for (const job of bucket.jobs) minute.jobs.set(job.id, (minute.jobs.get(job.id) ?? 0) + job.runs);
    minutes.set(at, minute);
  }
  const hot = [...minutes]
    .filter(([, minute]) => minute.runs >= FEW)
    .sort(([early, one], [late, other]) => other.runs - one.runs || early - late)
    .slice(0, HOT_MINUTES)
    .map(([at, { runs, jobs }]) => ({ at: new Date(at), runs, jobs: largest(jobs) }));
  const bars: { at: Date; runs: number; hot: boolean }[] = [];
  const first = pages[0];
  const begin = first === undefined ? 0 : new Date(first.from).getTime();
  const end = first === undefined ? 0 : new Date(first.to).getTime();
  for (let at = begin; at < end; at += width) bars.push({ at: new Date(at), runs: 0, hot: false });
  const barOf = (at: number) => bars[Math.floor((at - begin) / width)];
  for (const [at, { runs }] of minutes) {
    const bar = barOf(at);
    if (bar !== undefined) bar.runs += runs;
  }
  for (const minute of hot) {
    const bar = barOf(minute.at.getTime());
    if (bar !== undefined) bar.hot = true;
  }
  const sum = (of: (page: Upcoming) => number | undefined) =>
    pages.reduce((all, page) => all + (of(page) ?? 0), 0);
  return {
    bars,
    hot,
    runs: bars.reduce((all, bar) => all + bar.runs, 0),
    delayed: sum((page) => page.delayed_runs?.length),
    jobs: sum((page) => page.jobs),
    paused: sum((page) => page.paused),
    late: { count: sum((page) => page.late), ids: pages.flatMap((page) => page.late_jobs ?? []) },
    silent: { count: sum((page) => page.uncounted), ids: pages.flatMap((page) => page.uncounted_jobs ?? []) },
  };
}

function largest(jobs: Map<string, number>): Schemas["UpcomingJob"][] {
  return [...jobs].map(([id, runs]) => ({ id, runs })).sort((one, other) => other.runs - one.runs);
}
