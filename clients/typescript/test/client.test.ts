import { describe, expect, expectTypeOf, test } from "vitest";
import {
  ApiUnreachableError,
  Client,
  exchange,
  NotFoundError,
  type Page,
  type Schemas,
} from "../src/index.js";
import { OPERATIONS } from "../src/operations.js";

const JOB = { id: "nightly", state: "ACTIVE" };

/** A client whose API answers each request with the next of these. */
function answered(...answers: (() => Promise<Response> | Response)[]) {
  const seen: Request[] = [];
  const client = new Client("https://api.example/", {
    fetch: async (request) => {
      seen.push(request);
      const answer = answers[Math.min(seen.length, answers.length) - 1];
      if (answer === undefined) throw new TypeError("no answer");
      return answer();
    },
    wait: async () => undefined,
  });
  return { client, seen };
}

describe("client", () => {
  test("needs the address of an API", () => {
    expect(() => new Client("api.example")).toThrow("it begins with https://");
    expect(() => Client.fromEnv({}, {})).toThrow("set DUECOURSE_API");
  });

  test("reads address and token from the environment", async () => {
    const seen: Request[] = [];
    const fetch = async (request: Request) => {
      seen.push(request);
      return Response.json(JOB);
    };
    const environment = { DUECOURSE_API: "https://api.example", DUECOURSE_TOKEN: "t" };
    await Client.fromEnv({ fetch }, environment).getJob({ job_id: "nightly" });
    expect(seen[0]?.headers.get("authorization")).toBe("Bearer t");
  });

  test("sends an API key below its prefix, but not with the token of a run", async () => {
    const seen: Request[] = [];
    const fetch = async (request: Request) => {
      seen.push(request);
      return Response.json(JOB);
    };
    const environment = { DUECOURSE_API: "https://api.example/base", DUECOURSE_API_KEY: "dck_acme.SECRET" };
    const client = Client.fromEnv({ fetch }, environment);
    await client.getJob({ job_id: "nightly" });
    await client.call("POST", "runs/x/heartbeat", { token: "t" });
    await Client.fromEnv({ fetch, token: "t" }, environment).getJob({ job_id: "nightly" });
    await new Client("https://api.example", { fetch, key: "dck_b.c" }).getJob({ job_id: "nightly" });
    expect(seen.map(({ url, headers }) => [url, headers.get("authorization")])).toEqual([
      ["https://api.example/base/key/v1/jobs/nightly", "Bearer dck_acme.SECRET"],
      ["https://api.example/base/v1/runs/x/heartbeat", "Bearer t"],
      ["https://api.example/base/v1/jobs/nightly", "Bearer t"],
      ["https://api.example/key/v1/jobs/nightly", "Bearer dck_b.c"],
    ]);
  });

  test("rejects a key that is not one, and a key with a token", () => {
    expect(() => new Client("https://api.example", { key: "eyJ" })).toThrow("does not begin with dck_");
    const both = { key: "dck_a.b", token: "t" };
    expect(() => new Client("https://api.example", both)).toThrow("not both");
    const environment = {
      DUECOURSE_API: "https://api.example",
      DUECOURSE_TOKEN: "t",
      DUECOURSE_API_KEY: "dck_a.b",
    };
    expect(() => Client.fromEnv({}, environment)).toThrow("not both");
  });

  test("gets a new token before each try", async () => {
    let count = 0;
    const tokens: (string | null)[] = [];
    const client = new Client("https://api.example", {
      token: async () => `t${++count}`,
      wait: async () => undefined,
      fetch: async (request) => {
        tokens.push(request.headers.get("authorization"));
        return count < 2 ? new Response("", { status: 503 }) : Response.json(JOB);
      },
    });
    await client.getJob({ job_id: "nightly" });
    expect(tokens).toEqual(["Bearer t1", "Bearer t2"]);
  });

  test("sends no request without a needed name", async () => {
    const { client, seen } = answered(() => Response.json(JOB));
    const none = {} as { job_id: string };
    await expect(client.getJob(none)).rejects.toThrow("job_id is missing");
    expect(seen).toHaveLength(0);
  });

  test("ends a call at the caller's wish, without a retry", async () => {
    const controller = new AbortController();
    const { client, seen } = answered(() => {
      controller.abort(new Error("not needed any more"));
      throw new TypeError("fetch failed");
    });
    const call = client.getJob({ job_id: "nightly", signal: controller.signal });
    await expect(call).rejects.toThrow("not needed any more");
    expect(seen).toHaveLength(1);
  });

  test("ends a wait at the caller's wish", async () => {
    const client = new Client("https://api.example", {
      fetch: async () => new Response("", { status: 503, headers: { "Retry-After": "60" } }),
    });
    const call = client.getJob({ job_id: "nightly", signal: AbortSignal.timeout(10) });
    await expect(call).rejects.toThrow("timeout");
  });

  test("names the cause when the API cannot be reached", async () => {
    const { client } = answered(() => {
      throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    });
    const call = client.getHealth();
    await expect(call).rejects.toThrow(ApiUnreachableError);
    await expect(call).rejects.toThrow(
      "there is no response from https://api.example (connect ECONNREFUSED)",
    );
  });

  test("keeps etag and answeredAt in a copy of a document, and leaves them out of bodies", async () => {
    const { client, seen } = answered(() =>
      Response.json(JOB, { headers: { ETag: '"1"', Date: "Sat, 21 Nov 2026 03:00:00 GMT" } }),
    );
    const job = await client.getJob({ job_id: "nightly" });
    const copy = { ...job, payload: { etag: "mine", answeredAt: "noon" } };
    expect([copy.etag, copy.answeredAt]).toEqual(['"1"', new Date("2026-11-21T03:00:00Z")]);
    await client.putJob({ job_id: "nightly", body: copy });
    expect(await seen[1]?.json()).toEqual({ ...JOB, payload: copy.payload });
    await client.createJobs({ body: { jobs: [copy] } });
    expect(await seen[2]?.json()).toEqual({ jobs: [{ ...JOB, payload: copy.payload }] });
  });

  test("sends instants of Date values", async () => {
    const { client, seen } = answered(() => Response.json({ items: [], next_cursor: null }));
    await client.findRuns({ since: new Date("2026-11-21T03:00:00Z") });
    expect(new URL(seen[0]?.url ?? "").searchParams.get("since")).toBe("2026-11-21T03:00:00.000Z");
  });

  test("a page names the jobs that the stage cannot read", async () => {
    const page = { items: [], next_cursor: null };
    const { client } = answered(() => Response.json({ ...page, unreadable: ["nightly"] }));
    expect((await client.listJobs()).unreadable).toEqual(["nightly"]);
    const { client: other } = answered(() => Response.json(page));
    expect((await other.listJobs()).unreadable).toEqual([]);
  });

  test("rejects path parameters and paths that reach another route", async () => {
    const { client, seen } = answered(() => Response.json(JOB));
    let tried = 0;
    for (const [, [method, path]] of Object.entries(OPERATIONS)) {
      for (const [, name = ""] of path.matchAll(/\{(\w+)\}/g)) {
        for (const value of ["", ".", ".."]) {
          const given = { job_id: "x", run_id: "x", workflow_id: "x", instant: "x", [name]: value };
          const call = client.operate([method, path, false], given);
          await expect(call).rejects.toThrow(`${name} must not be empty, a dot or two dots`);
          tried += 1;
        }
      }
    }
    expect(tried).toBeGreaterThan(90);
    for (const path of ["jobs/..", "jobs/./runs", "jobs/%2e%2E/stats", "../x", "jobs/..?limit=1"]) {
      await expect(client.call("DELETE", path)).rejects.toThrow("must not contain the segments");
    }
    expect(seen).toEqual([]);
  });

  test("sends tokens only with encryption, or to this machine", async () => {
    const seen: Request[] = [];
    const fetch = async (request: Request) => {
      seen.push(request);
      return Response.json(JOB);
    };
    for (const api of ["http://api.example", "http://10.0.0.1:8080"]) {
      const call = new Client(api, { token: "t", fetch }).getJob({ job_id: "nightly" });
      await expect(call).rejects.toThrow(`the token is not sent to ${api} without encryption; use https`);
    }
    const client = new Client("http://api.example", { fetch });
    await client.call("GET", "health");
    await expect(client.call("POST", "runs/x/heartbeat", { token: "t" })).rejects.toThrow("use https");
    for (const api of ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"]) {
      await new Client(api, { token: "t", fetch }).getJob({ job_id: "nightly" });
    }
    expect(seen).toHaveLength(4);
  });

  test("calls any other route", async () => {
    const { client, seen } = answered(() => Response.json({ ok: true }));
    expect(await client.call("POST", "jobs", { body: { id: "a" } })).toEqual({ ok: true });
    expect(seen[0]?.headers.get("idempotency-key")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("has types that find mistakes", () => {
    const { client } = answered();
    expectTypeOf(client.getJob).returns.resolves.toHaveProperty("schedule");
    expectTypeOf(client.listJobs).returns.resolves.toEqualTypeOf<Page<Schemas["Job"]>>();
    expectTypeOf(client.deleteJob).returns.resolves.toEqualTypeOf<undefined>();
    const mistakes = (): unknown[] => [
      // @ts-expect-error a job is needed
      client.getJob(),
      // @ts-expect-error a misspelled state
      client.findRuns({ state: "DAED" }),
      // @ts-expect-error a misspelled field
      client.createJob({ body: { schedul: "0 3 * * *" } }),
      // @ts-expect-error tags are a list
      client.createJob({ body: { schedule: null, tags: "billing" } }),
      client.patchJob({
        job_id: "a",
        body: { target: { url: "https://example.com", headers: { old: null } } },
      }),
      client.patchJob({ job_id: "a", body: { retry: { max_attempts: null }, missed: null } }),
      // @ts-expect-error a misspelled field of a target
      client.patchJob({ job_id: "a", body: { target: { ulr: "https://example.com" } } }),
      // @ts-expect-error a misspelled field of the retries
      client.patchJob({ job_id: "a", body: { retry: { max_attempt: 3 } } }),
      // @ts-expect-error a misspelled policy
      client.patchJob({ job_id: "a", body: { missed: { policy: "run_ones" } } }),
      // @ts-expect-error a callback needs its token
      client.completeRun({ run_id: "a.b", body: {} }),
    ];
    expect(mistakes).toBeTypeOf("function");
  });
});

describe("exchange", () => {
  const request = new Request("https://api.example/v1/stats");

  test("sends a request once, with the token, and returns the response", async () => {
    const seen: Request[] = [];
    const fetch = async (each: Request) => {
      seen.push(each);
      return Response.json({ ok: true }, { headers: { ETag: '"1"' } });
    };
    const response = await exchange({ fetch, token: () => "t" })(request);
    expect([await response.json(), response.headers.get("etag")]).toEqual([{ ok: true }, '"1"']);
    expect(seen.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer t"]);
  });

  test("returns a response without a body", async () => {
    const response = await exchange({ fetch: async () => new Response(null, { status: 204 }) })(request);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });

  test("rejects with the errors of the client", async () => {
    const send = exchange({ fetch: async () => Response.json({ type: "/problems/gone" }, { status: 404 }) });
    await expect(send(request)).rejects.toThrow(NotFoundError);
  });

  test("says whether the response came too late", async () => {
    const silent = (each: Request) =>
      new Promise<Response>((_, reject) => {
        each.signal.addEventListener("abort", () => reject(each.signal.reason));
      });
    const call = exchange({ fetch: silent, timeoutSeconds: 0.01 })(request);
    await expect(call).rejects.toMatchObject({ timedOut: true });
    const broken = exchange({ fetch: () => Promise.reject(new TypeError("fetch failed")) })(request);
    await expect(broken).rejects.toMatchObject({ timedOut: false });
  });
});
