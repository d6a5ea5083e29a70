import { ApiUnreachableError, exchange } from "duecourse";
import { describe, expect, it } from "vitest";
import { type ApiProblem, asProblem } from "./problem";

/** The problem of a request with this response. */
async function problemOf(response: Response): Promise<ApiProblem> {
  const send = exchange({ fetch: async () => response });
  return send(new Request("https://api.example/v1/stats")).then(() => {
    throw new Error("it succeeded");
  }, asProblem);
}

describe("problems", () => {
  it("have the API's own words, at their fields", async () => {
    const body = {
      type: "/problems/invalid-job",
      title: "Unprocessable Entity",
      detail: "One field is wrong",
      errors: [{ pointer: "/schedule", detail: "has no hour 25" }],
      request_id: "r-1",
    };
    const problem = await problemOf(new Response(JSON.stringify(body), { status: 422 }));
    expect(problem).toMatchObject({
      status: 422,
      title: "Unprocessable Entity",
      detail: "One field is wrong",
      requestId: "r-1",
      passes: false,
    });
    expect(problem.fields).toEqual([{ field: "schedule", message: "has no hour 25" }]);
  });

  it("have the time of the next try", async () => {
    const problem = await problemOf(new Response("{}", { status: 429, headers: { "Retry-After": "7" } }));
    expect(problem).toMatchObject({ retryAfter: 7, passes: true, title: "Too many requests" });
  });

  it.each(["<html>busy</html>", "[]", "null", '{"errors": "all"}', '{"errors": [1, null]}'])(
    "are found in a response that is not the API's: %s",
    async (body) => {
      const problem = await problemOf(new Response(body, { status: 503 }));
      expect(problem).toMatchObject({ status: 503, title: "The API is busy", fields: [] });
      expect(problem.detail).toMatch(/^Try again/);
    },
  );

  it("distinguish a network that fails, a timeout, and nonsense", () => {
    const broken = asProblem(new ApiUnreachableError("fetch failed"));
    expect([broken.passes, broken.late]).toEqual([true, false]);
    const late = asProblem(new ApiUnreachableError("too long", true));
    expect([late.passes, late.late]).toEqual([true, true]);
    const nonsense = asProblem(new SyntaxError("Unexpected token <"));
    expect([nonsense.title, nonsense.passes]).toEqual(["The response is not from the API", false]);
    expect(asProblem("what").detail).toBe("what");
  });
});
