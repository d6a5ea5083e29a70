import { describe, expect, test } from "vitest";
import type { Run } from "../runs/columns";
import { groupsOf, patternOf, sparkOf } from "./groups";

describe("the pattern of an error", () => {
  test.each([
    ["no such account: 4711", "no such account: …"],
    ["timeout after 30.5 s", "timeout after … s"],
    ["run nightly.20260328T120000Z at 2026-03-28T12:00:00.123Z", "run nightly.…T…Z at …"],
    ["request 0a1b2c3d-1111-2222-3333-444455556666 failed", "request … failed"],
    ["commit deadbeef42 of 10.0.0.1:8080", "commit … of …"],
    ["the feedback of a facade", "the feedback of a facade"],
    ["http 503\n  busy", "http 503 busy"],
  ])("%s", (error, pattern) => expect(patternOf(error)).toBe(pattern));

  test("is said where there is no error", () => {
    expect(patternOf(null)).toBe("(no error was recorded)");
    expect(patternOf(" ")).toBe("(no error was recorded)");
  });

  test("of a very long error is short, and no letter is cut in two", () => {
    expect(patternOf("😀".repeat(10_000))).toBe(`${"😀".repeat(160)}…`);
  });
});

test("groups are the largest first, with their jobs and times", () => {
  const run = (job_id: string, error: string, finished_at: string) => ({ job_id, error, finished_at }) as Run;
  const groups = groupsOf([
    run("b", "disk 1 is full", "2026-03-28T12:00:00Z"),
    run("a", "busy", "2026-03-28T13:00:00Z"),
    run("a", "disk 2 is full", "2026-03-28T11:00:00Z"),
  ]);
  expect(groups.map(({ runs, times: _, code: __, ...rest }) => ({ ...rest, count: runs.length }))).toEqual([
    {
      pattern: "disk … is full",
      count: 2,
      jobs: ["a", "b"],
      first: "2026-03-28T11:00:00Z",
      last: "2026-03-28T12:00:00Z",
    },
    { pattern: "busy", count: 1, jobs: ["a"], first: "2026-03-28T13:00:00Z", last: "2026-03-28T13:00:00Z" },
  ]);
});

test("a spark counts the times of each part of a span", () => {
  const at = (hour: number) => new Date(hour * 3_600_000).toISOString();
  const counts = sparkOf([at(0), at(1), at(1), at(15), at(16)], 0, 16 * 3_600_000);
  expect([counts.length, counts[0], counts[1], counts.at(-1)]).toEqual([16, 1, 2, 2]);
});
