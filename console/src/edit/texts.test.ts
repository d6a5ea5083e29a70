import { expect, test } from "vitest";
import { meant, shown } from "./texts";

test.each([
  ["text", "plain", "plain"],
  ["number", "5", 5],
  ["number", "5x", "5x"],
  ["list", "2xx, 404", ["2xx", "404"]],
  ["list", "2026-12-24, * * * * SAT,SUN", ["2026-12-24", "* * * * SAT,SUN"]],
  ["pairs", "X-Team: sales\nX-Of: a:b", { "X-Team": "sales", "X-Of": "a:b" }],
  ["secret", "hooks", { secret: "hooks" }],
  ["json", '{\n  "a": [\n    1\n  ]\n}', { a: [1] }],
] as const)("%s: %s is the text of its value", (kind, text, value) => {
  expect(meant(kind, text)).toEqual(value);
  expect(shown(kind, meant(kind, text))).toBe(text);
});

test("nothing is no value, and what is no JSON means nothing", () => {
  for (const kind of ["text", "number", "list", "pairs", "secret", "json"] as const) {
    expect(meant(kind, "")).toBeUndefined();
    expect(shown(kind, undefined)).toBe("");
    expect(shown(kind, null)).toBe("");
  }
  expect(() => meant("json", "{")).toThrow(SyntaxError);
  expect(shown("list", "not a list")).toBe("not a list");
});
