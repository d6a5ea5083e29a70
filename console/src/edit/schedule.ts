import { requests } from "../shared/kinds.json";
import type { Json } from "./document";

export type Kind = "expression" | "every" | "once" | "request";

export const KINDS: { id: Kind; text: string }[] = [
  { id: "expression", text: "Cron" },
  { id: "every", text: "Every" },
  { id: "once", text: "Once" },
  { id: "request", text: "On demand" },
];

/** Schedules that many want. */
export const PRESETS = [
  { id: "0 * * * *", text: "Every hour" },
  { id: "*/15 * * * *", text: "Every 15 minutes" },
  { id: "0 3 * * *", text: "Every day at 03:00" },
  { id: "0 9 * * MON-FRI", text: "Monday to Friday at 09:00" },
  { id: "0 6 * * MON", text: "Every Monday at 06:00" },
  { id: "0 4 1 * *", text: "On the first day of each month at 04:00" },
  { id: "0 4 L * *", text: "On the last day of each month at 04:00" },
];

export const UNITS = ["second", "minute", "hour", "day"] as const;
export type Unit = (typeof UNITS)[number];

/** The maximum number of schedules of a job. */
export const MOST = requests.JobRequest.schedule.most;

/** The schedules of a job: none, one or several. Whatever is no text is shown in the JSON only. */
export function schedulesOf(value: Json | undefined): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter((each) => typeof each === "string");
}

/** The field of the document: one schedule is written as text. */
export const scheduleOf = (schedules: string[]): Json =>
  schedules.length > 1 ? schedules : (schedules[0] ?? null);

/** Which of the form's fields shows the schedules; whatever the others cannot show is an expression, and so are several
 * schedules.
 */
export function kindOf(schedules: string[]): Kind {
  const [schedule, second] = schedules;
  if (schedule === undefined) return "request";
  if (second !== undefined) return "expression";
  if (everyOf(schedule) !== null) return "every";
  if (onceOf(schedule) !== null) return "once";
  return "expression";
}

/** The number, as it is written, and the unit of `rate(5 minutes)`. */
export function everyOf(schedule: string): { count: string; unit: Unit } | null {
  const found = /^\s*rate\(\s*(\S*)\s+(second|minute|hour|day)s?\s*\)\s*$/i.exec(schedule);
  return found === null ? null : { count: found[1] ?? "", unit: (found[2] ?? "").toLowerCase() as Unit };
}

export function every(count: string, unit: Unit): string {
  return `rate(${count.trim()} ${unit}${count.trim() === "1" ? "" : "s"})`;
}

/** Day and time of `at(2026-12-31T09:00:00)`, as they are written. */
export function onceOf(schedule: string): { day: string; time: string } | null {
  const found = /^\s*at\(([^T]*)T([^)Z+]*)\)\s*$/i.exec(schedule);
  return found === null ? null : { day: found[1] ?? "", time: found[2] ?? "" };
}

export const once = (day: string, time: string): string => `at(${day}T${time})`;

/** The initial value after another kind is selected. */
export function firstOf(kind: Kind, now: Date): string | null {
  const tomorrow = new Date(now.getTime() + 86_400_000).toISOString().slice(0, 10);
  return {
    expression: "0 3 * * *",
    every: every("1", "hour"),
    once: once(tomorrow, "09:00:00"),
    request: null,
  }[kind];
}
