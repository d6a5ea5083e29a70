import { expect, test } from "vitest";
import type { Run } from "./columns";
import { type AllRunsPage, START, search } from "./searching";

const run = (job: string, hour: number) =>
  ({
    id: `${job}.20261121T0${hour}0000Z`,
    job_id: job,
    occurrence: `2026-11-21T0${hour}:00:00Z`,
  }) as Run;
const at = (hour: number | null) => (hour === null ? null : `2026-11-21T0${hour}:30:00Z`);

/** A list in two slices of two groups of jobs each; the cursor of a page is its number. */
const pages: AllRunsPage[] = [
  { items: [run("a", 5), run("a", 4)], next_cursor: "1", searched: { complete_from: null, jobs: 40 } },
  { items: [run("b", 6), run("b", 5)], next_cursor: "2", searched: { complete_from: at(3), jobs: 0 } },
  { items: [run("a", 1)], next_cursor: "3", searched: { complete_from: at(3), jobs: 40 } },
  { items: [run("b", 2)], next_cursor: null, searched: { complete_from: null, jobs: 0 } },
];
const read = async (cursor: string | undefined) => pages[Number(cursor ?? 0)] as AllRunsPage;

test("a search shows runs in their order, as many as are wanted, and continues where it ended", async () => {
  const told: unknown[] = [];
  const first = await search(START, 3, read, (searched) => told.push(searched));
  expect(first.runs).toEqual([run("b", 6), run("a", 5), run("b", 5)]);
  expect([first.requests, told]).toEqual([2, [pages[0]?.searched, pages[1]?.searched]]);
  const second = await search(first.rest ?? START, 1, read, () => {});
  expect([second.runs, second.requests]).toEqual([[run("a", 4)], 0]);
  const third = await search(second.rest ?? START, 1, read, () => {});
  expect([third.runs, third.requests]).toEqual([[run("b", 2)], 2]);
  expect(await search(third.rest ?? START, 5, read, () => {})).toEqual({
    runs: [run("a", 1)],
    rest: null,
    requests: 0,
  });
});
