import { expect, test } from "vitest";
import { failedJobs } from "./failed";

const run = (job_id: string, hour: string, state: "DEAD" | "RETRYING" = "DEAD") => ({
  id: `${job_id}.${hour}`,
  job_id,
  state,
  finished_at: `2026-03-28T${hour}:00:00Z`,
  error: `broken at ${hour}`,
});

test("jobs with dead runs are named, the latest death first, with the latest error", () => {
  const runs = [run("a", "08"), run("b", "10"), run("a", "11"), run("c", "12", "RETRYING")];
  expect(failedJobs(runs)).toEqual([
    { id: "a", runs: ["a.11", "a.08"], last: "2026-03-28T11:00:00Z", error: "broken at 11" },
    { id: "b", runs: ["b.10"], last: "2026-03-28T10:00:00Z", error: "broken at 10" },
  ]);
});

test("without dead runs no job failed", () => {
  expect(failedJobs([run("c", "12", "RETRYING")])).toEqual([]);
});
