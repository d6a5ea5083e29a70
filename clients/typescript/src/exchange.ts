/** One try of a request: with its token, within its time, and with typed errors. */

import { ApiUnreachableError, apiError, isObject, withoutProblem } from "./errors.js";
import { retryAfterOf } from "./retries.js";

/** The time for one try, in seconds: from the connection to the last byte of the response. */
export const TIMEOUT_SECONDS = 30;

export interface ExchangeOptions {
  /** A bearer token, or a function that returns the present one. It is called before each try. */
  token?: string | (() => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** Sends a request; the default is the platform's `fetch`. Pass one that signs for stages with `auth: iam`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Limits each try as a whole (seconds). */
  timeoutSeconds?: number | undefined;
}

/** A success with its whole body. */
export interface Exchanged {
  readonly response: Response;
  readonly body: string;
}

/**
 * Sends a request once. A request with an `Authorization` header keeps it. Rejects with ApiError for an error response,
 * with ApiUnreachableError without a response, and with the reason of the request's own signal if that is aborted.
 */
export async function exchanged(request: Request, options: ExchangeOptions): Promise<Exchanged> {
  const { token, fetch: send = fetch, timeoutSeconds = TIMEOUT_SECONDS } = options;
  const bearer = request.headers.has("Authorization")
    ? null
    : typeof token === "function"
      ? await token()
      : token;
  const limit = AbortSignal.timeout(timeoutSeconds * 1_000);
  const limited = new Request(request, { signal: AbortSignal.any([request.signal, limit]) });
  if (bearer) limited.headers.set("Authorization", `Bearer ${bearer}`);
  if (limited.headers.has("Authorization")) checkEncrypted(new URL(limited.url));
  let response: Response;
  let body: string;
  try {
    response = await send(limited);
    body = await response.text();
  } catch (error) {
    request.signal.throwIfAborted();
    const reason = limit.aborted ? `the response took longer than ${timeoutSeconds} s` : reasonOf(error);
    const message = `there is no response from ${new URL(request.url).origin} (${reason})`;
    throw new ApiUnreachableError(message, limit.aborted, { cause: error });
  }
  if (response.ok) return { response, body };
  const problem = parsed(body, JSON.parse) ?? withoutProblem(response.status, response.statusText, body);
  throw apiError(response.status, problem, retryAfterOf(response.headers, Date.now()));
}

/**
 * Returns a function like `fetch` for other HTTP libraries, such as openapi-fetch: one try of a request, with the token,
 * the timeout and the errors of `Client`. It does not repeat a request.
 */
export function exchange(options: ExchangeOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { response, body } = await exchanged(request, options);
    const { status, statusText, headers } = response;
    return new Response(body === "" ? null : body, { status, statusText, headers });
  };
}

/** Returns the JSON object of a body, an empty one of an empty body, or null for anything else. */
export function parsed(body: string, parse: (text: string) => unknown): Record<string, unknown> | null {
  if (body === "") return {};
  try {
    const found = parse(body);
    return isObject(found) ? found : null;
  } catch {
    return null;
  }
}

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

function checkEncrypted({ protocol, hostname, origin }: URL): void {
  if (protocol === "https:" || LOOPBACK.includes(hostname)) return;
  throw new TypeError(`the token is not sent to ${origin} without encryption; use https`);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
