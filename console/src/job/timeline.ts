import { inZone, wall } from "../shared/time";
import { instantOf } from "../shared/wallInput";
import { inWords, KINDS, type Kind, type Occurrence } from "./occurrences";

export type Zoom = "day" | "week" | "month";

/** Whole days of a zone. */
export interface Window {
  from: string;
  to: string;
  /** `2026-03-29` */
  firstDay: string;
  lastDay: string;
}

const HOUR = 3_600_000;
const DAYS: Record<Zoom, number> = { day: 1, week: 7, month: 28 };
/** How many of them are still to come. */
const AHEAD: Record<Zoom, number> = { day: 0, week: 1, month: 6 };
/** How many places a row may have, the most first: down to five minutes of an hour, or an hour of a day. */
const SLOTS = { hour: [60, 30, 12], day: [96, 48, 24] };
const TICKS = {
  hour: [":00", ":15", ":30", ":45"].map((text, index) => ({ text, place: index / 4 })),
  day: ["00:00", "06:00", "12:00", "18:00"].map((text, index) => ({ text, place: index / 4 })),
};

/** The days up to `lastDay`, else those around the present. */
export function windowOf(zoom: Zoom, lastDay: string | undefined, now: number, zone: string): Window {
  const asked = lastDay !== undefined && isDay(lastDay) ? lastDay : null;
  const last = asked ?? dayAfter(dayOf(now, zone), AHEAD[zoom]);
  const first = dayAfter(last, 1 - DAYS[zoom]);
  const midnight = (day: string) => instantOf(day, zone) as string;
  return { from: midnight(first), to: midnight(dayAfter(last, 1)), firstDay: first, lastDay: last };
}

/** The last day of the window before (-1) or after (1). */
export function moved(window: Window, zoom: Zoom, by: -1 | 1): string {
  return dayAfter(window.lastDay, by * DAYS[zoom]);
}

/** The day of an instant on a zone's calendar. */
export function dayOf(instant: string | number, zone: string): string {
  return wall(new Date(instant), zone).slice(0, 10);
}

/** `2026-03-29` and one day: `2026-03-30`. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * 24 * HOUR).toISOString().slice(0, 10);
}

function isDay(text: string): boolean {
  const parsed = Date.parse(text);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(parsed) && dayAfter(text, 0) === text;
}

export interface Mark {
  row: number;
  /** From 0 to 1, where in its row. */
  place: number;
  kind: Kind;
  /** The one that it links to: the first of the worst. */
  first: Occurrence;
  count: number;
  text: string;
}

export interface Layout {
  /** A day or an hour each, by the zone's clock. */
  rows: string[];
  marks: Mark[];
  /** The width of a place, from 0 to 1. */
  step: number;
  /** The labels above the rows, and their places. */
  ticks: { place: number; text: string }[];
}

/** Rows of days (of hours, in a day's window) by the clock of a zone, with as many places as there is room for. What
 * falls into the same place is one mark.
 */
export function layout(
  all: readonly Occurrence[],
  window: Pick<Window, "from" | "to">,
  zoom: Zoom,
  zone: string,
  room = Number.POSITIVE_INFINITY,
): Layout {
  const keyLength = zoom === "day" ? "2026-03-29 02".length : "2026-03-29".length;
  const possible = zoom === "day" ? SLOTS.hour : SLOTS.day;
  const slots = possible.find((each) => each <= room) ?? Math.min(...possible);
  const keys: string[] = [];
  for (let at = Date.parse(window.from); at < Date.parse(window.to); at += HOUR / 2) {
    const key = wall(new Date(at), zone).slice(0, keyLength);
    if (keys.at(-1) !== key) keys.push(key);
  }
  const rows = [...new Set(keys)];
  const groups = new Map<string, Occurrence[]>();
  for (const each of all) {
    const shown = wall(each.at, zone);
    const row = rows.indexOf(shown.slice(0, keyLength));
    if (row < 0) continue;
    const minutes = Number(shown.slice(14, 16)) + (zoom === "day" ? 0 : Number(shown.slice(11, 13)) * 60);
    const slot = Math.floor((minutes * slots) / (zoom === "day" ? 60 : 1440));
    const key = `${row} ${slot}`;
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  const marks = [...groups].map(([key, members]) => {
    const [row = 0, slot = 0] = key.split(" ").map(Number);
    return { row, place: slot / slots, ...described(members, zone) };
  });
  marks.sort((a, b) => a.row - b.row || a.place - b.place);
  return {
    rows: rows.map((row) => (zoom === "day" ? `${row}:00` : row)),
    marks,
    step: 1 / slots,
    ticks: TICKS[zoom === "day" ? "hour" : "day"],
  };
}

function described(members: readonly Occurrence[], zone: string): Omit<Mark, "row" | "place"> {
  const counted = count(members);
  const kind = KINDS.find((each) => counted.has(each)) ?? "ran";
  const first = members.find((each) => each.kind === kind) as Occurrence;
  const text =
    members.length === 1
      ? inWords(first, zone)
      : `${members.reduce((all, each) => all + each.count, 0)} occurrences around ${inZone(first.at, zone)}: ${summary(counted)}`;
  return { kind, first, count: members.length, text };
}

/** How many there are of each kind. */
export function count(all: readonly Occurrence[]): Map<Kind, number> {
  const counted = new Map<Kind, number>();
  for (const each of all) counted.set(each.kind, (counted.get(each.kind) ?? 0) + each.count);
  return counted;
}

/** `2 failed, 10 ran`. */
export function summary(counted: ReadonlyMap<Kind, number>): string {
  return KINDS.filter((kind) => counted.has(kind))
    .map((kind) => `${counted.get(kind)} ${kind}`)
    .join(", ");
}
