import { fetcher, type Schemas } from "../api/client";
import { fieldText } from "../shared/exact";

/** A run, with its result as the API sent it. */
export async function readRun(run_id: string, signal: AbortSignal) {
  const params = { path: { run_id } };
  const { data } = await fetcher.GET("/v1/runs/{run_id}", { params, signal, parseAs: "text" });
  const text = data ?? "";
  return { ...(JSON.parse(text) as Schemas["SingleRun"]), resultText: fieldText(text, "result") };
}

/** The call of a run, with the payload exactly as the API returned it. */
export async function readPayload(run_id: string, signal: AbortSignal) {
  const params = { path: { run_id } };
  const { data } = await fetcher.GET("/v1/runs/{run_id}/payload", { params, signal, parseAs: "text" });
  const text = data ?? "";
  return { ...(JSON.parse(text) as Schemas["RunPayload"]), payloadText: fieldText(text, "payload") };
}

export type ReadRun = Awaited<ReturnType<typeof readRun>>;
export type ReadPayload = Awaited<ReturnType<typeof readPayload>>;
