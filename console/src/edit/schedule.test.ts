import { expect, test } from "vitest";
import { dstNote, every, everyOf, firstOf, kindOf, once, onceOf } from "./schedule";

test.each([
  ["0 3 * * *", "expression"],
  ["@daily", "expression"],
  ["2026-12-31T09:00:00Z", "expression"],
  ["rate(5 fortnights)", "expression"],
  ["", "expression"],
  ["rate(5 minutes)", "every"],
  ["rate( minutes)", "every"],
  ["at(2026-12-31T09:00:00)", "once"],
  ["at(T)", "once"],
  [null, "request"],
])("%s is shown as %s", (schedule, kind) => expect(kindOf(schedule)).toBe(kind));

test("what is written stays as it is written", () => {
  expect(everyOf(every("5", "minute"))).toEqual({ count: "5", unit: "minute" });
  expect(every("1", "hour")).toBe("rate(1 hour)");
  expect(everyOf(every("", "day"))).toEqual({ count: "", unit: "day" });
  expect(onceOf(once("2026-12", ""))).toEqual({ day: "2026-12", time: "" });
  expect(firstOf("once", new Date("2026-12-31T22:00:00Z"))).toBe("at(2027-01-01T09:00:00)");
});

test("daylight saving is told in words", () => {
  const moved = {
    at: "2026-03-29T01:00:00Z",
    wall: "2026-03-29T03:00:00+02:00",
    named: "2026-03-29T02:30:00",
  };
  expect(dstNote({ ...moved, mark: "moved", count: 1 }, "Europe/Berlin")).toBe(
    "The clocks of Europe/Berlin go forward: 02:30 does not exist on that day. It runs at 03:00, the first moment after the gap.",
  );
  const wall = "2026-10-25T02:30:00+01:00";
  expect(dstNote({ at: "x", wall, mark: "repeated", named: null, count: 1 }, "UTC")).toContain(
    "02:30 a second time",
  );
  expect(dstNote({ at: null, wall, mark: "dropped", named: null, count: 1 }, "UTC")).toContain("Left out");
  expect(dstNote({ at: "x", wall, mark: null, named: null, count: 1 }, "UTC")).toBeNull();
});
