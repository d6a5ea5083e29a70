import { api, fetcher, freshKey, queries, type Schemas } from "../api/client";
import { LIST, paced } from "../api/polling";
import { patiently } from "../shared/patiently";
import type { Choice, Operation } from "./texts";

const KEY = ["get", "/v1/operations"];

/** The operations of the tenant, newest first; read again only while one of them runs. */
export function useOperations(): readonly Operation[] {
  const { data } = api.useQuery(
    "get",
    "/v1/operations",
    {},
    {
      refetchInterval: ({ state }) =>
        state.data?.items.some((each) => each.state === "RUNNING") ? paced(LIST) : false,
    },
  );
  return data?.items ?? [];
}

/** How many runs an operation would handle. */
export async function estimate(body: Choice, signal: AbortSignal): Promise<Schemas["OperationEstimate"]> {
  const { data } = await patiently(() => fetcher.POST("/v1/operations/estimate", { body, signal }), signal);
  if (data === undefined) throw new SyntaxError("an empty response");
  return data;
}

/** Creates an operation, which continues without this page. */
export async function create(body: Schemas["OperationRequest"], key: string = freshKey()): Promise<void> {
  await fetcher.POST("/v1/operations", { body, params: { header: { "Idempotency-Key": key } } });
  await queries.invalidateQueries({ queryKey: KEY });
}

export async function cancel(operation_id: string): Promise<void> {
  await fetcher.POST("/v1/operations/{operation_id}/cancel", { params: { path: { operation_id } } });
  await queries.invalidateQueries({ queryKey: KEY });
}
