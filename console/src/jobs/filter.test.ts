import { describe, expect, it, test } from "vitest";
import { filtersOf, isShown, queryOf } from "./filter";

test("filters are the same after they were tokens", () => {
  const filters = { prefix: "night", tag: "crm", state: "PAUSED", owner: "sales" };
  expect(filtersOf(queryOf(filters))).toEqual(filters);
});

test("text alone is a tag, and of two filters the later counts", () => {
  const tokens = [
    { operator: "^", value: " first " },
    { propertyKey: "prefix", operator: "^", value: "one" },
    { propertyKey: "prefix", operator: "^", value: "second" },
    { propertyKey: "state", operator: "=", value: "paused" },
  ];
  expect(filtersOf({ operation: "and", tokens })).toEqual({
    prefix: "second",
    tag: "first",
    state: "PAUSED",
    owner: undefined,
  });
});

describe("the shown jobs", () => {
  const job = (workflow: string | null, ...states: string[]) => ({
    workflow,
    last_runs: states.map((state) => ({
      id: state,
      occurrence: "2026-03-28T12:00:00Z",
      state: state as "DEAD",
    })),
  });

  it("are no steps, unless these are chosen", () => {
    expect([
      isShown(job(null), {}),
      isShown(job("close"), {}),
      isShown(job("close"), { steps: "yes" }),
    ]).toEqual([true, false, true]);
  });

  it("are only those whose last attempt failed, if these are chosen", () => {
    const failing = [
      job(null, "QUEUED", "DEAD", "SUCCEEDED"),
      job(null, "RETRYING"),
      job(null, "RUNNING", "SUCCEEDED", "DEAD"),
      job(null),
    ];
    expect(failing.map((each) => isShown(each, { failing: "yes" }))).toEqual([true, true, false, false]);
  });
});
