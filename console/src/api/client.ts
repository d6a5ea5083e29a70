import { QueryClient } from "@tanstack/react-query";
import {
  ApiError,
  ApiUnreachableError,
  type components,
  exchange,
  type paths,
  UnauthorizedError,
} from "duecourse";
import createFetchClient, { type Middleware } from "openapi-fetch";
import createClient from "openapi-react-query";
import type { Session } from "../app/session";
import { API } from "../app/settings";
import { missed, reached } from "./connection";
import { ApiProblem, asProblem } from "./problem";
import { sharing } from "./sharing";

export type Schemas = components["schemas"];

const RETRIES = 3;
const LONGEST_WAIT_MS = 30_000;

let session: Session | null = null;
/** The token that the API rejected (401): polling must not send it again. */
let refused: string | null = null;

/** Sets the session whose token the following requests send. */
export function speakAs(who: Session): void {
  session = who;
}

const checked: Middleware = {
  async onRequest({ request }) {
    const token = await session?.token();
    if (token && token === refused) throw asProblem(new UnauthorizedError(401, {}));
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
  onResponse({ response }) {
    const kind = response.headers.get("content-type") ?? "";
    if (response.status !== 204 && !kind.includes("json")) {
      throw new ApiProblem(
        0,
        "The response is not from the API",
        "A proxy or gateway between this page and the API sent the response.",
      );
    }
    reached();
  },
  onError({ request, error }) {
    if (error instanceof UnauthorizedError)
      refused = request.headers.get("Authorization")?.slice("Bearer ".length) ?? null;
    if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) return;
    const problem = asProblem(error);
    if (request.method === "GET" || problem.status === 429) missed(problem); // a form shows its own failure
    return problem;
  },
};

/** The API by its document, typed: `fetcher.GET("/v1/jobs/{job_id}", {params: {path: {job_id}}})`. */
export const fetcher = createFetchClient<paths>({
  baseUrl: API.href.replace(/\/$/, ""),
  cache: "no-cache",
  fetch: exchange({}),
});
fetcher.use(checked);

/** The same as hooks: `api.useQuery("get", "/v1/stats")`. Errors are ApiProblem (see asProblem). */
export const api = createClient(fetcher);

/** Reads are retried if this can help. Only a user repeats a request that changes something: offline, a request fails at
 * once, because a queued one would be sent on reconnection, after its form was discarded.
 */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: "always",
      refetchOnReconnect: true,
      staleTime: 1_000,
      // After 30 s a message is shown, before any further wait.
      retry: (count, error) => count < RETRIES && asProblem(error).passes && !asProblem(error).late,
      retryDelay: (count, error) =>
        Math.min((asProblem(error).retryAfter ?? 2 ** count) * 1_000, LONGEST_WAIT_MS),
      refetchOnWindowFocus: true,
      structuralSharing: sharing,
    },
    mutations: { networkMode: "always", retry: false },
  },
});

/** A key for a request that must not have its effect twice. */
export const freshKey = (): string => crypto.randomUUID();
