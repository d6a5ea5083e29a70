import type { Schemas } from "../api/client";

/** Shown with an answer that is not complete. */
export const UNCOUNTED =
  "Not all waiting runs were counted, so keys with waiting runs may be missing, and more runs may wait.";

/** Whether an answer about limits has all waiting runs. During a deployment, an API of the previous release does not say
 * so.
 */
export function isComplete(answer: object | undefined): boolean {
  return (answer as { complete?: boolean } | undefined)?.complete ?? true;
}

/** A key's stored rate in words. */
export function rateText(rate: { per_minute: number; burst: number } | null): string {
  return rate === null ? "Set in the jobs" : `${rate.per_minute} per minute, burst ${rate.burst}`;
}

/** A circuit breaker that is not closed, in words. */
export function breakerText(state: string, failures: number): string {
  const failed = failures === 0 ? "" : ` after ${failures} failed ${failures === 1 ? "attempt" : "attempts"}`;
  return state === "open"
    ? `The circuit breaker is open${failed}`
    : `The circuit breaker is half open${failed}: one attempt tests the target`;
}

/** A key's limit in words. */
export function limitText(concurrency: number | null): string {
  if (concurrency === null) return "Set in the jobs";
  return concurrency === 0 ? "0 (no run starts)" : String(concurrency);
}

/** The numbers of a key's waiting runs, in words. */
export function waitingText(key: Schemas["ListedLimit"]): string {
  const counts: [number, string][] = [
    [key.waiting, "a place"],
    [key.waiting_for_rate, "the rate"],
    [key.waiting_for_breaker, "the breaker"],
  ];
  return counts.flatMap(([count, what]) => (count > 0 ? [`${count} for ${what}`] : [])).join(", ") || "0";
}
