/** The TypeScript client of the HTTP API of Duecourse. */

export { CallbackAttempt, DoNotRetry, type Outcome, RetryLater, type Work } from "./callback.js";
export { type CallRequest, Client, type ClientOptions, RETRIES } from "./client.js";
export {
  ApiError,
  ApiUnreachableError,
  ConflictError,
  type Fault,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  PreconditionError,
  type Problem,
  TooManyRequestsError,
  UnauthorizedError,
  UnavailableError,
} from "./errors.js";
export { type ExchangeOptions, exchange, TIMEOUT_SECONDS } from "./exchange.js";
export { Page, type Total } from "./page.js";
export type { components, paths } from "./schema.js";
export type {
  Answer,
  Arguments,
  CallOptions,
  Job,
  Meta,
  Methods,
  OperationName,
  Run,
  Schemas,
} from "./types.js";
export { TOLERANCE_SECONDS, verify, WebhookError } from "./webhooks.js";
