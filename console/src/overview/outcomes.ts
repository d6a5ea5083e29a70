/** Runs that did not succeed, by the hour in which they came into their state. */

import type { Schemas } from "../api/client";

export const STATES = ["DEAD", "RETRYING", "CANCELLED", "SKIPPED"] as const;
export type State = (typeof STATES)[number];

type Found = Pick<Schemas["Run"], "finished_at" | "started_at" | "due">;

/** The newest runs in a state; `cut` if there are older ones that were not read. */
export interface Read<Run extends Found = Found> {
  runs: readonly Run[];
  cut: boolean;
}

export interface Hour {
  at: Date;
  counts: Record<State, number>;
  /** States of which not all runs of this hour were read: their counts are lower bounds. */
  cut: readonly State[];
}

export const HOURS = 24;
const HOUR_MS = 3_600_000;

/** When the oldest of the hours that are shown began: of so many, the last one is the present. */
export function firstHour(now: number): number {
  return (Math.floor(now / HOUR_MS) - HOURS + 1) * HOUR_MS;
}

/** The last hours, oldest first. Runs that entered their state earlier are omitted. */
export function byHour(read: Record<State, Read>, now: number): Hour[] {
  const begin = firstHour(now);
  const hourOf = (run: Found) =>
    Math.floor((new Date(run.finished_at ?? run.started_at ?? run.due).getTime() - begin) / HOUR_MS);
  const places = STATES.map((state) => ({
    state,
    cut: read[state].cut,
    hours: read[state].runs.map(hourOf),
  }));
  return Array.from({ length: HOURS }, (_, number) => ({
    at: new Date(begin + number * HOUR_MS),
    counts: Object.fromEntries(
      places.map(({ state, hours }) => [state, hours.filter((hour) => hour === number).length]),
    ) as Record<State, number>,
    cut: places.filter(({ cut, hours }) => cut && number <= Math.min(...hours)).map(({ state }) => state),
  }));
}

/** How many came into a state in all hours together. */
export function total(hours: readonly Hour[], state: State): number {
  return hours.reduce((all, hour) => all + hour.counts[state], 0);
}

/** `12`; where not all was read `at least 12`, or `unknown` if nothing was found. */
export function counted(count: number, cut: boolean): string {
  if (cut && count === 0) return "unknown";
  return `${cut ? "at least " : ""}${count.toLocaleString("en-GB")}`;
}
