import { expect, it } from "vitest";
import { fromWall } from "./wall";

it("reads the clock of a zone", () => {
  expect(fromWall("2026-01-15 09:30", "Europe/Berlin")).toBe("2026-01-15T08:30:00Z");
  expect(fromWall("2026-07-15T09:30:05", "America/New_York")).toBe("2026-07-15T13:30:05Z");
  expect(fromWall("2026-07-15", "Asia/Kolkata")).toBe("2026-07-14T18:30:00Z");
});

it("knows both sides of a change of the clocks", () => {
  expect(fromWall("2026-03-29 01:59", "Europe/Berlin")).toBe("2026-03-29T00:59:00Z");
  expect(fromWall("2026-03-29 03:00", "Europe/Berlin")).toBe("2026-03-29T01:00:00Z");
  expect(fromWall("2026-03-29 02:30", "Europe/Berlin")).toBeNull();
  expect(fromWall("2026-10-25 02:30", "Europe/Berlin")).toBe("2026-10-25T00:30:00Z");
});

it("takes nothing else", () => {
  expect(fromWall("tomorrow", "UTC")).toBeNull();
  expect(fromWall("2026-13-45 10:00", "UTC")).toBeNull();
});
