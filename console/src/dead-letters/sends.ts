import { fetcher, type Schemas } from "../api/client";
import { patiently } from "../shared/patiently";
import { sendEach } from "./each";
import type { Portion, Send } from "./paced";

export type Choice = Omit<Schemas["RedriveRequest"], "limit" | "cursor" | "dry_run">;

const COUNTED_AT_ONCE = 1_000;
const MOST_COUNTED = 10_000;

/** Redrives these runs. */
export const sendRuns = (ids: readonly string[]): Send =>
  sendEach(ids, (run_id) => fetcher.POST("/v1/runs/{run_id}/redrive", { params: { path: { run_id } } }));

/** Redrives all that a choice has, page by page of the API's own list. */
export function sendAll(choice: Choice): Send {
  let cursor: string | null = null;
  return async (limit, signal): Promise<Portion> => {
    const answer = await patiently(() => redrive({ ...choice, limit, cursor, dry_run: false }), signal);
    cursor = answer.next_cursor;
    const { redriven: sent, refused, more } = answer;
    return { sent, refused, refusals: [], more };
  };
}

/** How many runs a choice has, by dry runs; `least` where there are more than are counted. */
export async function countOf(
  choice: Choice,
  signal: AbortSignal,
): Promise<{ count: number; least: boolean }> {
  let cursor: string | null = null;
  let count = 0;
  let more = true;
  while (more && count < MOST_COUNTED && !signal.aborted) {
    const body: Schemas["RedriveRequest"] = { ...choice, limit: COUNTED_AT_ONCE, cursor, dry_run: true };
    const answer: Schemas["Redriven"] = await patiently(() => redrive(body), signal);
    count += answer.redriven;
    ({ more, next_cursor: cursor } = answer);
  }
  return { count, least: more };
}

async function redrive(body: Schemas["RedriveRequest"]): Promise<Schemas["Redriven"]> {
  const { data } = await fetcher.POST("/v1/dead-letters/redrive", { body });
  if (data === undefined) throw new SyntaxError("an empty response");
  return data;
}
