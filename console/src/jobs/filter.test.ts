import { expect, test } from "vitest";
import { filtersOf, queryOf } from "./filter";

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
