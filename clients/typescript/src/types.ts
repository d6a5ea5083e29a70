/** The arguments and answers of the operations, derived from the types that openapi-typescript writes. */

import type { CallbackName } from "./operations.js";
import type { Page } from "./page.js";
import type { components, operations } from "./schema.js";

/** The schemas of the API's document by name: `Schemas["Job"]`. */
export type Schemas = components["schemas"];

/** The operations that the client offers, by their `operationId`. */
export type OperationName = Exclude<keyof operations, "getDocument">;

/** A job, as in responses. */
export type Job = Schemas["Job"];

/** A run, as in responses. */
export type Run = Schemas["Run"];

/** Properties of the whole response. A spread copies them. The client never sends them back in a body. */
export interface Meta {
  /** The ETag for `ifMatch`; null without one. */
  readonly etag: string | null;
  /** The time of the response by the API's clock; null if it is unknown. */
  readonly answeredAt: Date | null;
}

/** The options of every call. */
export interface CallOptions {
  /** Ends the call, its retries and its waits. */
  signal?: AbortSignal | undefined;
  /** Your own correlation id; the log lines of the stage contain it. */
  correlationId?: string | undefined;
}

type Given<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;
type QueryValue<Key, V> = [V] extends ["true" | "false"]
  ? boolean | V
  : Key extends "state"
    ? string extends V
      ? Schemas["RunState"] | readonly Schemas["RunState"][]
      : V
    : V;
type Query<Q> = { [Key in keyof Q]: QueryValue<Key, NonNullable<Q[Key]>> | undefined };

type HeaderNames = {
  "If-Match": "ifMatch";
  "If-None-Match": "ifNoneMatch";
  "Idempotency-Key": "idempotencyKey";
};
type HeaderArguments<H> = {
  [Key in keyof HeaderNames as Key extends keyof H ? HeaderNames[Key] : never]?: string | undefined;
};

type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;
type BodyArgument<Name extends OperationName> = operations[Name] extends { requestBody: infer Body }
  ? { body: Name extends "putJob" ? Stored<Json<Body>> : Json<Body> }
  : operations[Name] extends { requestBody?: infer Body }
    ? { body?: Json<Exclude<Body, undefined>> | undefined }
    : unknown;

/** A body, or a stored job with changes: its target has the types of responses. */
type Stored<Body> = Body | (Omit<Body, "target"> & Pick<Job, "target">);

/** The arguments of an operation: the parameters of its path and query, its headers, its body. */
export type Arguments<Name extends OperationName> = Given<operations[Name]["parameters"]["path"]> &
  Query<Given<operations[Name]["parameters"]["query"]>> &
  HeaderArguments<Given<operations[Name]["parameters"]["header"]>> &
  BodyArgument<Name> &
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
