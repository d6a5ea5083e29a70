import { expect, test } from "vitest";
import { loadOf } from "./load";

const page = (buckets: { at: string; runs: number; jobs: { id: string; runs: number }[] }[]) => ({
  from: "2026-03-28T12:00:00Z",
  to: "2026-03-28T13:00:00Z",
  buckets,
  jobs: 100,
  paused: 3,
  late: 2,
  late_jobs: ["l", "m"],
  uncounted: 1,
  uncounted_jobs: ["u"],
});
const delayed = (id: string) => ({ id, job_id: "remind", due: "2026-03-28T12:05:00Z" });
const at = (minute: string, runs: number, id: string) => ({
  at: `2026-03-28T12:${minute}:00Z`,
  runs,
  jobs: [{ id, runs }],
});

test("every ten minutes have a bar, and the pages are added up", () => {
  const load = loadOf([page([at("05", 2, "a"), at("31", 1, "a")]), page([at("05", 3, "b")])]);
  expect(load.bars.map((bar) => bar.runs)).toEqual([5, 0, 0, 1, 0, 0]);
  expect([load.runs, load.delayed, load.jobs, load.paused]).toEqual([6, 0, 200, 6]);
  expect(load.late).toEqual({ count: 4, ids: ["l", "m", "l", "m"] });
  expect(load.silent).toEqual({ count: 2, ids: ["u", "u"] });
});

test("the fullest minutes are marked, with the jobs that have the most runs in them first", () => {
  const load = loadOf([page([at("05", 2, "a"), at("31", 1, "a")]), page([at("05", 3, "b")])]);
  expect(load.bars.map((bar) => bar.hot)).toEqual([true, false, false, false, false, false]);
  expect(load.hot.map((minute) => [minute.runs, minute.jobs.map((job) => job.id)])).toEqual([
    [5, ["b", "a"]],
  ]);
});

test("where there is little room a bar stands for more", () => {
  const load = loadOf([page([at("05", 2, "a"), at("31", 1, "a")])], 30);
  expect(load.bars.map((bar) => bar.runs)).toEqual([2, 1]);
});

test("the delayed runs of all pages are counted", () => {
  const pages = [["remind.1"], ["remind.2", "remind.3"]].map((ids) => ({
    ...page([at("05", ids.length, "remind")]),
    delayed_runs: ids.map(delayed),
  }));
  expect(loadOf(pages)).toMatchObject({ runs: 3, delayed: 3 });
});

test("without pages there is nothing", () => {
  expect(loadOf([])).toMatchObject({ bars: [], hot: [], runs: 0, jobs: 0, paused: 0 });
});

test("an API of the release before tells of no late jobs", () => {
  const { late: _, late_jobs: __, paused: ___, uncounted_jobs: ____, ...before } = page([]);
  expect(loadOf([before])).toMatchObject({
    paused: 0,
    late: { count: 0, ids: [] },
    silent: { count: 1, ids: [] },
  });
});
