import { expect, test } from "vitest";
import { failedJobs } from "./failed";

const run = (job_id: string, hour: string) => ({
  id: `${job_id}.${hour}`,
  job_id,
  finished_at: `2026-03-28T${hour}:00:00Z`,
  error: `broken at ${hour}`,
});

test("jobs with dead runs are named, the latest death first, with the latest error", () => {
  const runs = [run("a", "08"), run("b", "10"), run("a", "11")];
  expect(failedJobs(runs)).toEqual([
    { id: "a", runs: 2, latest: "a.11", last: "2026-03-28T11:00:00Z", error: "broken at 11" },
    { id: "b", runs: 1, latest: "b.10", last: "2026-03-28T10:00:00Z", error: "broken at 10" },
  ]);
});

test("without dead runs no job failed", () => {
  expect(failedJobs([])).toEqual([]);
});
