import { expect, test } from "vitest";
import { fieldText } from "./exact";

test("numbers stay as they were sent", () => {
  const text = '{"result": {"id": 9007199254740993, "share": 0.10000000000000000001}, "other": 1}';
  expect(fieldText(text, "result")).toBe(
    '{\n  "id": 9007199254740993,\n  "share": 0.10000000000000000001\n}',
  );
});

test.each([
  ['{"result": null}', "null"],
  ['{"result": "text"}', '"text"'],
  ["{}", ""],
])("%s", (text, shown) => {
  expect(fieldText(text, "result")).toBe(shown);
});
