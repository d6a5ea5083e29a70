import { describe, expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { inWords, occurrences, recent } from "./occurrences";
import { dayOf, layout, moved, windowOf } from "./timeline";

const NOW = Date.parse("2026-03-28T12:00:00Z");
const BERLIN = "Europe/Berlin";

function run(at: string, more: Partial<Schemas["Run"]> = {}): Schemas["Run"] {
  const instant = at.replace(/[-:]/g, "");
  return {
    id: `j.${instant}`,
    job_id: "j",
    state: "SUCCEEDED",
    occurrence: at,
    due: at,
    count: 1,
    reason: null,
    error: null,
    requested_by: null,
    lateness_seconds: 0,
    started_at: null,
    finished_at: null,
    ...more,
  } as Schemas["Run"];
}

function kinds(runs: Schemas["Run"][], expected: string[]) {
  return occurrences(runs, expected, { now: NOW, grace: 60 }).map(
    (each) => `${each.at.slice(5, 13)} ${each.kind}`,
  );
}

describe("records and schedule together", () => {
  it("tells what ran, was late, failed, was skipped, and is to come", () => {
    const hour = (at: number) => `2026-03-28T${String(at).padStart(2, "0")}:00:00Z`;
    expect(
      kinds(
        [
          run(hour(8)),
          run(hour(9), { lateness_seconds: 90 }),
          run(hour(10), { state: "DEAD" }),
          run(hour(13), { state: "SKIPPED", reason: "skipped_on_request" }),
        ],
        [8, 9, 10, 11, 13, 14].map(hour),
      ),
    ).toEqual([
      "03-28T08 ran",
      "03-28T09 late",
      "03-28T10 failed",
      "03-28T11 without a record",
      "03-28T13 skipped",
      "03-28T14 upcoming",
    ]);
  });

  it("counts the occurrences that one record stands for", () => {
    const days = ["2026-03-24T00:00:00Z", "2026-03-25T00:00:00Z", "2026-03-26T00:00:00Z"];
    const paused = run("2026-03-24T00:00:00Z", { state: "SKIPPED", reason: "paused", count: 2 });
    expect(kinds([paused], days)).toEqual([
      "03-24T00 skipped",
      "03-25T00 skipped",
      "03-26T00 without a record",
    ]);
  });

  it("does not take a run that was asked for as the schedule's", () => {
    const asked = run("2026-03-28T09:00:00Z", { id: "j.20260328T090000Z.mabc" });
    expect(kinds([asked], ["2026-03-28T09:00:00Z"])).toEqual(["03-28T09 ran", "03-28T09 without a record"]);
  });
});

describe("the window", () => {
  it("has whole days of the zone, the last of them to come unless another one is asked for", () => {
    expect(windowOf("day", undefined, NOW, BERLIN)).toEqual({
      from: "2026-03-27T23:00:00Z",
      to: "2026-03-28T23:00:00Z",
      firstDay: "2026-03-28",
      lastDay: "2026-03-28",
    });
    const week = windowOf("week", undefined, NOW, BERLIN);
    expect([week.firstDay, week.lastDay, week.to]).toEqual([
      "2026-03-23",
      "2026-03-29",
      "2026-03-29T22:00:00Z", // the clocks went forward
    ]);
    expect(windowOf("month", "2026-03-20", NOW, "UTC").from).toBe("2026-02-21T00:00:00Z");
    expect(windowOf("day", "2026-02-31", NOW, "UTC").lastDay).toBe("2026-03-28");
    expect(windowOf("day", "nonsense", NOW, "UTC").lastDay).toBe("2026-03-28");
  });

  it("moves by as many days as it shows", () => {
    const week = windowOf("week", "2026-03-20", NOW, BERLIN);
    expect([moved(week, "week", -1), moved(week, "week", 1)]).toEqual(["2026-03-13", "2026-03-27"]);
    expect(dayOf("2026-03-27T23:30:00Z", BERLIN)).toBe("2026-03-28");
  });
});

describe("the last occurrences", () => {
  it("are those that are not to come, with their lateness and duration", () => {
    const times = { attempt_started_at: "2026-03-28T09:00:02Z", finished_at: "2026-03-28T09:00:05Z" };
    const all = occurrences(
      [
        run("2026-03-28T08:00:00Z", { state: "SKIPPED", lateness_seconds: null }),
        run("2026-03-28T09:00:00Z", { ...times, lateness_seconds: 2 }),
        run("2026-03-28T13:00:00Z", { state: "QUEUED" }),
      ],
      ["2026-03-28T14:00:00Z"],
      { now: NOW, grace: 60 },
    );
    expect(recent(all, 60).map(({ kind, lateness, took }) => [kind, lateness, took])).toEqual([
      ["skipped", null, null],
      ["ran", 2, 3],
    ]);
    const [last] = recent(all, 1);
    expect(last && inWords(last, "UTC")).toBe("2026-03-28 09:00:00 UTC: ran, 2 s after it was due; took 3 s");
  });
});

describe("the layout", () => {
  const ran = (at: string) => ({
    at,
    kind: "ran" as const,
    text: "",
    run: "r",
    lateness: null,
    took: null,
    count: 1,
  });

  it("has a row for each day of the zone and puts marks where its clock stands", () => {
    const window = { from: "2026-03-27T23:00:00Z", to: "2026-03-29T22:00:00Z" };
    const drawn = layout([ran("2026-03-28T11:00:00Z"), ran("2026-03-29T10:00:00Z")], window, "week", BERLIN);
    expect(drawn.rows).toEqual(["2026-03-28", "2026-03-29"]);
    expect(drawn.marks.map(({ row, place }) => [row, place])).toEqual([
      [0, 0.5],
      [1, 0.5],
    ]);
  });

  it("leaves out the hour that the clock skips", () => {
    const window = { from: "2026-03-29T00:00:00Z", to: "2026-03-29T03:00:00Z" };
    expect(layout([], window, "day", BERLIN).rows).toEqual([
      "2026-03-29 01:00",
      "2026-03-29 03:00",
      "2026-03-29 04:00",
    ]);
  });

  it("shows what has happened before what is to come in one place", () => {
    const window = { from: "2026-03-28T00:00:00Z", to: "2026-03-29T00:00:00Z" };
    const coming = { ...ran("2026-03-28T10:01:00Z"), kind: "upcoming" as const, run: null };
    expect(layout([ran("2026-03-28T10:00:00Z"), coming], window, "week", "UTC").marks[0]?.kind).toBe("ran");
  });

  it("makes one mark of what falls into one place, with the worst first", () => {
    const window = { from: "2026-03-28T00:00:00Z", to: "2026-03-29T00:00:00Z" };
    const failed = {
      at: "2026-03-28T10:05:00Z",
      kind: "failed" as const,
      text: "busy",
      run: "f",
      lateness: null,
      took: null,
      count: 1,
    };
    const [mark, ...more] = layout([ran("2026-03-28T10:00:00Z"), failed], window, "week", "UTC").marks;
    expect(more).toEqual([]);
    expect(mark).toMatchObject({ kind: "failed", count: 2, first: failed });
    const wide = layout(
      [ran("2026-03-28T10:00:00Z"), ran("2026-03-28T10:40:00Z")],
      window,
      "week",
      "UTC",
      100,
    );
    const narrow = layout(
      [ran("2026-03-28T10:00:00Z"), ran("2026-03-28T10:40:00Z")],
      window,
      "week",
      "UTC",
      30,
    );
    expect([wide.marks.length, narrow.marks.length]).toEqual([2, 1]);
    expect(mark?.text).toBe("2 occurrences around 2026-03-28 10:05:00 UTC: 1 failed, 1 ran");
  });
});
