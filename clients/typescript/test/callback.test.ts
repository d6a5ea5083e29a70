import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CallbackAttempt, Client, DoNotRetry, RetryLater } from "../src/index.js";

const HEADERS = {
  "X-Duecourse-Run-Id": "nightly.20261121T030000Z",
  "X-Duecourse-Token": "dc1.acme.1.abcdefghijklmnop",
  "X-Duecourse-Attempt": "2",
  "Idempotency-Key": "acme/nightly.20261121T030000Z",
};
const RUN = { id: "nightly.20261121T030000Z", state: "WAITING" };
const NOW = "Sat, 21 Nov 2026 03:00:00 GMT";

/** An API that notes reports, and answers heartbeats as it is set to. */
class Api {
  readonly seen: { word: string; body: unknown }[] = [];
  heartbeat: () => Response = () => beat({});
  report: () => Response = () => Response.json({ run: RUN, accepted: "complete" }, { status: 202 });
  readonly client = new Client("https://api.example", {
    retries: 0,
    fetch: async (request) => {
      const word = request.url.split("/").pop() ?? "";
      this.seen.push({ word, body: await request.json() });
      return word === "heartbeat" ? this.heartbeat() : this.report();
    },
  });

  reports(word: string): unknown[] {
    return this.seen.filter((each) => each.word === word).map(({ body }) => body);
  }
}

function beat(more: Record<string, unknown>): Response {
  const document = { state: "WAITING", cancel_requested: false, reason: null, waiting_until: null };
  return Response.json(
    { ...document, heartbeat_until: "2026-11-21T03:00:30Z", ...more },
    { headers: { Date: NOW } },
  );
}

const rejected = (status: number, type: string) => Response.json({ type: `/problems/${type}` }, { status });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("callback attempt", () => {
  test("reads the headers of an HTTP call in any case", () => {
    for (const headers of [HEADERS, new Headers(HEADERS)]) {
      expect(CallbackAttempt.fromHeaders(headers)).toMatchObject({
        runId: "nightly.20261121T030000Z",
        attempt: 2,
        idempotencyKey: "acme/nightly.20261121T030000Z",
      });
    }
  });

  test("reads an event", () => {
    const event = { run_id: "a.b", attempt: 1, idempotency_key: "k", callback: { token: "t", run: "a.b" } };
    expect(CallbackAttempt.fromEvent(event)).toMatchObject({ runId: "a.b", token: "t", attempt: 1 });
  });

  test("rejects a call of a job without callbacks, with the remedy", () => {
    for (const event of [null, "text", {}, { run_id: "a.b" }]) {
      expect(() => CallbackAttempt.fromEvent(event)).toThrow("set completion: callback on the job");
    }
  });
});

describe("callback work", () => {
  const attempt = CallbackAttempt.fromHeaders(HEADERS);

  test("reports its result", async () => {
    const api = new Api();
    expect(await attempt.perform(api.client, async () => ({ sent: 3 }))).toBe("completed");
    expect(api.reports("complete")).toEqual([{ result: { sent: 3 } }]);
  });

  test("reports null for no result", async () => {
    const api = new Api();
    await attempt.perform(api.client, () => undefined);
    expect(api.reports("complete")).toEqual([{ result: null }]);
  });

  test("reports an error with its name as code", async () => {
    const api = new Api();
    const task = async () => {
      throw new RangeError("no paper");
    };
    expect(await attempt.perform(api.client, task)).toBe("failed");
    expect(api.reports("fail")).toEqual([{ error: "RangeError: no paper", code: "RangeError" }]);
  });

  test("reports whether a retry makes sense", async () => {
    const api = new Api();
    for (const error of [new DoNotRetry("gone", "gone"), new RetryLater("busy", 90)]) {
      await attempt.perform(api.client, () => Promise.reject(error));
    }
    expect(api.reports("fail")).toEqual([
      { error: "gone", code: "gone", retryable: false },
      { error: "busy", code: "callback.failed", retryable: true, retry_after: 90 },
    ]);
  });

  test("shortens an error, and replaces characters that the API does not accept", async () => {
    const api = new Api();
    await attempt.perform(api.client, () => Promise.reject(new Error(`\0\ud800${"x".repeat(3_000)}`)));
    const [{ error }] = api.reports("fail") as [{ error: string }];
    expect(error).toHaveLength(2_000);
    expect(error.startsWith("Error: ??xxx")).toBe(true);
  });

  test("sends a heartbeat at once and after a third of the remaining time, with the newest progress", async () => {
    const api = new Api();
    await attempt.perform(api.client, async (given) => {
      await vi.advanceTimersByTimeAsync(1_000);
      given.progress(0.1, "1 of 8 files");
      given.progress(0.4, "3 of 8 files");
      await vi.advanceTimersByTimeAsync(9_500);
      await vi.advanceTimersByTimeAsync(10_000);
    });
    expect(api.reports("heartbeat")).toEqual([{}, { progress: 0.4, note: "3 of 8 files" }, {}]);
    const before = api.seen.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(api.seen).toHaveLength(before);
  });

  test("keeps progress whose heartbeat failed", async () => {
    const api = new Api();
    api.heartbeat = () => rejected(503, "busy");
    await attempt.perform(api.client, async (given) => {
      given.progress(0.5);
      await vi.advanceTimersByTimeAsync(1_500);
      api.heartbeat = () => beat({});
      await vi.advanceTimersByTimeAsync(1_000);
    });
    expect(api.reports("heartbeat").slice(-1)).toEqual([{ progress: 0.5 }]);
  });

  test("is aborted when a cancellation is requested, and still reports", async () => {
    const api = new Api();
    api.heartbeat = () => beat({ cancel_requested: true, reason: "cancelled" });
    const outcome = await attempt.perform(api.client, async ({ signal }) => {
      await vi.advanceTimersByTimeAsync(0);
      signal.throwIfAborted();
    });
    expect(outcome).toBe("failed");
    expect(api.reports("fail")).toEqual([{ error: "Error: cancelled", code: "Error" }]);
  });

  test("is aborted without a report when the attempt is over", async () => {
    const api = new Api();
    api.heartbeat = () => rejected(409, "attempt-over");
    const outcome = await attempt.perform(api.client, async ({ signal }) => {
      await vi.advanceTimersByTimeAsync(0);
      expect(signal.aborted).toBe(true);
    });
    expect(outcome).toBe("over");
    expect(api.seen.map(({ word }) => word)).toEqual(["heartbeat"]);
  });

  test("goes on after a 401 of a gateway", async () => {
    const api = new Api();
    api.heartbeat = () => Response.json({ message: "Unauthorized" }, { status: 401 });
    const outcome = await attempt.perform(api.client, async ({ signal }) => {
      await vi.advanceTimersByTimeAsync(0);
      expect(signal.aborted).toBe(false);
    });
    expect(outcome).toBe("completed");
  });

  test("is over when the report comes too late", async () => {
    const api = new Api();
    api.report = () => rejected(409, "attempt-over");
    expect(await attempt.perform(api.client, () => 1)).toBe("over");
    api.report = () => rejected(422, "invalid");
    await expect(attempt.perform(api.client, () => 1)).rejects.toThrow("422");
  });
});
