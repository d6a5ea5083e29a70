import { ApiError, ApiUnreachableError } from "duecourse";

/** An error in one part of a request. `field` is a JSON pointer without its first slash, or a parameter. */
export interface FieldError {
  field: string;
  message: string;
}

const UNREACHABLE = "The API cannot be reached";
const LATE = "The API did not respond";
const PASSING = [429, 502, 503, 504];

/** A failed request: the API's error, or the error of the network. */
export class ApiProblem extends Error {
  constructor(
    /** The HTTP status; 0 where there was no answer, or one that is not the API's. */
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly fields: readonly FieldError[] = [],
    readonly requestId: string | null = null,
    /** Seconds to wait before a retry. */
    readonly retryAfter: number | null = null,
  ) {
    super(detail || title);
    this.name = "ApiProblem";
  }

  /** Whether the same request may succeed without a change a little later. */
  get passes(): boolean {
    return this.title === UNREACHABLE || this.late || PASSING.includes(this.status);
  }

  /** Whether the request timed out: a retry may take as long. */
  get late(): boolean {
    return this.title === LATE;
  }
}

/** A thrown value as a problem: of the API, of the network, or of a response that cannot be parsed. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof ApiError) return rejection(error);
  if (error instanceof ApiUnreachableError) {
    return error.timedOut
      ? new ApiProblem(0, LATE, "The request timed out after 30 seconds. Try again.")
      : new ApiProblem(0, UNREACHABLE, "Check the connection; this page retries automatically.");
  }
  if (error instanceof SyntaxError) {
    return new ApiProblem(
      0,
      "The response is not from the API",
      "A proxy or gateway between this page and the API sent the response.",
    );
  }
  return new ApiProblem(0, "An unexpected error occurred on this page", String(error));
}

const TITLES: Record<number, string> = {
  401: "Your login has expired",
  403: "Permission denied",
  404: "Not found",
  429: "Too many requests",
  503: "The API is busy",
};
const REMEDIES: Record<number, string> = {
  401: "Log in again; your input is kept.",
  429: "Try again in a moment; displayed data is reloaded automatically.",
  503: "Try again in a moment; displayed data is reloaded automatically.",
};

/** The API's error for a rejected request. The error page of a gateway in front of the API is not shown. */
function rejection(error: ApiError): ApiProblem {
  const { status, problem, faults, retryAfter } = error;
  const { title, detail } = error.byDuecourse ? problem : {};
  return new ApiProblem(
    status,
    text(title) ?? TITLES[status] ?? `The API returned status ${status}`,
    text(detail) ?? text(problem.message) ?? REMEDIES[status] ?? "",
    faults.map(({ where, detail }) => ({ field: where, message: detail })),
    text(problem.request_id),
    retryAfter || null,
  );
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
