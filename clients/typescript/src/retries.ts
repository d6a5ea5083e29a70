/** The rules for retries, without I/O. They are those of the Python client; clients/conformance.json checks both. */

import { ApiError, ApiUnreachableError } from "./errors.js";

/** The client does not wait for a longer `Retry-After`. The error contains it. */
export const LONGEST_WAIT_SECONDS = 60;
/** A longer `Retry-After` counts as this time, so that each client reports the same finite number. */
const MOST_SECONDS = 1e10;
const FIRST_WAIT_SECONDS = 0.5;
/** The request had no effect, so that any request can be retried. */
const TOO_MANY = 429;
/** It is unknown whether the request took effect. It is retried only if it is safe to repeat. */
const BUSY = new Set([502, 503, 504]);

export type Failure = ApiError | ApiUnreachableError;

/** The properties of a request that determine its retries. */
export interface Repeatable {
  readonly method: string;
  /** Whether the request applies to one version only. After a success, a repetition would be rejected. */
  readonly conditional: boolean;
}

/**
 * Returns the wait before the next try of the same request (seconds), or null if it is not retried.
 *
 * `failures` are the errors of all tries. `draw` (0..1) spreads the retries of callers that failed at the same time
 * (full jitter). The wait is never shorter than `Retry-After`.
 */
export function waitBeforeNext(
  request: Repeatable,
  failures: readonly Failure[],
  retries: number,
  draw: number,
): number | null {
  const failure = failures[failures.length - 1];
  if (failure === undefined || failures.length > retries) return null;
  const limited = failure instanceof ApiError && failure.status === TOO_MANY;
  if (!limited && (request.conditional || !isUnsure(failure))) return null;
  const asked = (failure instanceof ApiError ? failure.retryAfter : null) ?? 0;
  const backoff = FIRST_WAIT_SECONDS * 2 ** (failures.length - 1) * draw;
  return asked <= LONGEST_WAIT_SECONDS ? asked + backoff : null;
}

/**
 * Returns whether an earlier try has deleted the job: the job no longer exists, and the result of an earlier try is
 * unknown.
 */
export function deletedBefore(request: Repeatable, failures: readonly Failure[]): boolean {
  const last = failures[failures.length - 1];
  const gone = last instanceof ApiError && last.byDuecourse && last.status === 404;
  return request.method === "DELETE" && gone && failures.slice(0, -1).some(isUnsure);
}

function isUnsure(failure: Failure): boolean {
  return failure instanceof ApiUnreachableError || BUSY.has(failure.status);
}

/**
 * Returns the seconds of `Retry-After`, or null. Duecourse sends seconds. Proxies can send a date; it is compared with
 * the `Date` of the same response, because clocks differ.
 */
export function retryAfterOf(headers: Headers, now: number): number | null {
  const given = headers.get("retry-after") ?? "";
  if (/^[0-9]+$/.test(given)) return Math.min(Number(given), MOST_SECONDS);
  const until = instantOf(given);
  return until === null ? null : Math.max((until - (instantOf(headers.get("date")) ?? now)) / 1_000, 0);
}

/** Returns the instant of an HTTP date in milliseconds since 1970, or null. */
export function instantOf(given: string | null): number | null {
  const found = given !== null && /^[A-Z][a-z]{2}, .*GMT$/.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(found) ? null : found;
}
