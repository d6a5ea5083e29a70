import { expect, it } from "vitest";
import nights from "../../../tests/fixtures/nights.json";
import { lastNight, worst } from "./night";
import type { Occurrence } from "./occurrences";

// The terminal passes the same cases (tests/unit/cli/test_next.py).
it.each(nights)("is the night that ended last, or the one in progress: $now", ({ zone, now, from, to }) => {
  const night = lastNight(Date.parse(now), zone);
  expect([night.from, night.to].map(Date.parse)).toEqual([from, to].map(Date.parse));
});

it("asks about the worst occurrence first", () => {
  const one = (at: string, kind: Occurrence["kind"]): Occurrence => ({
    at,
    kind,
    text: "",
    run: null,
    lateness: null,
    took: null,
    count: 1,
  });
  expect(worst([one("1", "ran"), one("2", "failed"), one("3", "failed")])?.at).toBe("2");
  expect(worst([])).toBeUndefined();
});
