import { describe, expect, it } from "vitest";
import { duration, elapsed, HERE, inZone, marked, relative, wall, zoned } from "./time";

describe("time", () => {
  it("shows the wall clock of a zone, on both sides of a change", () => {
    expect(wall("2026-03-29T00:59:59Z", "Europe/Berlin")).toBe("2026-03-29 01:59:59");
    expect(wall("2026-03-29T01:00:00Z", "Europe/Berlin")).toBe("2026-03-29 03:00:00");
    expect(inZone("2026-07-01T12:00:00Z", "America/New_York")).toBe("2026-07-01 08:00:00 America/New_York");
  });

  it("shows a zone that the browser does not know as UTC, and what is no instant as it is", () => {
    expect(wall("2026-07-01T12:00:00Z", "Mars/Olympus")).toBe("2026-07-01 12:00:00 UTC");
    expect(wall("soon", "UTC")).toBe("soon");
  });

  it("shows the instants of a sentence on a zone's clock", () => {
    expect(zoned("Paused since 2026-07-01T12:00:00Z by anna.", "America/New_York")).toBe(
      "Paused since 2026-07-01 08:00:00 America/New_York by anna.",
    );
  });

  it.each([
    [0, "0 s"],
    [0.0001, "1 ms"],
    [0.012, "12 ms"],
    [0.44, "0.4 s"],
    [59, "59 s"],
    [60, "1 min"],
    [3_661, "1 h 1 min"],
    [86_400, "1 d"],
    [90_061, "1 d 1 h"],
    [-5, "-5 s"],
  ])("says %d seconds as %s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it("says how far an instant is away by its largest unit", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(relative("2026-01-01T00:00:00.5Z", now)).toBe("now");
    expect(relative("2026-01-01T00:05:59Z", now)).toBe("in 5 min");
    expect(relative("2025-12-31T21:00:00Z", now)).toBe("3 h ago");
  });

  it("counts what is under way up to now", () => {
    const now = Date.parse("2026-01-01T00:00:10Z");
    expect(elapsed("2026-01-01T00:00:00Z", null, now)).toBe(10);
    expect(elapsed("2026-01-01T00:00:00Z", "2026-01-01T00:00:04Z", now)).toBe(4);
    expect(elapsed(null, null, now)).toBeNull();
  });
});

it("shows, in a list of several zones, a time with its zone, unless it is the viewer's", () => {
  expect(marked("2026-03-29T06:00:30Z", "America/New_York")).toMatch(/^2026-03-29 02:00 (EDT|GMT-4)$/);
  expect(marked("2026-03-29T06:00:00Z", HERE)).toMatch(/^2026-03-29 \d\d:\d\d$/);
});
