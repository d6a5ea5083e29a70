import { expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { counted, matching } from "./workers";

const worker = (name: string, more: Partial<Schemas["Worker"]> = {}): Schemas["Worker"] => ({
  name,
  status: "seen",
  seen_at: "2026-11-21T12:00:00.000Z",
  run_id: "reindex.20261121T120000Z",
  job_id: "reindex",
  attempt: 1,
  run_state: "SUCCEEDED",
  ...more,
});

it.each([
  ["", ["host-7", "HOST-8"]],
  ["host-8", ["HOST-8"]],
  [" silent ", ["HOST-8"]],
  ["reind", ["host-7"]],
  ["nothing", []],
])("finds workers by name, job or status: %s", (text, names) => {
  const all = [worker("host-7"), worker("HOST-8", { status: "silent", job_id: "mail" })];
  expect(matching(all, text).map(({ name }) => name)).toEqual(names);
});

it("counts in words", () => {
  expect([counted(0), counted(1), counted(300)]).toEqual(["0 matches", "1 match", "300 matches"]);
});
