import { expect, test } from "vitest";
import { changed, changesOf, conflicts } from "./changes";
import { type Doc, inexact, read, valueAt, withValue } from "./document";

const JOB: Doc = {
  id: "nightly",
  schedule: "0 2 * * *",
  retry: { max_attempts: 4, backoff: "fixed" },
  of_tomorrow: { kept: true },
  target: { type: "http", url: "https://a.example/" },
};

test("a field is set, and those that nobody knows stay, in their order", () => {
  const after = withValue(JOB, ["retry", "max_attempts"], 2);
  expect(valueAt(after, ["retry"])).toEqual({ max_attempts: 2, backoff: "fixed" });
  expect(after.of_tomorrow).toEqual({ kept: true });
  expect(Object.keys(after)).toEqual(Object.keys(JOB));
  expect(withValue(JOB, ["missed", "policy"], "skip").missed).toEqual({ policy: "skip" });
  expect(withValue(JOB, ["retry", "backoff"], undefined).retry).toEqual({ max_attempts: 4 });
  expect(withValue({ id: "a", rate: { key: "crm" } }, ["rate", "key"], undefined)).toEqual({ id: "a" });
  expect(valueAt({}, ["constructor", "name"])).toBeUndefined();
});

test("what is no object is no definition", () => {
  expect(() => read("[1]")).toThrow("the text is not a JSON object");
  expect(() => read("{")).toThrow(SyntaxError);
});

test("changes are listed by their fields, and can be made to another document", () => {
  const mine = changed(JOB, [
    { path: ["retry", "max_attempts"], before: 4, after: 9 },
    { path: ["target"], before: JOB.target, after: { type: "sqs", queue: "orders" } },
    { path: ["id"], before: "nightly", after: undefined },
  ]);
  const changes = changesOf(JOB, mine);
  expect(changes.map((each) => each.path.join("/"))).toEqual(["id", "retry/max_attempts", "target"]);
  const theirs = { ...JOB, name: "theirs", retry: { max_attempts: 1, backoff: "fixed" } };
  expect(changed(theirs, changes)).toEqual({ ...mine, name: "theirs" });
  expect(conflicts(changes, changesOf(JOB, theirs)).map((each) => each.path.join("/"))).toEqual([
    "retry/max_attempts",
  ]);
  expect(changesOf(JOB, Object.fromEntries(Object.entries(JOB).toReversed()))).toEqual([]);
});

test("a field may be called as objects' own properties are", () => {
  const [before, after] = [
    read('{"payload": {}}'),
    read('{"payload": {"constructor": 1, "__proto__": {"x": 2}}}'),
  ];
  expect(changesOf(before, after)).toEqual([
    { path: ["payload", "constructor"], before: undefined, after: 1 },
    { path: ["payload", "__proto__"], before: undefined, after: { x: 2 } },
  ]);
  expect(JSON.stringify(changed(before, changesOf(before, after)))).toBe(JSON.stringify(after));
});

test("whole numbers that would be sent as others are named", () => {
  expect(inexact(read('{"payload": {"ids": [1, 12345678901234567890]}, "x": 9007199254740991}'))).toEqual([
    "/payload/ids/1",
  ]);
  expect(inexact(read('{"payload": {"x": 1e400, "y": 1.5}}'))).toEqual(["/payload/x"]); // infinite: sent as null
});
