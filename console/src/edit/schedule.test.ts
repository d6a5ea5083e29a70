import { expect, test } from "vitest";
import { every, everyOf, firstOf, kindOf, once, onceOf, scheduleOf, schedulesOf } from "./schedule";

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
])("%s is shown as %s", (schedule, kind) => expect(kindOf(schedulesOf(schedule))).toBe(kind));

test("several schedules are expressions, and one of them is text", () => {
  const several = ["rate(5 minutes)", "0 11 * * 6"];
  expect(schedulesOf(several)).toEqual(several);
  expect(kindOf(several)).toBe("expression");
  expect(scheduleOf(several)).toEqual(several);
  expect(scheduleOf(["0 11 * * 6"])).toBe("0 11 * * 6");
  expect(scheduleOf([])).toBeNull();
  expect(schedulesOf([5, "0 11 * * 6"])).toEqual(["0 11 * * 6"]);
});

test("what is written stays as it is written", () => {
  expect(everyOf(every("5", "minute"))).toEqual({ count: "5", unit: "minute" });
  expect(every("1", "hour")).toBe("rate(1 hour)");
  expect(everyOf(every("", "day"))).toEqual({ count: "", unit: "day" });
  expect(onceOf(once("2026-12", ""))).toEqual({ day: "2026-12", time: "" });
  expect(firstOf("once", new Date("2026-12-31T22:00:00Z"))).toBe("at(2027-01-01T09:00:00)");
});
