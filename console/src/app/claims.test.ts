import { describe, expect, it } from "vitest";
import { scopesOf } from "./claims";

describe("scopes", () => {
  it.each([
    [{ scope: "openid duecourse/jobs:read ops" }, ["jobs:read", "ops"]],
    [{ scp: ["jobs:write"] }, ["jobs:write"]],
    [{}, []],
  ])("of %j are %j", (claims, scopes) => {
    expect(scopesOf(claims)).toEqual(scopes);
  });
});
