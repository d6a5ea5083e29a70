/** The errors of calls: rejections by kind, and an API that cannot be reached. */

const NOT_OURS = "the response is not from Duecourse; check the address of the API";

/** One invalid field, parameter or header: its place (`target/url`) and the error. */
export interface Fault {
  readonly where: string;
  readonly detail: string;
}

/** The API cannot be reached, or its response did not arrive in time. */
export class ApiUnreachableError extends Error {
  override readonly name = "ApiUnreachableError";

  constructor(
    message: string,
    /** Whether the response did not arrive in time. */
    readonly timedOut = false,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A problem document (RFC 9457). */
export type Problem = Readonly<Record<string, unknown>>;

/** A rejected request. If `status` is a success, the response is not from Duecourse. */
export class ApiError extends Error {
  override readonly name: string = "ApiError";

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The problem document of the response; a generated one if the response has none. */
    readonly problem: Problem,
    /** Seconds to wait before the next try, by the API; null without a `Retry-After`. */
    readonly retryAfter: number | null = null,
  ) {
    super(sentence(status, problem));
  }

  /** Whether Duecourse itself rejected the request, rather than a gateway or an authorizer in front of it. */
  get byDuecourse(): boolean {
    return text(this.problem.type).startsWith("/problems/");
  }

  /** The kind of problem, such as `unknown-job`; "" if the response is not from Duecourse. */
  get type(): string {
    return this.byDuecourse ? text(this.problem.type).slice("/problems/".length) : "";
  }

  /** The invalid fields, parameters and headers; empty for other errors. */
  get faults(): readonly Fault[] {
    return faultsOf(this.problem);
  }
}

/** 400, 422: the request is invalid; `faults` lists the errors. */
export class InvalidError extends ApiError {
  override readonly name = "InvalidError";
}
/** 401: the token is missing, or the stage does not accept it. */
export class UnauthorizedError extends ApiError {
  override readonly name = "UnauthorizedError";
}
/** 403: the caller does not have the scope, or the stage does not allow the request. */
export class ForbiddenError extends ApiError {
  override readonly name = "ForbiddenError";
}
/** 404: there is no such job, run or workflow. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}
/** 409: the current state does not allow the request. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}
/** 412: the job has changed since it was read; read it again. */
export class PreconditionError extends ApiError {
  override readonly name = "PreconditionError";
}
/** 429: the request exceeds the tenant's limit; retry after `retryAfter` seconds. */
export class TooManyRequestsError extends ApiError {
  override readonly name = "TooManyRequestsError";
}
/** 5xx: the stage could not respond; retry the same request. */
export class UnavailableError extends ApiError {
  override readonly name = "UnavailableError";
}

const KINDS: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionError,
  422: InvalidError,
  429: TooManyRequestsError,
};

/** Returns the error for a status, as an instance of the class for this status. */
export function apiError(status: number, problem: Problem, retryAfter: number | null): ApiError {
  const Kind = KINDS[status] ?? (status >= 500 ? UnavailableError : ApiError);
  return new Kind(status, problem, retryAfter);
}

/** Returns the problem document for an error response that has none. */
export const withoutProblem = (status: number, reason: string, body: string): Problem => ({
  title: reason,
  status,
  detail: beginning(body),
});

/** Returns the problem document for a success that is not a document of the API. */
export const notOurs = (status: number, body: string): Problem => ({
  status,
  detail: `${NOT_OURS} (${beginning(body)})`,
});

function beginning(body: string): string {
  return body.split(/\s+/).filter(Boolean).join(" ").slice(0, 200);
}

function sentence(status: number, problem: Problem): string {
  const title = text(problem.title) || "refused";
  const detail = text(problem.detail) || text(problem.message) || text(problem.errorMessage);
  const faults = faultsOf(problem).map(({ where, detail }) => [where, detail].filter(Boolean).join(": "));
  return [`${status} ${title}`, detail, ...faults].filter(Boolean).join(" - ");
}

function faultsOf(problem: Problem): Fault[] {
  if (!Array.isArray(problem.errors)) return [];
  return problem.errors.filter(isObject).map((entry) => ({
    where: (text(entry.pointer) || text(entry.parameter) || text(entry.header)).replace(/^\//, ""),
    detail: text(entry.detail),
  }));
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
