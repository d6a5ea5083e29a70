import { expect, test } from "vitest";
import { faultsOf, linesOf, syntaxLine } from "./lines";

const TEXT = `{
  "id": "a, {b}: \\"c\\"",
  "retry": {
    "max_attempts": 3
  },
  "tags": ["x",
    "y"],
  "jobs": {"load": {
    "after": ["extract"]
  }}
}`;

test("values have their lines", () => {
  expect(Object.fromEntries(linesOf(TEXT))).toEqual({
    "": 1,
    id: 2,
    retry: 3,
    "retry/max_attempts": 4,
    tags: 6,
    "tags/0": 6,
    "tags/1": 7,
    jobs: 8,
    "jobs/load": 8,
    "jobs/load/after": 9,
    "jobs/load/after/0": 9,
  });
});

test("errors are at the line of their field, or of what contains it", () => {
  const errors = [
    { field: "jobs/load/after/0", message: "is no step" },
    { field: "retry/min_seconds", message: "is missing" },
    { field: "owner", message: "is missing" },
  ];
  expect([...faultsOf(TEXT, errors)]).toEqual([
    [9, ["jobs/load/after/0: is no step"]],
    [3, ["retry/min_seconds: is missing"]],
    [1, ["owner: is missing"]],
  ]);
});

test("a syntax error is at its line", () => {
  expect(syntaxLine('{\n"a": }')).toBe(2);
  expect(syntaxLine('{"a": 1\n\n"b": 2}')).toBe(3);
  expect(syntaxLine("{}")).toBeNull();
});
