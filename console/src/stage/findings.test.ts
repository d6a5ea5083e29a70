import { expect, test } from "vitest";
import { sorted, summary } from "./findings";

const CHECKS = [
  { name: "tick", verdict: "ok" },
  { name: "alarms", verdict: "unknown" },
  { name: "lane high", verdict: "bad" },
] as const;

test("what is wrong comes first, the worst at the top", () => {
  const { wrong, fine } = sorted(CHECKS);
  expect(wrong.map((check) => check.name)).toEqual(["lane high", "alarms"]);
  expect(fine.map((check) => check.name)).toEqual(["tick"]);
});

test("the summary counts each verdict that there is", () => {
  expect(summary(CHECKS)).toBe("1 bad, 1 unknown, 1 ok");
});
