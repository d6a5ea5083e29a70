import { expect, test } from "vitest";
import { fitted, fitting } from "./fitted";

const COLUMNS = [
  { id: "job", width: 200, grow: 2 },
  { id: "state", width: 100 },
  { id: "error", width: 150, grow: 1 },
];

test("the columns that grow share the room that is left", () => {
  expect([...fitted(COLUMNS, 750)]).toEqual([
    ["job", 400],
    ["state", 100],
    ["error", 250],
  ]);
});

test("without room each column has what it needs", () => {
  expect([...fitted(COLUMNS, 300).values()]).toEqual([200, 100, 150]);
});

test("the last of the spare columns are left out first", () => {
  const columns = [
    ...COLUMNS,
    { id: "tags", width: 50, spare: true },
    { id: "owner", width: 50, spare: true },
  ];
  const ids = (room: number) => fitting(columns, room).map((each) => each.id);
  expect(ids(550)).toEqual(["job", "state", "error", "tags", "owner"]);
  expect(ids(549)).toEqual(["job", "state", "error", "tags"]);
  expect(ids(10)).toEqual(["job", "state", "error"]);
});
