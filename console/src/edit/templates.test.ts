import { expect, test } from "vitest";
import { FIRST, overwritten, TEMPLATES } from "./templates";

const [http = FIRST, sqs = FIRST] = TEMPLATES.map(({ doc }) => doc);

test("a template overwrites nothing of what stood there before anybody wrote", () => {
  expect(overwritten(FIRST, FIRST, http)).toEqual([]);
  expect(overwritten({ ...FIRST, id: "mine" }, FIRST, http)).toEqual([]);
  expect(overwritten({ ...FIRST, ...http }, { ...FIRST, ...http }, sqs)).toEqual([]);
});

test("a template overwrites what was written in its fields", () => {
  expect(overwritten({ ...FIRST, schedule: "0 4 * * *" }, FIRST, http)).toEqual(["schedule"]);
  expect(overwritten({ ...FIRST, payload: [1] }, FIRST, http)).toEqual(["payload"]);
  expect(overwritten({ ...FIRST, target: { type: "sqs", queue: "mine" } }, FIRST, sqs)).toEqual(["target"]);
});
