import { describe, expect, test } from "vitest";
import {
  cancellationOf,
  changesOf,
  changesOfRange,
  listOf,
  omittedOf,
  pickedOf,
  queryOf,
  rangeOf,
  saidOf,
  statesOf,
} from "./filters";

const NOW = Date.parse("2026-03-28T12:00:00Z");

describe("filters of runs", () => {
  test("tokens say what the address says", () => {
    const filters = { state: "DEAD,SKIPPED", job: "nightly", tag: "crm", error: "busy" };
    expect(changesOf(queryOf(filters))).toEqual(filters);
    expect(queryOf({}).tokens).toEqual([]);
  });

  test("discarded runs are selected alone", () => {
    const query = (value: string[]) => ({
      operation: "and" as const,
      tokens: [{ propertyKey: "state", operator: "=", value }],
    });
    expect(changesOf(query(["DEAD", "DISCARDED"])).state).toBe("DISCARDED");
    expect(statesOf({ state: "DISCARDED" })).toEqual({ discarded: "true" });
    expect(statesOf({ state: "DEAD,SKIPPED" })).toEqual({ state: "DEAD,SKIPPED" });
  });

  test("text without a property is searched for in the error", () => {
    expect(changesOf({ operation: "and", tokens: [{ operator: ":", value: "no space" }] }).error).toBe(
      "no space",
    );
  });

  test("a relative range is of the moment in which it is asked for", () => {
    expect(rangeOf({ within: "24-hour" }, NOW)).toEqual({ since: "2026-03-27T12:00:00Z" });
    expect(pickedOf({ within: "24-hour" }, NOW)).toMatchObject({ type: "relative", key: "24-hour" });
    expect(rangeOf({ within: "ever" }, NOW)).toEqual({ since: undefined, until: undefined });
  });

  test("a picked range is kept as instants in UTC", () => {
    const picked = {
      type: "absolute",
      startDate: "2026-03-28T00:00:00+01:00",
      endDate: "2026-03-29T23:59:59+02:00",
    } as const;
    const changes = { within: undefined, since: "2026-03-27T23:00:00Z", until: "2026-03-29T21:59:59Z" };
    expect(changesOfRange(picked)).toEqual(changes);
    expect(pickedOf({ since: "2026-03-27T23:00:00Z" }, NOW)).toMatchObject({
      endDate: "2026-03-28T12:00:00Z",
    });
    expect(changesOfRange(null)).toEqual({ within: undefined, since: undefined, until: undefined });
  });

  test("all runs of a job are listed unless something is searched for", () => {
    expect(listOf({ state: "DEAD,SUCCEEDED", tag: "billing" })).toBe("across jobs");
    expect(listOf({})).toBe("across jobs");
    expect(listOf({ job: "nightly", state: "RUNNING" })).toBe("of a job");
    expect(listOf({ job: "nightly", error: "busy" })).toBe("found in a job");
  });

  test("lists across jobs name the runs that they omit", () => {
    const calls = "calls of less than ten seconds";
    const rest = `Listed only on the page of a job: enqueued occurrences, ${calls}.`;
    expect(saidOf({ state: "QUEUED,RUNNING" })).toBe(
      `Runs in the selected states, most recent state change first. Delayed runs follow, the next one first. ${rest}`,
    );
    expect(saidOf({})).toBe(
      `All runs, most recent state change first. Delayed runs are listed if you select the state QUEUED. ${rest}`,
    );
    expect(saidOf({ error: "busy", state: "DEAD" })).toBe(
      "Runs in the selected states, most recent state change first.",
    );
    expect(omittedOf({ state: "QUEUED", job: "nightly" })).toEqual([]);
  });

  test("only lists of unfinished runs can be cancelled as a whole", () => {
    const waiting = { state: "WAITING,QUEUED", tag: "crm", within: "1-hour" };
    expect(cancellationOf(waiting, NOW)).toEqual({
      kind: "cancel",
      state: ["QUEUED", "WAITING"],
      tag: "crm",
      since: "2026-03-28T11:00:00Z",
    });
    expect(cancellationOf({ state: "QUEUED", job: "nightly" }, NOW)).toMatchObject({ job_id: "nightly" });
    expect(cancellationOf({}, NOW)).toBeUndefined();
    expect(cancellationOf({ state: "QUEUED,DEAD" }, NOW)).toBeUndefined();
    expect(cancellationOf({ state: "QUEUED", worker: "host-7" }, NOW)).toBeUndefined();
    expect(cancellationOf({ state: "QUEUED", job: "nightly", within: "1-hour" }, NOW)).toBeUndefined();
  });

  test("successes that the stage does not list across jobs are named", () => {
    expect(omittedOf({}, ["SUCCEEDED"])).toContain("successful runs (setting of the stage)");
    expect(omittedOf({ job: "nightly" }, ["SUCCEEDED"])).toEqual([]);
    expect(saidOf({}, ["SUCCEEDED"])).toContain("successful runs");
    expect(saidOf({ state: "DEAD" }, ["SUCCEEDED"])).not.toContain("successful runs");
  });
});
