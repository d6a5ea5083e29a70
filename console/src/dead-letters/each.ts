import { asProblem } from "../api/problem";
import { patiently } from "../shared/patiently";
import type { Refusal, Send } from "./paced";

const AT_ONCE = 8;

/** Redrives these runs, one request each, eight at once. A rejected run is returned with the reason and does not
 * stop the others; any other failure ends the portion, and its runs are sent with the next one.
 */
export function sendEach(ids: readonly string[], redrive: (id: string) => Promise<unknown>): Send {
  let left = ids;
  return async (count, signal) => {
    const portion = left.slice(0, Math.min(count, AT_ONCE));
    const done = new Set<string>();
    const refusals: Refusal[] = [];
    let failure: unknown;
    const ask = async (id: string) => {
      try {
        await patiently(() => redrive(id), signal);
      } catch (error) {
        const problem = asProblem(error);
        if (problem.status !== 404 && problem.status !== 409 && !problem.passes) {
          failure = error;
          return;
        }
        refusals.push({ what: id, why: problem.detail || problem.title });
      }
      done.add(id);
    };
    await Promise.all(portion.map(ask));
    left = left.filter((id) => !done.has(id));
    const refused = refusals.length;
    return { sent: done.size - refused, refused, refusals, more: left.length > 0, failure };
  };
}
