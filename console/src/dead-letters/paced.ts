import { asProblem } from "../api/problem";

export interface Refusal {
  what: string;
  why: string;
}
/** What became of some of the runs, and whether there are more. */
export interface Portion {
  sent: number;
  refused: number;
  refusals: Refusal[];
  more: boolean;
  /** What kept it from the rest, which the next portion has again. */
  failure?: unknown;
}
/** Sends up to `count` further runs; the signal ends its waits. */
export type Send = (count: number, signal: AbortSignal) => Promise<Portion>;
/** Ends after so many seconds, or as soon as the signal says so. */
export type Wait = (seconds: number, signal: AbortSignal) => Promise<void>;

/** Runs of one portion: a stop takes effect after one. */
const MOST = 100;
const TRIES = 5;
const LONGEST_WAIT = 30;

/** Sends runs at `pace` (runs per second), portion by portion, until there are no more or the signal says stop.
 * `told` hears of each portion. Raises what `send` raises, or its failure; called again with the same `send` it goes on from there.
 */
export async function paced(
  send: Send,
  pace: number,
  signal: AbortSignal,
  told: (portion: Portion) => void,
  wait: Wait = waiting,
): Promise<void> {
  const size = Math.min(Math.max(Math.ceil(pace / 2), 1), MOST);
  while (!signal.aborted) {
    const portion = await send(size, signal);
    told(portion);
    if (portion.failure !== undefined) throw portion.failure;
    if (!portion.more) return;
    await wait((portion.sent + portion.refused) / pace, signal);
  }
}

/** The answer, asked for again where that may help: the API's limit of requests, an outage. */
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

function waiting(seconds: number, signal: AbortSignal): Promise<void> {
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
