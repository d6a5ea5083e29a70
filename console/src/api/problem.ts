/** What is wrong with one part of a request; `field` is a JSON pointer without its first slash, or a parameter. */
export interface FieldError {
  field: string;
  message: string;
}

const UNREACHABLE = "The API cannot be reached";
const LATE = "The API did not respond";
const PASSING = [429, 502, 503, 504];

/** A request that failed: what the API said of it, or what became of it on the way. */
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

  /** Whether the same request may succeed by itself a little later. */
  get passes(): boolean {
    return this.title === UNREACHABLE || this.late || PASSING.includes(this.status);
  }

  /** Whether the request timed out: a retry may take as long. */
  get late(): boolean {
    return this.title === LATE;
  }
}

interface Body {
  title?: unknown;
  detail?: unknown;
  errors?: unknown;
  request_id?: unknown;
  message?: unknown;
}

/** What an answer that is no success says. Never fails: a gateway's page is an answer, too. */
export async function problemOf(answer: Response): Promise<ApiProblem> {
  const wait = Number(answer.headers.get("retry-after"));
  const retryAfter = Number.isFinite(wait) && wait > 0 ? wait : null;
  let body: Body = {};
  try {
    const parsed: unknown = await answer.json();
    if (typeof parsed === "object" && parsed !== null) body = parsed;
  } catch {
    // No JSON: the status is all there is to say.
  }
  const title = text(body.title) ?? TITLES[answer.status] ?? `The API returned status ${answer.status}`;
  const detail = text(body.detail) ?? text(body.message) ?? REMEDIES[answer.status] ?? "";
  return new ApiProblem(
    answer.status,
    title,
    detail,
    fieldsOf(body.errors),
    text(body.request_id),
    retryAfter,
  );
}

/** A thrown value as a problem: of the API, of the network, or of a response that cannot be parsed. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new ApiProblem(0, LATE, "The request timed out after 30 seconds. Try again.");
  }
  if (error instanceof SyntaxError) {
    return new ApiProblem(
      0,
      "The response is not from the API",
      "A proxy or gateway between this page and the API sent the response.",
    );
  }
  if (error instanceof TypeError && /fetch|network|load/i.test(error.message)) {
    return new ApiProblem(0, UNREACHABLE, "Check the connection; this page retries automatically.");
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

function fieldsOf(errors: unknown): FieldError[] {
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null) return [];
    const { pointer, parameter, header, detail } = each as Record<string, unknown>;
    const field = text(pointer)?.replace(/^#?\//, "") ?? text(parameter) ?? text(header) ?? "";
    return [{ field, message: text(detail) ?? "" }];
  });
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
