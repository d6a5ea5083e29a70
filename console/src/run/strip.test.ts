import { describe, expect, test } from "vitest";
import { placeOf, type SingleRun, stripOf } from "./strip";

const AT = "2026-03-28T12:00";
const NOW = Date.parse(`${AT}:30Z`);

function run(more: Partial<SingleRun>): SingleRun {
  const nothing = {
    waiting_for: null,
    waiting_since: null,
    finished_at: null,
    attempts: 0,
    attempt_list: [],
  };
  return { state: "QUEUED", due: `${AT}:00Z`, ...nothing, ...more } as SingleRun;
}
function attempt(number: number, from: number, until: number | null, outcome: string | null) {
  const second = (value: number) => `${AT}:${String(value).padStart(2, "0")}Z`;
  return {
    number,
    started_at: second(from),
    ended_at: until === null ? null : second(until),
    outcome,
  } as SingleRun["attempt_list"][number];
}
const told = (given: SingleRun) =>
  stripOf(given, NOW)?.rows.map(
    (row) =>
      `${row.label}: ${row.bars.map((bar) => `${bar.kind} ${(bar.until - bar.from) / 1000}`).join(", ")}`,
  );

describe("a run's strip", () => {
  test("shows waits, attempts and the backoff between them", () => {
    const attempts = [attempt(1, 2, 3, "failed"), attempt(2, 8, 9, "succeeded")];
    expect(told(run({ state: "SUCCEEDED", finished_at: `${AT}:09Z`, attempt_list: attempts }))).toEqual([
      "Before the start: queued 2",
      "Attempt 1: failed 1",
      "Attempt 2: backoff 5, succeeded 1",
    ]);
  });

  test("goes on to the present while the run is not over", () => {
    expect(told(run({ state: "RUNNING", attempt_list: [attempt(1, 0, null, null)] }))).toEqual([
      "Attempt 1: running 30",
    ]);
    expect(told(run({ state: "RETRYING", attempts: 1, attempt_list: [attempt(1, 0, 4, "failed")] }))).toEqual(
      ["Attempt 1: failed 4", "Attempt 2: backoff 26"],
    );
    expect(told(run({ waiting_for: "overlap", waiting_since: `${AT}:05Z` }))).toEqual([
      "Before the start: queued 5, in wait queue 25",
    ]);
  });

  test("an attempt whose end nobody saw lasts until the next one", () => {
    const attempts = [attempt(1, 0, null, "lost"), attempt(2, 20, 21, "failed")];
    expect(told(run({ state: "DEAD", finished_at: `${AT}:21Z`, attempt_list: attempts }))).toEqual([
      "Attempt 1: lost 20",
      "Attempt 2: failed 1",
    ]);
  });

  test("says how many attempts it leaves out, and begins with the first of the others", () => {
    const strip = stripOf(run({ state: "RUNNING", attempt_list: [attempt(5, 10, 12, "failed")] }), NOW);
    expect(strip).toMatchObject({ left_out: 4, from: Date.parse(`${AT}:10Z`) });
  });

  test("is nothing for a run that never waited", () => {
    expect(stripOf(run({ state: "SKIPPED", finished_at: `${AT}:00Z` }), NOW)).toBeNull();
  });

  test("a bar stays within it, and can be seen", () => {
    const strip = { from: 0, until: 100_000, rows: [], left_out: 0 };
    expect(placeOf({ kind: "failed", from: 100_000, until: 100_000 }, strip)).toEqual({
      left: 99.4,
      width: 0.6,
    });
    expect(placeOf({ kind: "failed", from: 50_000, until: 75_000 }, strip)).toEqual({ left: 50, width: 25 });
  });
});
