import { asProblem } from "../api/problem";

/** Ends after this number of seconds, or when the signal is aborted. */
export type Wait = (seconds: number, signal: AbortSignal) => Promise<void>;

const TRIES = 5;
const LONGEST_WAIT = 30;

/** The response, with retries if they may help: after a rate limit or an outage. */
export async function patiently<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
  wait: Wait = waiting,
): Promise<Answer> {
  for (let count = 1; ; count++) {
    try {
      return await ask();
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.passes || count === TRIES || signal.aborted) throw error;
      await wait(Math.min(problem.retryAfter ?? 2 ** (count - 1), LONGEST_WAIT), signal);
    }
  }
}

export function waiting(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, seconds * 1_000);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
