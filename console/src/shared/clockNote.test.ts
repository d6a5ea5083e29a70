import { expect, test } from "vitest";
import { clockNote } from "./clockNote";

test("daylight saving is described in words", () => {
  const moved = {
    at: "2026-03-29T01:00:00Z",
    wall: "2026-03-29T03:00:00+02:00",
    named: "2026-03-29T02:30:00",
  };
  expect(clockNote({ ...moved, mark: "moved", count: 1 }, "Europe/Berlin")).toBe(
    "The clocks in Europe/Berlin go forward: 02:30 does not exist on that day. The job runs at 03:00, the first moment after the gap.",
  );
  const wall = "2026-10-25T02:30:00+01:00";
  expect(clockNote({ at: "x", wall, mark: "repeated", named: null, count: 1 }, "UTC")).toContain(
    "02:30 occurs a second time",
  );
  expect(clockNote({ at: null, wall, mark: "dropped", named: null, count: 1 }, "UTC")).toContain("Skipped");
  expect(clockNote({ at: null, wall, mark: "dropped", named: null, count: 3 }, "UTC")).toContain(
    "3 scheduled times",
  );
  expect(clockNote({ at: "x", wall, mark: "excluded", named: null, count: 1 }, "UTC")).toContain(
    "does not run",
  );
  const named = "2026-12-31T18:00:00";
  expect(clockNote({ at: "x", wall, mark: "shifted", named, count: 1 }, "UTC")).toContain("from 2026-12-31");
  expect(clockNote({ at: "x", wall, mark: null, named: null, count: 1 }, "UTC")).toBeNull();
});
