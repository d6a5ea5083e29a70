import { expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { criticalPath, edges, few, isSettled, rerunOf, whyOf } from "./graph";
import { layout } from "./layout";

type StepRun = Schemas["StepRun"];

const AT = Date.parse("2026-03-28T06:00:00Z");
const iso = (seconds: number) => new Date(AT + seconds * 1000).toISOString();

function step(id: string, after: string[], from: number | null = null, until: number | null = null): StepRun {
  return {
    id,
    job_id: id,
    after,
    state: "SUCCEEDED",
    reason: null,
    run: null,
    carried_over: false,
    when: "all_success",
    waits_for: [],
    has_items: false,
    is_workflow: false,
    attempts: 1,
    started_at: from === null ? null : iso(from),
    finished_at: until === null ? null : iso(until),
    code: null,
    error: null,
  };
}

const DIAMOND = [
  step("extract", [], 0, 10),
  step("orders", ["extract"], 10, 15),
  step("refunds", ["extract"], 10, 40),
  step("book", ["orders", "refunds"], 40, 41),
];

it("draws jobs from left to right, each once", () => {
  const places = layout(DIAMOND);
  const x = (id: string) => places.get(id)?.x ?? Number.NaN;
  expect(x("extract")).toBeLessThan(x("orders"));
  expect(x("orders")).toBe(x("refunds"));
  expect(x("refunds")).toBeLessThan(x("book"));
  expect(places.get("orders")?.y).not.toBe(places.get("refunds")?.y);
});

it("draws jobs whatever they are called", () => {
  const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "1"];
  const steps = names.map((id, number) => step(id, names.slice(Math.max(0, number - 1), number)));
  const places = layout(steps);
  const columns = names.map((id) => places.get(id)?.x ?? Number.NaN);
  expect(columns).toEqual(columns.toSorted((one, other) => one - other));
  expect(new Set(columns).size).toBe(names.length);
  expect(criticalPath(steps, AT)).toEqual({ ids: [], seconds: 0 });
  expect(rerunOf(steps, ["valueOf"])).toEqual(["valueOf", "1"]);
});

it("passes over a job that is no step any more", () => {
  expect(edges([step("book", ["gone"])])).toEqual([]);
});

it("runs again what comes after", () => {
  expect(rerunOf(DIAMOND, ["refunds"])).toEqual(["refunds", "book"]);
  expect(rerunOf(DIAMOND, ["refunds", "orders"])).toEqual(["orders", "refunds", "book"]);
  expect(rerunOf(DIAMOND, ["extract"])).toEqual(["extract", "orders", "refunds", "book"]);
});

it("finds the chain that took longest", () => {
  expect(criticalPath(DIAMOND, AT)).toEqual({ ids: ["extract", "refunds", "book"], seconds: 41 });
});

const rule = (when: StepRun["when"], each: StepRun): StepRun => ({ ...each, when });

it("waits for the first success only, where one is enough", () => {
  const any = [
    step("quick", [], 0, 10),
    step("slow", [], 0, 500),
    rule("any_success", step("report", ["slow", "quick"], 10, 900)),
  ];
  expect(criticalPath(any, AT)).toEqual({ ids: ["quick", "report"], seconds: 900 });
  const failed = any.map((each) => (each.id === "quick" ? { ...each, state: "DEAD" as const } : each));
  expect(criticalPath(failed, AT).ids).toEqual(["slow", "report"]);
  const given = any.map((each) => (each.id === "slow" ? { ...each, carried_over: true } : each));
  expect(criticalPath(given, AT).ids).toEqual(["report"]);
});

it("waits for the first failure only, where one is enough", () => {
  const dead = { ...step("quick", [], 0, 10), state: "DEAD" as const };
  const any = [
    dead,
    step("slow", [], 0, 500),
    rule("any_failure", step("alert", ["slow", "quick"], 10, 900)),
  ];
  expect(criticalPath(any, AT)).toEqual({ ids: ["quick", "alert"], seconds: 900 });
});

it("passes the longest chain on where a job did not start", () => {
  const any = [
    { ...step("one", [], 0, 10), state: "DEAD" as const },
    { ...step("two", [], 0, 500), state: "DEAD" as const },
    { ...rule("any_success", step("either", ["one", "two"])), state: "SKIPPED" as const },
    rule("all_done", step("clean", ["either"], 500, 501)),
  ];
  expect(criticalPath(any, AT).ids).toEqual(["two", "clean"]);
});

it("counts what still runs up to now, and nothing for what a rerun took over", () => {
  const rerun = [{ ...step("extract", [], 0, 500), carried_over: true }, step("orders", ["extract"], 600)];
  expect(criticalPath(rerun, AT + 620_000)).toEqual({ ids: ["orders"], seconds: 20 });
  expect(criticalPath([step("extract", [])], AT)).toEqual({ ids: [], seconds: 0 });
});

it("is polled until its steps have ended", () => {
  expect(isSettled({ state: "CANCELLED", jobs: [{ state: "RUNNING" }] })).toBe(false);
  expect(isSettled({ state: "CANCELLED", jobs: [{ state: "CANCELLED" }, { state: "LEFT" }] })).toBe(true);
});

it("says why a job waits or was left out", () => {
  const waits = { ...step("book", ["orders"]), state: "WAITS" as const, waits_for: ["orders"] };
  expect(whyOf(waits)).toBe("Waits for all upstream steps to succeed; not ended yet: orders");
  expect(whyOf({ ...waits, state: "SKIPPED", reason: "upstream_failed" })).toBe("an upstream step failed");
  expect(whyOf({ ...waits, state: "LEFT" })).toContain("had ended");
});

it("lists at most twenty names", () => {
  const names = Array.from({ length: 25 }, (_, number) => `s${number}`);
  expect(few(names.slice(0, 2))).toBe("s0, s1");
  expect(few(names.slice(0, 20))).toBe(names.slice(0, 20).join(", "));
  expect(few(names)).toBe(`${names.slice(0, 20).join(", ")} and 5 more`);
});
