import { expect, test } from "vitest";
import { byHour, counted, type Read, total } from "./outcomes";

const NOW = Date.parse("2026-03-28T12:30:00Z");
const run = (finished_at: string | null, due = "2026-03-28T12:00:00Z") => ({
  finished_at,
  started_at: null,
  due,
});
const NONE: Read = { runs: [], cut: false };
const NOTHING = { DEAD: NONE, RETRYING: NONE, CANCELLED: NONE, SKIPPED: NONE };

test("the last 24 hours, the present one last", () => {
  const hours = byHour(NOTHING, NOW);
  expect(hours).toHaveLength(24);
  expect(hours.at(-1)?.at.toISOString()).toBe("2026-03-28T12:00:00.000Z");
});

test("a run counts in the hour in which it ended, or else was due", () => {
  const died = ["2026-03-28T12:10:00Z", "2026-03-28T11:59:59Z", "2026-03-20T00:00:00Z"];
  const read = {
    ...NOTHING,
    DEAD: { runs: died.map((at) => run(at)), cut: false },
    SKIPPED: { runs: [run(null)], cut: false },
  };
  const hours = byHour(read, NOW);
  expect(hours.at(-1)?.counts).toEqual({ DEAD: 1, RETRYING: 0, CANCELLED: 0, SKIPPED: 1 });
  expect(total(hours, "DEAD")).toBe(2);
  expect(hours.every(({ cut }) => cut.length === 0)).toBe(true);
});

test("hours of which not all runs were read say so, by state", () => {
  const read = {
    ...NOTHING,
    SKIPPED: { runs: [run("2026-03-28T12:10:00Z"), run("2026-03-28T11:30:00Z")], cut: true },
  };
  const hours = byHour(read, NOW);
  expect(hours.slice(-3).map(({ cut }) => cut)).toEqual([["SKIPPED"], ["SKIPPED"], []]);
});

test("a count of a part says so, and is never zero", () => {
  expect([counted(1200, true), counted(3, false), counted(0, false), counted(0, true)]).toEqual([
    "at least 1,200",
    "3",
    "0",
    "unknown",
  ]);
});
