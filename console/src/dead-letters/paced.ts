import { type Wait, waiting } from "../shared/patiently";

export interface Refusal {
  what: string;
  why: string;
}
/** The result for some of the runs, and whether there are more. */
export interface Portion {
  sent: number;
  refused: number;
  refusals: Refusal[];
  more: boolean;
  /** The error that prevented the rest of the portion, which the next portion repeats. */
  failure?: unknown;
}
/** Sends up to `count` further runs; the signal ends its waits. */
export type Send = (count: number, signal: AbortSignal) => Promise<Portion>;

/** Runs of one portion: a stop takes effect after one. */
const MOST = 100;

/** Sends runs at `pace` (runs per second), portion by portion, until there are no more or the signal says stop.
 * `report` is called after each portion. Throws the errors of `send`; a second call with the same `send` continues from
 * there.
 */
export async function paced(
  send: Send,
  pace: number,
  signal: AbortSignal,
  report: (portion: Portion) => void,
  wait: Wait = waiting,
): Promise<void> {
  const size = Math.min(Math.max(Math.ceil(pace / 2), 1), MOST);
  while (!signal.aborted) {
    const portion = await send(size, signal);
    report(portion);
    if (portion.failure !== undefined) throw portion.failure;
    if (!portion.more) return;
    await wait((portion.sent + portion.refused) / pace, signal);
  }
}
