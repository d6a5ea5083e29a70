import { expect, test } from "vitest";
import { percent, steps } from "./metrics";

const LATENESS = { at: "2026-03-28T12:00:00Z", median_seconds: 0.4, p99_seconds: 2.5 };
const OUTCOMES = { at: "2026-03-27T12:30:00Z", succeeded: 40, retried: 3, dead: 1 };

test("every half hour of the day is a step, whether it has a value or not", () => {
  const found = steps({
    since: "2026-03-27T12:30:00Z",
    step_seconds: 1800,
    lateness: [LATENESS],
    outcomes: [OUTCOMES],
    oldest_message_seconds: {},
    objectives: [],
  });
  expect(found).toHaveLength(48);
  expect(found[0]).toEqual({
    at: new Date("2026-03-27T12:30:00Z"),
    lateness: undefined,
    outcomes: OUTCOMES,
  });
  expect(found.at(-1)).toEqual({
    at: new Date("2026-03-28T12:00:00Z"),
    lateness: LATENESS,
    outcomes: undefined,
  });
});

test("a share is rounded down: a missed target never seems to be met", () => {
  expect([percent(0.99), percent(0.98999), percent(1), percent(0.999), percent(1.256, 0)]).toEqual([
    "99%",
    "98.99%",
    "100%",
    "99.9%",
    "125%",
  ]);
});
