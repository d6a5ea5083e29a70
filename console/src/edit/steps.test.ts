import { expect, it } from "vitest";
import { stepsOf } from "./steps";

it("reads the steps of a document that is not finished", () => {
  const jobs = { a: {}, b: { after: ["a", 1] }, c: null, d: { after: "a" } };
  expect(stepsOf({ jobs })).toEqual([
    { id: "a", after: [] },
    { id: "b", after: ["a"] },
    { id: "c", after: [] },
    { id: "d", after: [] },
  ]);
  expect([stepsOf({}), stepsOf({ jobs: [] })]).toEqual([[], []]);
});
