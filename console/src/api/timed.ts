/** API Gateway ends a request after 30 s: no response arrives after that. */
const LONGEST_MS = 30_000;

type Ask = (request: Request, options: { signal: AbortSignal }) => Promise<Response>;

/** Fetches with `ask` until the request's own signal aborts it, or `longest` milliseconds have passed. */
export const timed =
  (longest = LONGEST_MS, ask: Ask = fetch) =>
  (request: Request): Promise<Response> =>
    ask(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(longest)]) });
