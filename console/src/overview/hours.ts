/** The runs of the last 24 hours by hour, as GET /v1/stats?by=hour counts them. */

import type { Schemas } from "../api/client";

export type ByHour = Schemas["ByHour"];

export interface Hour {
  at: Date;
  /** Undefined before the first count: nothing is known of this hour. */
  counts: ByHour["items"][number] | undefined;
}

const HOUR = 3_600_000;

/** Every hour, oldest first, also those of which nothing is known. */
export function hoursOf({ since, until, items }: ByHour): Hour[] {
  const known = new Map(items.map((each) => [Date.parse(each.hour), each]));
  const first = Date.parse(since);
  return Array.from({ length: Math.round((Date.parse(until) - first) / HOUR) }, (_, number) => {
    const at = first + number * HOUR;
    return { at: new Date(at), counts: known.get(at) };
  });
}

/** What the chart says of an hour. */
export function hourText({ counts }: Hour): string {
  return counts === undefined
    ? "not counted"
    : `${counts.succeeded} succeeded, ${counts.dead} failed permanently`;
}

/** The sum of one count. */
export function total({ items }: ByHour, kind: "succeeded" | "dead"): number {
  return items.reduce((sum, each) => sum + each[kind], 0);
}
