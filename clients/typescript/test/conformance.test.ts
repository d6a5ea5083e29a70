/** The TypeScript client passes the conformance cases of all clients (clients/conformance.json). */

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Client, Page } from "../src/index.js";

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  raw?: string;
  stall?: string;
  drop?: true;
}
interface Sent {
  method?: string;
  target?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  absent?: string[];
  body?: unknown;
}
interface Case {
  name: string;
  call: { operation: string; arguments: Record<string, unknown> };
  answers: Answer[];
  timeout?: number;
  retries?: number;
  expected: {
    requests?: number;
    sent?: Sent;
    last?: Sent;
    one_key?: true;
    waits?: [number, number][];
    result?: Record<string, unknown>;
    items?: string[];
    etag?: string;
    error?: {
      kind: string;
      status?: number;
      type?: string;
      message?: string;
      retry_after?: number | null;
      faults?: [string, string][];
    };
  };
}
interface Seen {
  method: string;
  target: string;
  headers: IncomingMessage["headers"];
  body: unknown;
}

const { cases } = JSON.parse(readFileSync(new URL("../../conformance.json", import.meta.url), "utf-8")) as {
  cases: Case[];
};

/** A server that sends these answers one after the other, the last one again and again. */
async function serving(answers: Answer[]): Promise<{ server: Server; seen: Seen[]; api: string }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    const { method = "", url = "", headers } = request;
    seen.push({ method, target: url, headers, body: text === "" ? null : JSON.parse(text) });
    respond(answers[Math.min(seen.length, answers.length) - 1] as Answer, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, seen, api: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/` };
}

function respond(answer: Answer, response: ServerResponse): void {
  const { socket } = response;
  if (answer.raw !== undefined) socket?.end(Buffer.from(answer.raw, "latin1"));
  else if (answer.stall !== undefined) socket?.write(Buffer.from(answer.stall, "latin1"));
  else if (answer.drop) socket?.destroy();
  else {
    const content = "json" in answer ? JSON.stringify(answer.json) : (answer.text ?? "");
    response.writeHead(answer.status ?? 200, {
      "Content-Type": "application/json",
      Connection: "close",
      ...answer.headers,
    });
    response.end(content);
  }
}

function matches(request: Seen | undefined, expected: Sent | undefined): void {
  if (request === undefined || expected === undefined) return;
  for (const part of ["method", "target", "body"] as const) {
    if (part in expected) expect(request[part]).toEqual(expected[part]);
  }
  const { searchParams } = new URL(request.target, "http://any");
  if (expected.query) expect(Object.fromEntries(searchParams)).toEqual(expected.query);
  expect(request.headers).toMatchObject(expected.headers ?? {});
  for (const name of expected.absent ?? []) expect(request.headers).not.toHaveProperty(name);
}

/** What a call came to: its answer with the ids of all items, or its error. */
async function played(client: Client, { operation, arguments: given }: Case["call"]) {
  try {
    const method = client[operation as "getJob"] as (given: unknown) => Promise<unknown>;
    const answer = await method.call(client, given);
    const items: string[] = [];
    if (answer instanceof Page) for await (const item of answer) items.push((item as { id: string }).id);
    return { answer, items };
  } catch (error) {
    return { error: error as Error };
  }
}

test.each(cases)("client conforms: $name", async ({ call, answers, timeout, retries, expected }) => {
  const { server, seen, api } = await serving(answers);
  const waits: number[] = [];
  const client = new Client(api, {
    token: "client-token",
    wait: async (seconds) => void waits.push(seconds),
    ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
    ...(retries === undefined ? {} : { retries }),
  });
  const { answer, items, error } = await played(client, call);
  server.closeAllConnections();
  server.close();

  if (expected.requests !== undefined) expect(seen).toHaveLength(expected.requests);
  matches(seen[0], expected.sent);
  matches(seen[seen.length - 1], expected.last);
  if (expected.one_key) expect(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  if (expected.waits) {
    expect(waits).toHaveLength(expected.waits.length);
    expected.waits.forEach(([least, most], index) => {
      expect(waits[index]).toBeGreaterThanOrEqual(least);
      expect(waits[index]).toBeLessThanOrEqual(most);
    });
  }
  if (expected.error === undefined) {
    expect(error).toBeUndefined();
    if (expected.result) expect(answer).toMatchObject(expected.result);
    if (expected.items) expect(items).toEqual(expected.items);
    if (expected.etag) expect(answer).toHaveProperty("etag", expected.etag);
    return;
  }
  const { kind, message = "", faults, retry_after: retryAfter, ...parts } = expected.error;
  expect(error?.name).toBe(kind);
  expect(error?.message).toContain(message);
  expect(error).toMatchObject(parts);
  if (retryAfter !== undefined) expect(error).toHaveProperty("retryAfter", retryAfter);
  if (faults) {
    expect((error as unknown as { faults: unknown }).faults).toEqual(
      faults.map(([where, detail]) => ({ where, detail })),
    );
  }
});
