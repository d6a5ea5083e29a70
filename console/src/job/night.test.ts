import { expect, it } from "vitest";
import { lastNight, worst } from "./night";
import type { Occurrence } from "./occurrences";

it("begins yesterday evening and ends this morning, on the zone's clock", () => {
  expect(lastNight(Date.parse("2026-03-29T12:00:00Z"), "Europe/Berlin")).toEqual({
    from: "2026-03-28T17:00:00Z",
    to: "2026-03-29T06:00:00Z",
  });
});

it("ends now, before the morning", () => {
  expect(lastNight(Date.parse("2026-03-29T01:30:00Z"), "UTC").to).toBe("2026-03-29T01:30:00.000Z");
});

it("asks about the worst occurrence first", () => {
  const one = (at: string, kind: Occurrence["kind"]): Occurrence => ({
    at,
    kind,
    text: "",
    run: null,
    lateness: null,
    took: null,
  });
  expect(worst([one("1", "ran"), one("2", "failed"), one("3", "failed")])?.at).toBe("2");
  expect(worst([])).toBeUndefined();
});
