import { expect, test } from "vitest";
import { instantOf } from "./wallInput";

test.each([
  ["2026-03-28 02:00", "Europe/Berlin", "2026-03-28T01:00:00Z"],
  ["2026-07-01 02:00:15", "Europe/Berlin", "2026-07-01T00:00:15Z"],
  ["2026-07-15", "Asia/Kolkata", "2026-07-14T18:30:00Z"],
  ["2026-03-28T12:00", "UTC", "2026-03-28T12:00:00Z"],
  ["2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"], // shown twice
  ["2026-03-29 02:30", "Europe/Berlin", "2026-03-29T01:30:00Z"], // never shown
])("%s in %s is %s", (text, zone, instant) => {
  expect(instantOf(text, zone)).toBe(instant);
});

test.each(["", "yesterday", "2026-13-01 00:00", "02:00"])("%j is no time", (text) => {
  expect(instantOf(text, "UTC")).toBeNull();
});
