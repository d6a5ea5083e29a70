/** The arguments and answers of the operations, derived from the types that openapi-typescript writes. */

import type { CallbackName } from "./operations.js";
import type { Page } from "./page.js";
import type { components, operations } from "./schema.js";

/** The schemas of the API's document by name: `Schemas["Job"]`. */
export type Schemas = components["schemas"];

/** The operations that the client offers, by their `operationId`. */
export type OperationName = Exclude<keyof operations, "getDocument">;

/** Properties of the whole response. They are not enumerable. */
export interface Meta {
  /** The ETag for `ifMatch`; null without one. */
  readonly etag: string | null;
  /** The time of the response by the API's clock; null if it is unknown. */
  readonly answeredAt: Date | null;
}

/** The options of every call. */
export interface CallOptions {
  /** Ends the call, its retries and its waits. */
  signal?: AbortSignal;
  /** Your own correlation id; the log lines of the stage contain it. */
  correlationId?: string;
}

type Given<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;
type StateOf<Name> = Name extends "findRuns" | "listRuns" ? Schemas["RunState"] : Schemas["JobState"];
type QueryValue<Name, Key, V> = Key extends "state"
  ? StateOf<Name> | readonly StateOf<Name>[]
  : Key extends "dry_run"
    ? boolean
    : V extends string
      ? V | Date
      : V;
type Query<Name extends OperationName> = {
  [Key in keyof Given<operations[Name]["parameters"]["query"]>]: QueryValue<
    Name,
    Key,
    Given<operations[Name]["parameters"]["query"]>[Key]
  >;
};

type HeaderNames = {
  "If-Match": "ifMatch";
  "If-None-Match": "ifNoneMatch";
  "Idempotency-Key": "idempotencyKey";
};
type HeaderArguments<H> = {
  [Key in keyof HeaderNames as Key extends keyof H ? HeaderNames[Key] : never]?: string;
};

type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;
type BodyArgument<O> = O extends { requestBody: infer Body }
  ? { body: Json<Body> }
  : O extends { requestBody?: infer Body }
    ? { body?: Json<Exclude<Body, undefined>> }
    : unknown;

/** The arguments of an operation: the parameters of its path and query, its headers, its body. */
export type Arguments<Name extends OperationName> = Given<operations[Name]["parameters"]["path"]> &
  Query<Name> &
  HeaderArguments<Given<operations[Name]["parameters"]["header"]>> &
  BodyArgument<operations[Name]> &
  (Name extends CallbackName
    ? {
        /** The callback token of the attempt (`X-Duecourse-Token`). */
        token: string;
      }
    : unknown) &
  CallOptions;

type Success<R> =
  R extends Record<number, unknown>
    ? { [Status in keyof R]: Status extends 200 | 201 | 202 ? Json<R[Status]> : never }[keyof R]
    : never;
type Document<Name extends OperationName> = Success<operations[Name]["responses"]>;

/** The result of a method: a page of a list, nothing for a deletion, otherwise the document. */
export type Answer<Name extends OperationName> = [Document<Name>] extends [never]
  ? undefined
  : Document<Name> extends { items: (infer Item)[]; next_cursor: string | null }
    ? Page<Item>
    : Document<Name> & Meta;

type NoneNeeded<T> = Record<never, never> extends T ? true : false;

/** A method for each operation of the API: `getJob({ job_id: "nightly" })`. */
export type Methods = {
  readonly [Name in OperationName]: NoneNeeded<Arguments<Name>> extends true
    ? (given?: Arguments<Name>) => Promise<Answer<Name>>
    : (given: Arguments<Name>) => Promise<Answer<Name>>;
};
