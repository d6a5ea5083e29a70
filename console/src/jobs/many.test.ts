import { expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { forEach, resumable } from "./many";

const IDS = Array.from({ length: 20 }, (_, index) => `job-${index}`);
const wait = async () => {};

test("at most eight at a time, and every one of them", async () => {
  let running = 0;
  let most = 0;
  const done: string[] = [];
  const failures = await forEach(
    IDS,
    async (id) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      done.push(id);
    },
    { wait },
  );
  expect(failures).toEqual([]);
  expect(most).toBe(8);
  expect(done.toSorted()).toEqual(IDS.toSorted());
});

test("a permanent failure is reported per job, a temporary one is retried after the wait that the API requires", async () => {
  const waits: number[] = [];
  let busy = 1;
  const failures = await forEach(
    ["good", "bad", "busy"],
    async (id) => {
      if (id === "bad") throw new ApiProblem(409, "Conflict", "bad is in a workflow.");
      if (id === "busy" && busy > 0) {
        busy -= 1;
        throw new ApiProblem(429, "Too many requests", "", [], null, 3);
      }
    },
    {
      wait: async (seconds) => {
        waits.push(seconds);
      },
    },
  );
  expect(failures).toEqual([{ id: "bad", why: "bad is in a workflow." }]);
  expect(waits).toEqual([3]);
});

test("when the API asks one to wait, all wait", async () => {
  let resume = () => {};
  const asked: string[] = [];
  const busy = new Set(["job-1"]);
  const all = forEach(
    IDS,
    async (id) => {
      asked.push(id);
      if (busy.delete(id)) throw new ApiProblem(429, "Too many requests", "", [], null, 3);
      await Promise.resolve();
    },
    {
      wait: () =>
        new Promise((resolve) => {
          resume = resolve;
        }),
    },
  );
  await new Promise((resolve) => setTimeout(resolve));
  expect(asked).toEqual(IDS.slice(0, 8));
  resume();
  expect(await all).toEqual([]);
  expect(asked.length).toBe(IDS.length + 1);
});

test("an expired login ends it: those that have not begun are left", async () => {
  const expired = async () => {
    throw new ApiProblem(401, "Your login has expired", "");
  };
  expect(await forEach(IDS, expired, { wait, width: 1 })).toEqual([
    { id: "job-0", why: "Your login has expired" },
  ]);
});

test("what has not begun when somebody stops it is left", async () => {
  let done = 0;
  await forEach(IDS, async () => {}, {
    wait,
    width: 1,
    stopped: () => done === 5,
    progress: (count) => {
      done = count;
    },
  });
  expect(done).toBe(5);
});

test("a repeated request for several jobs continues after the pages that were answered", async () => {
  const asked: (string | undefined)[] = [];
  let lost = 1;
  const walk = resumable(async (cursor) => {
    asked.push(cursor);
    if (cursor === undefined) return { changed: 60, failed: ["job-7"], next_cursor: "b" };
    if (lost-- > 0) throw new ApiProblem(504, "Gateway timeout", "");
    return { changed: 39, failed: ["job-99"], next_cursor: null };
  });
  expect(await forEach(["job-0"], walk, { wait })).toEqual([]);
  expect(asked).toEqual([undefined, "b", "b"]);
  expect(await walk()).toEqual({ changed: 99, failed: ["job-7", "job-99"] });
});
