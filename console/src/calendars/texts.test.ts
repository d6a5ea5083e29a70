import { expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { entriesOf, faultOf } from "./texts";

const problem = (...fields: [string, string][]) =>
  new ApiProblem(
    422,
    "Invalid",
    "",
    fields.map(([field, message]) => ({ field, message })),
  );

test("the days of a text are its lines", () => {
  expect(entriesOf("2026-12-24\n\n  * * * * SAT,SUN \r\n")).toEqual(["2026-12-24", "* * * * SAT,SUN"]);
  expect(entriesOf(" \n")).toEqual([]);
});

test("a fault names the day", () => {
  expect(faultOf(problem(["exclude/1", "is not a date"]), ["2026-12-24", "noon"])).toBe(
    "noon: is not a date",
  );
  expect(faultOf(problem(["exclude", "takes too much"]), ["2026-12-24"])).toBe("takes too much");
  expect(faultOf(problem(["calendar_id", "is too long"]), [])).toBeUndefined();
  expect(faultOf(problem(), [])).toBeUndefined();
});
