/** API Gateway gives up on a request after 30 s: who has waited that long gets no answer any more. */
const LONGEST_MS = 30_000;

type Ask = (request: Request, options: { signal: AbortSignal }) => Promise<Response>;

/** Asks as `ask` does until the request's own signal ends it, or `longest` milliseconds have passed. */
export const timed =
  (longest = LONGEST_MS, ask: Ask = fetch) =>
  (request: Request): Promise<Response> =>
    ask(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(longest)]) });
