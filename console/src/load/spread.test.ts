import { expect, test } from "vitest";
import { busiest, type Planned } from "./spread";

const planned = (id: string, before: number | null, after: number | null): Planned => ({
  id,
  offset_minutes: before === null ? null : 3,
  before: before === null ? null : { at: "2026-11-22T02:00:00Z", runs: before },
  after: after === null ? null : { at: "2026-11-22T02:03:00Z", runs: after },
  problem: null,
});

test("the busiest minute is that with the most runs, of jobs that can be spread", () => {
  expect(busiest([planned("a", 60, 2), planned("b", 60, 3), planned("c", null, null)])).toEqual({
    before: 60,
    after: 3,
  });
});

test("without a forecast, no minute is the busiest", () => {
  expect(busiest([planned("a", null, null)])).toBeNull();
  expect(busiest([])).toBeNull();
});
