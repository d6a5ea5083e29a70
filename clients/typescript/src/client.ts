/** The client of one API. */

import { ApiError, ApiUnreachableError, isObject, notOurs } from "./errors.js";
import { type Exchanged, type ExchangeOptions, exchanged, parsed } from "./exchange.js";
import { OPERATIONS, type OperationEntry } from "./operations.js";
import { Page, type Total } from "./page.js";
import { deletedBefore, type Failure, instantOf, waitBeforeNext } from "./retries.js";
import type { CallOptions, Methods } from "./types.js";

/** How often a request that is safe to repeat is repeated. */
export const RETRIES = 4;

export interface ClientOptions extends ExchangeOptions {
  /** An API key with scopes, instead of a token. */
  key?: string | undefined;
  /** How often a request is repeated. */
  retries?: number | undefined;
  /** Parses JSON; the default is `JSON.parse`, which rounds integers above 2^53. */
  parse?: ((text: string) => unknown) | undefined;
  /** Waits before a retry (seconds). */
  wait?: ((seconds: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** Draws a number from 0 to 1 that spreads retries. */
  random?: (() => number) | undefined;
}

/** One request: its method, its path below `/v1/`, and its parts. */
export interface CallRequest extends CallOptions {
  query?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
  /** Each POST has a key, so that it takes effect once; the client generates one if this is missing. */
  idempotencyKey?: string | undefined;
  /** The callback token of a run: it replaces the client's own authentication. */
  token?: string | undefined;
}

/** A document with the parts of its response. */
interface Received {
  readonly document: Record<string, unknown>;
  readonly etag: string | null;
  readonly answeredAt: Date | null;
}

const DELETED: Received = { document: {}, etag: null, answeredAt: null };

/**
 * Calls one Duecourse API. Every operation of the API is a method, named after its `operationId`.
 *
 * Methods reject with `ApiUnreachableError`, or with an `ApiError` by its kind (`NotFoundError`, `InvalidError`, …).
 * Requests that are safe to repeat are repeated if there is no response, the stage is busy, or a limit is reached.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the loop below defines a method for each operation
export class Client {
  /** The address of the API, without a slash at its end. */
  readonly api: string;
  readonly #options: ClientOptions;
  /** The prefix of the paths: the API accepts API keys only below it. */
  readonly #prefix: string;

  constructor(api: string, options: ClientOptions = {}) {
    if (!/^https?:\/\//.test(api)) {
      throw new TypeError(`the address of the API is not valid: ${api}; it begins with https://`);
    }
    const { key } = options;
    if (key !== undefined && options.token !== undefined) throw new TypeError("pass key or token, not both");
    if (key !== undefined && !key.startsWith("dck_")) {
      throw new TypeError("the API key is not valid, because it does not begin with dck_");
    }
    this.api = api.replace(/\/+$/, "");
    this.#options = key === undefined ? options : { ...options, token: key };
    this.#prefix = key === undefined ? "" : "/key";
  }

  /** Returns a client of the API in the environment: DUECOURSE_API, and DUECOURSE_TOKEN or DUECOURSE_API_KEY. */
  static fromEnv(
    options: ClientOptions = {},
    environment: Record<string, string | undefined> = variables(),
  ): Client {
    const { DUECOURSE_API: api, DUECOURSE_TOKEN: token, DUECOURSE_API_KEY: key } = environment;
    if (!api) throw new TypeError("no API address is configured; set DUECOURSE_API");
    if (options.token !== undefined || options.key !== undefined) return new Client(api, options);
    return new Client(api, { ...options, token: token || undefined, key: key || undefined });
  }

  /** Returns the document of any request: `call("GET", "stats")`. */
  async call(method: string, path: string, request: CallRequest = {}): Promise<Record<string, unknown>> {
    return (await this.#send(method, path, request)).document;
  }

  /** @internal Performs an operation of the API. */
  async operate(entry: OperationEntry, given: Record<string, unknown> = {}): Promise<unknown> {
    const [method, template, page] = entry;
    const rest = { ...given };
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest[name];
      delete rest[name];
      if (typeof value !== "string") throw new TypeError(`${name} is missing; pass a text`);
      if (["", ".", ".."].includes(value)) {
        throw new TypeError(`${name} must not be empty, a dot or two dots; pass the id or the key`);
      }
      return encodeURIComponent(value);
    });
    const { body, ifMatch, ifNoneMatch, idempotencyKey, correlationId, token, signal, ...query } = rest;
    const request = { body, ifMatch, ifNoneMatch, idempotencyKey, correlationId, token, signal, query };
    const received = await this.#send(method, path, request as CallRequest);
    if (method === "DELETE") return undefined;
    if (page) return this.#page(entry, given, received.document);
    const { document, etag, answeredAt } = received;
    return Object.assign(document, { etag, answeredAt });
  }

  #page(
    entry: OperationEntry,
    given: Record<string, unknown>,
    document: Record<string, unknown>,
  ): Page<unknown> {
    const { items, next_cursor: next, total = null, unreadable = [] } = document;
    if (!Array.isArray(items)) throw new ApiError(200, notOurs(200, JSON.stringify(document)));
    const following = (cursor: string) =>
      this.operate(entry, { ...given, cursor, total: undefined }) as Promise<Page<unknown>>;
    const cursor = typeof next === "string" ? next : null;
    return new Page(items, cursor, following, total as Total | null, unreadable as string[]);
  }

  async #send(method: string, path: string, request: CallRequest): Promise<Received> {
    const { retries = RETRIES, wait = waiting, random = Math.random } = this.#options;
    const made = this.#request(method, path, request);
    const rule = { method, conditional: (request.ifMatch ?? request.ifNoneMatch ?? null) !== null };
    const failures: Failure[] = [];
    for (;;) {
      try {
        return await this.#once(made, request);
      } catch (error) {
        if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) throw error;
        failures.push(error);
        if (deletedBefore(rule, failures)) return DELETED;
        const seconds = waitBeforeNext(rule, failures, retries, random());
        if (seconds === null) throw error;
        await wait(seconds, request.signal);
      }
    }
  }

  #request(method: string, path: string, request: CallRequest): { url: string; init: RequestInit } {
    if (
      path
        .split("?")[0]
        ?.split("/")
        .some((segment) => DOTS.test(segment))
    ) {
      throw new TypeError(`the path ${path} must not contain the segments . and .., which change the route`);
    }
    const url = new URL(`${this.api}${request.token === undefined ? this.#prefix : ""}/v1/${path}`);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined && value !== null) url.searchParams.set(name, parameter(value));
    }
    const headers = new Headers();
    const set = (name: string, value: string | undefined) => {
      if (value !== undefined && value !== null) headers.set(name, value);
    };
    const generated = method === "POST" && request.token === undefined ? crypto.randomUUID() : undefined;
    set("Idempotency-Key", request.idempotencyKey ?? generated);
    set("If-Match", request.ifMatch);
    set("If-None-Match", request.ifNoneMatch);
    set("X-Correlation-Id", request.correlationId);
    set("Authorization", request.token && `Bearer ${request.token}`);
    const init: RequestInit = { method, headers, redirect: "manual" };
    if (request.body !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(request.body, withoutMeta);
    }
    return { url: url.href, init };
  }

  async #once({ url, init }: { url: string; init: RequestInit }, request: CallRequest): Promise<Received> {
    const made = new Request(url, { ...init, signal: request.signal ?? null });
    return understood(await exchanged(made, this.#options), this.#options.parse ?? JSON.parse);
  }
}

export interface Client extends Methods {}

for (const [name, entry] of Object.entries(OPERATIONS)) {
  Object.defineProperty(Client.prototype, name, {
    value(this: Client, given?: Record<string, unknown>) {
      return this.operate(entry, given);
    },
  });
}

function understood({ response, body }: Exchanged, parse: (text: string) => unknown): Received {
  const document = parsed(body, parse);
  if (document === null) throw new ApiError(response.status, notOurs(response.status, body));
  const instant = instantOf(response.headers.get("date"));
  return {
    document,
    etag: response.headers.get("etag"),
    answeredAt: instant === null ? null : new Date(instant),
  };
}

/** The segments that a URL resolves, also if they are quoted. */
const DOTS = /^(\.|%2e){1,2}$/i;

/** Leaves `etag` and `answeredAt` of a response, or of a copy of one, out of a body. */
function withoutMeta(_: string, value: unknown): unknown {
  if (!isObject(value) || !("etag" in value) || !isInstant(value.answeredAt)) return value;
  const { etag, answeredAt, ...document } = value;
  return document;
}

const isInstant = (value: unknown) => value === null || value instanceof Date;

function parameter(value: unknown): string {
  if (Array.isArray(value)) return value.map(parameter).join(",");
  return value instanceof Date ? value.toISOString() : String(value);
}

function waiting(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, seconds * 1_000);
    signal?.addEventListener("abort", end, { once: true });
  });
}

function variables(): Record<string, string | undefined> {
  const { process } = globalThis as { process?: { env: Record<string, string | undefined> } };
  return process?.env ?? {};
}
