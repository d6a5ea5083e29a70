import { expect, test } from "vitest";
import { filtersOf, queryOf } from "./filter";

test("filters are the same after they were tokens", () => {
  const filters = { prefix: "night", name: "report", tag: "crm", state: "PAUSED", owner: "sales" };
  expect(filtersOf(queryOf(filters))).toEqual(filters);
});

test("text alone is the beginning of an id, and of two the later counts", () => {
  const tokens = [
    { operator: "^", value: " first " },
    { propertyKey: "prefix", operator: "^", value: "second" },
    { propertyKey: "state", operator: "=", value: "paused" },
  ];
  expect(filtersOf({ operation: "and", tokens })).toEqual({
    prefix: "second",
    name: undefined,
    tag: undefined,
    state: "PAUSED",
    owner: undefined,
  });
});
