import { describe, expect, it } from "vitest";
import { asProblem, problemOf } from "./problem";

describe("problems", () => {
  it("are in the API's own words, at their fields", async () => {
    const body = {
      title: "Unprocessable Entity",
      detail: "One field is wrong",
      errors: [{ pointer: "/schedule", detail: "has no hour 25" }],
      request_id: "r-1",
    };
    const problem = await problemOf(new Response(JSON.stringify(body), { status: 422 }));
    expect(problem).toMatchObject({
      status: 422,
      detail: "One field is wrong",
      requestId: "r-1",
      passes: false,
    });
    expect(problem.fields).toEqual([{ field: "schedule", message: "has no hour 25" }]);
  });

  it("say when to ask again", async () => {
    const problem = await problemOf(new Response("{}", { status: 429, headers: { "Retry-After": "7" } }));
    expect(problem).toMatchObject({ retryAfter: 7, passes: true, title: "Too many requests" });
  });

  it.each(["<html>busy</html>", "[]", "null", '{"errors": "all"}', '{"errors": [1, null]}'])(
    "are found in an answer that is not the API's: %s",
    async (body) => {
      expect(await problemOf(new Response(body, { status: 503 }))).toMatchObject({ status: 503, fields: [] });
    },
  );

  it("tell a network that fails from an answer that nobody understands", () => {
    expect(asProblem(new TypeError("Failed to fetch")).passes).toBe(true);
    const nonsense = asProblem(new SyntaxError("Unexpected token <"));
    expect([nonsense.title, nonsense.passes]).toEqual(["The response is not from the API", false]);
    expect(asProblem("what").detail).toBe("what");
  });
});
