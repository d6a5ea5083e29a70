import { describe, expect, test } from "vitest";
import {
  amountOf,
  countsOf,
  isNothing,
  isShown,
  type Operation,
  perMinute,
  restOf,
  shareOf,
  whatOf,
} from "./texts";

const made = (changes: Partial<Operation> = {}): Operation => ({
  id: "op-1",
  kind: "redrive",
  filter: { job_id: null, tag: null, state: ["DEAD"], error: null, since: null, until: null },
  per_minute: null,
  limit: null,
  expected: null,
  note: null,
  scope_tags: null,
  state: "RUNNING",
  reason: null,
  done: 0,
  refused: 0,
  skipped: {},
  searched_to: null,
  created_by: "ann",
  created_at: "2026-11-21T09:00:00.000Z",
  updated_at: "2026-11-21T09:00:00.000Z",
  ended_at: null,
  expires_at: "2026-11-22T09:00:00Z",
  ...changes,
});

describe("an operation", () => {
  test("is shown until ten minutes after its end", () => {
    const ended = made({ state: "SUCCEEDED", ended_at: "2026-11-21T09:01:00.000Z" });
    const at = (minute: number) => Date.parse(`2026-11-21T09:${String(minute).padStart(2, "0")}:00.000Z`);
    expect([isShown(ended, at(10)), isShown(ended, at(12))]).toEqual([true, false]);
    expect([isShown(made(), at(59)), isShown(made({ state: "FAILED" }), at(59))]).toEqual([true, true]);
  });

  test("names what it does, and its filter", () => {
    expect(whatOf(made())).toBe("Redrive dead runs of all jobs");
    const filter = {
      job_id: "nightly",
      tag: "billing",
      state: ["QUEUED", "RETRYING"] as Operation["filter"]["state"],
      error: "refused",
      since: "2026-11-21T00:00:00Z",
      until: null,
    };
    expect(whatOf(made({ kind: "cancel", filter }))).toBe(
      "Cancel QUEUED, RETRYING runs of the job nightly, with the tag billing, with the error refused, since 2026-11-21T00:00:00Z",
    );
  });

  test.each<[Partial<Operation>, string, number | undefined]>([
    [{}, "0 runs done", undefined],
    [{ done: 1 }, "1 run done", undefined],
    [{ done: 1, expected: 4 }, "1 of 4 runs done", 25],
    [{ done: 9, expected: 4 }, "9 of 4 runs done", 100],
    [{ expected: 0 }, "0 of 0 runs done", 0],
    [
      { done: 1_000, refused: 2, skipped: { job_deleted: 3 }, expected: 2_010 },
      "1,000 of 2,010 runs done, 3 skipped (of deleted jobs), 2 not accepted by a queue; repeat it",
      50,
    ],
    [{ done: 3, state: "SUCCEEDED" }, "3 runs done", 100],
  ])("counts: %o", (changes, counts, share) => {
    expect(countsOf(made(changes))).toBe(counts);
    expect(shareOf(made(changes))).toBe(share);
  });
});

test("an estimate is exact or a lower bound", () => {
  expect(amountOf({ runs: 1, more: false })).toBe("1 run");
  expect(amountOf({ runs: 2_000, more: true })).toBe("at least 2,000 runs");
});

test("an estimate that ended early, or skipped runs, is not nothing", () => {
  const ended = { runs: 0, skipped: {}, more: true };
  expect([isNothing(ended), amountOf(ended), restOf(ended)]).toEqual([
    false,
    "an unknown number of runs",
    " Not all runs were counted.",
  ]);
  const skipped = { runs: 0, skipped: { job_deleted: 3, out_of_scope: 1 }, more: false };
  expect([isNothing(skipped), restOf(skipped)]).toEqual([
    true,
    " 3 skipped (of deleted jobs), 1 skipped (without your tags).",
  ]);
  const none = { runs: 0, skipped: {}, more: false };
  expect([isNothing(none), restOf(none)]).toEqual([true, ""]);
});

test("a pace is at least one run per minute", () => {
  expect([perMinute(10), perMinute(0.5), perMinute(0.001)]).toEqual([600, 30, 1]);
});
