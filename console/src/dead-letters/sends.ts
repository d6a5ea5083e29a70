import { fetcher, type Schemas } from "../api/client";
import { patiently } from "../shared/patiently";
import { sendEach } from "./each";
import type { Portion, Send } from "./paced";

export type Choice = Omit<Schemas["RedriveRequest"], "limit" | "cursor" | "dry_run">;

const LISTED_AT_ONCE = 100;
const COUNTED_AT_ONCE = 1_000;
const MOST_COUNTED = 10_000;

/** Which dead runs: these, all of a job that died since then, or all that a choice has (requires the scope `ops`). */
export type Which = { runs: readonly string[] } | { job: string; since: string } | { choice: Choice };

/** How many runs a plan has, at least or exactly, and what sends them. */
export interface Prepared {
  total: { count: number; least: boolean };
  send: Send;
}

/** Counts the runs. */
export async function prepare(which: Which, signal: AbortSignal): Promise<Prepared> {
  if ("choice" in which) return { total: await countOf(which.choice, signal), send: sendAll(which.choice) };
  const runs = "runs" in which ? which.runs : await deadRunsOf(which.job, which.since, signal);
  return { total: { count: runs.length, least: false }, send: sendRuns(runs) };
}

/** The ids of all dead runs of a job that died since then. */
async function deadRunsOf(job_id: string, since: string, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { job_id, since, limit: LISTED_AT_ONCE, cursor };
    const { data } = await patiently(
      () => fetcher.GET("/v1/dead-letters", { params: { query }, signal }),
      signal,
    );
    if (data === undefined) throw new SyntaxError("an empty response");
    ids.push(...data.items.map(({ id }) => id));
    cursor = data.next_cursor ?? undefined;
  } while (cursor !== undefined && !signal.aborted);
  return ids;
}

/** Redrives these runs. */
const sendRuns = (ids: readonly string[]): Send =>
  sendEach(ids, (run_id) => fetcher.POST("/v1/runs/{run_id}/redrive", { params: { path: { run_id } } }));

/** Redrives all that a choice has, page by page of the API's own list. */
function sendAll(choice: Choice): Send {
  let cursor: string | null = null;
  return async (limit, signal): Promise<Portion> => {
    const answer = await patiently(() => redrive({ ...choice, limit, cursor, dry_run: false }), signal);
    cursor = answer.next_cursor;
    const { redriven: sent, refused, more } = answer;
    return { sent, refused, refusals: [], more };
  };
}

/** How many runs a choice has, by dry runs; `least` where there are more than are counted. */
async function countOf(choice: Choice, signal: AbortSignal): Promise<{ count: number; least: boolean }> {
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
