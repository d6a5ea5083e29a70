import type { Schemas } from "../api/client";
import { asProblem } from "../api/problem";

type Changed = Schemas["ChangedJobs"];

export interface Failure {
  id: string;
  why: string;
}

export interface Many {
  /** How many are worked on at once. */
  width?: number;
  /** The number of tries for temporary errors. */
  tries?: number;
  /** Waits so many seconds before it is tried again. */
  wait(seconds: number): Promise<void>;
  /** True: those that have not started are left. */
  stopped?(): boolean;
  progress?(done: number): void;
}

/** Does the same to each, a few at a time; who failed, and why. What is refused for a while (429, 503, no answer) is
 * tried again, so `work` must be safe to repeat; nothing else is requested in the meantime.
 */
export async function forEach(
  ids: readonly string[],
  work: (id: string) => Promise<unknown>,
  { width = 8, tries = 5, wait, stopped = () => false, progress = () => {} }: Many,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  let begun = 0;
  let done = 0;
  let expired = false;
  let pause = Promise.resolve();
  const one = async (id: string): Promise<void> => {
    for (let tried = 1; ; tried += 1) {
      await pause;
      try {
        await work(id);
        return;
      } catch (error) {
        const problem = asProblem(error);
        if (!problem.passes || tried === tries || stopped()) {
          failures.push({ id, why: problem.detail || problem.title });
          expired ||= problem.status === 401; // the others would fail alike
          return;
        }
        pause = Promise.all([pause, wait(problem.retryAfter ?? 2 ** (tried - 1))]).then(() => {});
      }
    }
  };
  const worker = async (): Promise<void> => {
    while (true) {
      await pause;
      if (begun === ids.length || stopped() || expired) return;
      const id = ids[begun] as string;
      begun += 1;
      await one(id);
      done += 1;
      progress(done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, ids.length) }, worker));
  return failures;
}

/** A walk through the pages of one request for several jobs. If it is repeated after an error, it continues with the page
 * that failed.
 */
export function resumable(
  page: (cursor?: string) => Promise<Changed>,
): () => Promise<Omit<Changed, "next_cursor">> {
  let changed = 0;
  const failed: string[] = [];
  let cursor: string | null | undefined;
  return async () => {
    while (cursor !== null) {
      const found = await page(cursor);
      changed += found.changed;
      failed.push(...found.failed);
      cursor = found.next_cursor;
    }
    return { changed, failed };
  };
}
