import { expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { figures, inWords } from "./figures";

const run = (due: string, seconds: number | null) =>
  ({
    due,
    attempt_started_at: due,
    finished_at: seconds === null ? null : new Date(Date.parse(due) + seconds * 1000).toISOString(),
    lateness_seconds: 0.5,
  }) as Schemas["Run"];

it("counts the runs that have ended, oldest first", () => {
  const found = figures([
    run("2026-03-28T12:00:00Z", null),
    run("2026-03-28T11:00:00Z", 4),
    run("2026-03-28T10:00:00Z", 2),
  ]);
  expect(found.durations.map((point) => point.y)).toEqual([2, 4]);
  expect(found.lateness.map((point) => point.y)).toEqual([0.5, 0.5]);
});

it("says the same in words", () => {
  const points = [1, 2, 3, 4, 100].map((y) => ({ x: new Date(0), y }));
  expect(inWords(points)).toBe("5 runs: median 3 s, p95 1 min 40 s, longest 1 min 40 s.");
  expect(inWords([])).toBe("No run has ended yet.");
});
