import { QueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { sharing } from "./sharing";

/** What a page has after each of two answers. */
function shown(first: unknown, second: unknown): [unknown, unknown] {
  const queries = new QueryClient({ defaultOptions: { queries: { structuralSharing: sharing } } });
  const after = [first, second].map((answer) => {
    queries.setQueryData(["jobs"], answer);
    return queries.getQueryData(["jobs"]);
  });
  return [after[0], after[1]];
}

it("keeps whatever jobs and fields are called", () => {
  const jobs = (state: string) => `{"jobs":{"__proto__":{"state":"${state}"},"constructor":{}}}`;
  const [, after] = shown(JSON.parse(jobs("DUE")), JSON.parse(jobs("RUNNING")));
  expect(JSON.stringify(after)).toBe(jobs("RUNNING"));
});

it("keeps the parts that say the same", () => {
  const [before, after] = shown({ items: [{ id: "a" }, { id: "b" }] }, { items: [{ id: "a" }, { id: "c" }] });
  const items = (data: unknown) => (data as { items: unknown[] }).items;
  expect(after).toEqual({ items: [{ id: "a" }, { id: "c" }] });
  expect(items(after)[0]).toBe(items(before)[0]);
});

it.each([[{ a: [1, null], b: {} }], [[]], ["text"]])("stays the same while nothing changes: %j", (answer) => {
  const [before, after] = shown(answer, structuredClone(answer));
  expect(after).toBe(before);
});

it.each([
  [{ a: undefined }, {}],
  [[1, 2], [1]],
  [{ toString: 1 }, {}],
  [{}, { toString: 1 }],
  [new Set([1]), new Set([2])],
  [{ a: 1 }, [1]],
])("tells others apart: %o and %o", (before, after) => {
  expect(shown(before, after)[1]).toEqual(after);
});
