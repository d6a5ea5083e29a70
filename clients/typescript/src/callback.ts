/** For targets of jobs with `completion: callback`: heartbeats, progress and the report of an attempt's end. */

import type { Client } from "./client.js";
import { ApiError, isObject } from "./errors.js";
import { type GivenHeaders, headerOf } from "./webhooks.js";

const SHORTEST_BEAT_SECONDS = 1;
/** A job without a heartbeat timeout also gets one a minute, by which its program learns that the run is over. */
const LONGEST_BEAT_SECONDS = 60;
const ERROR_CHARACTERS = 2_000;
/** Characters that the API accepts in no text: NUL, lone surrogates and two that XML forbids. */
const NO_CHARACTERS = /\p{Surrogate}|\0|[\ufffe\uffff]/gu;

/** Thrown by a task that failed and must not be retried. `code` is the error code for the job's retry rules. */
export class DoNotRetry extends Error {
  override readonly name = "DoNotRetry";
  constructor(
    message: string,
    readonly code?: string | undefined,
  ) {
    super(message);
  }
}

/** Thrown by a task that failed and can be retried, at the earliest `after` seconds from now. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  constructor(
    message: string,
    readonly after?: number | undefined,
    readonly code?: string | undefined,
  ) {
    super(message);
  }
}

/** The methods that a task can use while it works. */
export interface Work {
  /** Aborted if the work is no longer needed: the run was cancelled, or its attempt is over. */
  readonly signal: AbortSignal;
  /** Sends the progress (0 to 1) and a note for people with the next heartbeat. */
  progress(progress: number | null, note?: string): void;
}

/** The end of an attempt: its report was accepted, or it was over before. */
export type Outcome = "completed" | "failed" | "over";

/** One attempt of a run, as its target received it. */
export class CallbackAttempt {
  constructor(
    readonly runId: string,
    /** The callback token of the attempt. */
    readonly token: string,
    readonly attempt: number,
    /** The same on every attempt of a run. */
    readonly idempotencyKey: string,
  ) {}

  /** Reads the headers of a call to an HTTP target. Throws TypeError if they are not of a job with callbacks. */
  static fromHeaders(headers: GivenHeaders): CallbackAttempt {
    const given = (name: string) => headerOf(headers, name);
    return attemptOf(
      given("x-duecourse-run-id"),
      given("x-duecourse-token"),
      Number(given("x-duecourse-attempt")),
      given("idempotency-key"),
    );
  }

  /** Reads the event of any other target (Lambda, SQS, …). Throws TypeError if it is not of a job with callbacks. */
  static fromEvent(event: unknown): CallbackAttempt {
    const { run_id, callback, attempt, idempotency_key } = isObject(event) ? event : {};
    return attemptOf(run_id, isObject(callback) ? callback.token : null, Number(attempt), idempotency_key);
  }

  /**
   * Performs the task with heartbeats, and reports its result, or its error.
   *
   * The first heartbeat is sent at once, the others after a third of the remaining time. Rejects with ApiError or
   * ApiUnreachableError if the report was not accepted; the run then fails at its deadline.
   */
  async perform(client: Client, task: (work: Work) => unknown): Promise<Outcome> {
    const beats = new Heartbeats(client, this);
    beats.start();
    let report: () => Promise<unknown>;
    let outcome: Outcome;
    try {
      const result = (await task(beats)) ?? null;
      report = () => client.completeRun({ ...this.#place, body: { result } });
      outcome = "completed";
    } catch (error) {
      report = () => client.failRun({ ...this.#place, body: failureOf(error) });
      outcome = "failed";
    } finally {
      beats.stop();
    }
    if (beats.over) return "over";
    try {
      await report();
      return outcome;
    } catch (error) {
      if (isOver(error)) return "over";
      throw error;
    }
  }

  get #place(): { run_id: string; token: string } {
    return { run_id: this.runId, token: this.token };
  }
}

class Heartbeats implements Work {
  readonly #client: Client;
  readonly #attempt: CallbackAttempt;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #news: { progress?: number | null; note?: string | undefined } = {};
  over = false;

  constructor(client: Client, attempt: CallbackAttempt) {
    this.#client = client;
    this.#attempt = attempt;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  progress(progress: number | null, note?: string): void {
    this.#news = { progress, note: note ?? this.#news.note };
  }

  start(): void {
    void this.#beat();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #beat(): Promise<void> {
    const news = this.#news;
    let seconds = SHORTEST_BEAT_SECONDS;
    try {
      const { runId: run_id, token } = this.#attempt;
      const answer = await this.#client.heartbeatRun({ run_id, token, body: news });
      if (this.#news === news) this.#news = {};
      if (answer.cancel_requested) this.#controller.abort(new Error(answer.reason ?? "cancelled"));
      seconds = secondsUntilNext(answer.heartbeat_until, answer.answeredAt);
    } catch (error) {
      if (isOver(error)) {
        this.over = true;
        this.#controller.abort(error);
        return;
      }
      if (error instanceof ApiError && error.retryAfter !== null)
        seconds = Math.max(error.retryAfter, seconds);
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#beat(), seconds * 1_000);
  }
}

function attemptOf(run: unknown, token: unknown, attempt: number, key: unknown): CallbackAttempt {
  if (typeof run !== "string" || typeof token !== "string") {
    throw new TypeError("the call has no callback token; set completion: callback on the job");
  }
  return new CallbackAttempt(run, token, attempt, typeof key === "string" ? key : run);
}

/** A third of the remaining time, by the API's clock: two heartbeats may fail before the deadline. */
function secondsUntilNext(until: string | null, answeredAt: Date | null): number {
  if (until === null) return LONGEST_BEAT_SECONDS;
  const left = (Date.parse(until) - (answeredAt ?? new Date()).getTime()) / 1_000;
  return Math.min(Math.max(left / 3, SHORTEST_BEAT_SECONDS), LONGEST_BEAT_SECONDS);
}

/** Only Duecourse itself can report that an attempt is over: a gateway in front of it has its own 401. */
function isOver(error: unknown): boolean {
  return error instanceof ApiError && error.byDuecourse && (error.status === 401 || error.status === 409);
}

function failureOf(error: unknown): {
  error: string;
  code: string;
  retryable?: boolean;
  retry_after?: number;
} {
  const name = error instanceof Error ? error.name : "Error";
  const message = error instanceof Error ? error.message : String(error);
  const given = error instanceof DoNotRetry || error instanceof RetryLater ? error.code : name;
  const code = (given ?? "").replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 64) || "callback.failed";
  const text =
    error instanceof DoNotRetry || error instanceof RetryLater
      ? message
      : [name, message].filter(Boolean).join(": ");
  const whole = (text || name).replace(NO_CHARACTERS, "?");
  const failure = {
    error: whole.length > ERROR_CHARACTERS ? `${whole.slice(0, ERROR_CHARACTERS - 1)}…` : whole,
    code,
  };
  if (error instanceof DoNotRetry) return { ...failure, retryable: false };
  if (error instanceof RetryLater)
    return { ...failure, retryable: true, retry_after: Math.min(Math.max(error.after ?? 0, 0), 86_400) };
  return failure;
}
