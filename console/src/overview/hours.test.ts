import { expect, test } from "vitest";
import { hoursOf, hourText, total } from "./hours";

const NONE = { succeeded: 0, dead: 0, retried: 0, skipped: 0, cancelled: 0 };
const FOUND = {
  since: "2026-03-27T13:00:00Z",
  until: "2026-03-28T13:00:00Z",
  as_of: "2026-03-28T12:10:00Z",
  counted_from: "2026-03-28T10:00:00Z",
  items: [
    { ...NONE, hour: "2026-03-28T10:00:00Z", succeeded: 40, dead: 1 },
    { ...NONE, hour: "2026-03-28T11:00:00Z" },
    { ...NONE, hour: "2026-03-28T12:00:00Z", succeeded: 2 },
  ],
};

test("every hour of the day is in the chart, and hours before the first count are not known", () => {
  const hours = hoursOf(FOUND);
  expect(hours).toHaveLength(24);
  expect(hours[0]).toEqual({ at: new Date("2026-03-27T13:00:00Z"), counts: undefined });
  expect(hours.at(-2)?.counts?.succeeded).toBe(0);
  expect(hours.map(hourText).slice(-4)).toEqual([
    "not counted",
    "40 succeeded, 1 failed permanently",
    "0 succeeded, 0 failed permanently",
    "2 succeeded, 0 failed permanently",
  ]);
});

test("the totals are those of all counted hours", () => {
  expect([total(FOUND, "succeeded"), total(FOUND, "dead")]).toEqual([42, 1]);
});
