/** Runs that did not succeed, by the hour in which they came into their state. */

import type { Schemas } from "../api/client";

export const STATES = ["DEAD", "RETRYING", "CANCELLED", "SKIPPED"] as const;
export type State = (typeof STATES)[number];

type Found = Pick<Schemas["Run"], "state" | "finished_at" | "started_at" | "due">;

export interface Hour {
  at: Date;
  counts: Record<State, number>;
}

export const HOURS = 24;
const HOUR_MS = 3_600_000;

/** When the oldest of the hours that are shown began: of so many, the last one is the present. */
export function firstHour(now: number): number {
  return (Math.floor(now / HOUR_MS) - HOURS + 1) * HOUR_MS;
}

/** The last hours, oldest first. Runs that entered their state earlier are omitted. */
export function byHour(runs: readonly Found[], now: number): Hour[] {
  const begin = firstHour(now);
  const hours: Hour[] = Array.from({ length: HOURS }, (_, number) => ({
    at: new Date(begin + number * HOUR_MS),
    counts: { DEAD: 0, RETRYING: 0, CANCELLED: 0, SKIPPED: 0 },
  }));
  for (const run of runs) {
    const since = new Date(run.finished_at ?? run.started_at ?? run.due).getTime();
    const hour = hours[Math.floor((since - begin) / HOUR_MS)];
    const state = STATES.find((each) => each === run.state);
    if (hour !== undefined && state !== undefined) hour.counts[state] += 1;
  }
  return hours;
}

/** How many came into a state in all hours together. */
export function total(hours: readonly Hour[], state: State): number {
  return hours.reduce((all, hour) => all + hour.counts[state], 0);
}

/** `12`, or `at least 12` where not all was read. */
export function counted(count: number, cut: boolean): string {
  return `${cut ? "at least " : ""}${count.toLocaleString("en-GB")}`;
}
