import { expect, test } from "vitest";
import { byHour, counted, total } from "./outcomes";

const NOW = Date.parse("2026-03-28T12:30:00Z");
const run = (
  state: "DEAD" | "SKIPPED" | "SUCCEEDED",
  finished_at: string | null,
  due = "2026-03-28T12:00:00Z",
) => ({
  state,
  finished_at,
  started_at: null,
  due,
});

test("the last 24 hours, the present one last", () => {
  const hours = byHour([], NOW);
  expect(hours).toHaveLength(24);
  expect(hours.at(-1)?.at.toISOString()).toBe("2026-03-28T12:00:00.000Z");
});

test("a run counts in the hour in which it ended, or else was due", () => {
  const runs = [
    run("DEAD", "2026-03-28T12:10:00Z"),
    run("DEAD", "2026-03-28T11:59:59Z"),
    run("SKIPPED", null),
    run("DEAD", "2026-03-20T00:00:00Z"),
    run("SUCCEEDED", "2026-03-28T12:10:00Z"),
  ];
  const hours = byHour(runs, NOW);
  expect(hours.at(-1)?.counts).toEqual({ DEAD: 1, RETRYING: 0, CANCELLED: 0, SKIPPED: 1 });
  expect(total(hours, "DEAD")).toBe(2);
});

test("a count of a part says so", () => {
  expect([counted(1200, true), counted(3, false)]).toEqual(["at least 1,200", "3"]);
});
