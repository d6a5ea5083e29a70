import { describe, expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { appended, isCut, MOST_CHARACTERS, NOTHING_READ, readOn } from "./log";

type Page = Schemas["RunLog"];

function page(texts: [number, string][], more: Partial<Page> = {}): Page {
  return {
    texts: texts.map(([attempt, text]) => ({
      attempt,
      source: "work",
      written_at: "2026-03-28T12:00:00.000Z",
      text,
    })),
    after: "1:work.1.1.4",
    more: false,
    open: false,
    ...more,
  };
}

describe("the log of a run", () => {
  test("has a part for each attempt, without the colors of a terminal", () => {
    const first = appended(NOTHING_READ, page([[1, "one \u001b[31mre"]], { open: true }));
    const log = appended(
      first,
      page([
        [1, "d\u001b[0m\r\n"],
        [2, "two\n"],
      ]),
    );
    expect(log.parts).toEqual([
      { attempt: 1, source: "work", text: "one red\n" },
      { attempt: 2, source: "work", text: "two\n" },
    ]);
    expect([first.open, log.open]).toEqual([true, false]);
  });

  test("is read page by page, and continued at its end", async () => {
    const asked: (string | null)[] = [];
    const pages = [
      page([[1, "a"]], { more: true, after: "x" }),
      page([[1, "b"]], { after: "y" }),
      page([], { after: "y" }),
    ];
    const read = async (after: string | null) => {
      asked.push(after);
      return pages.shift() as Page;
    };
    const log = await readOn(NOTHING_READ, read);
    expect((await readOn(log, read)).parts).toEqual([{ attempt: 1, source: "work", text: "ab" }]);
    expect(asked).toEqual([null, "x", "y"]);
  });

  test("has a new line for the text of another source", () => {
    const log = ["work", "call", "work"].reduce((read, source) => {
      const next = page([[1, `${source}.`]]);
      return appended(read, {
        ...next,
        texts: next.texts.map((each) => ({ ...each, source }) as typeof each),
      });
    }, NOTHING_READ);
    expect(log.parts).toEqual([{ attempt: 1, source: "work", text: "work.\ncall.\nwork." }]);
  });

  test("is not cut if all of it is read, however long it is", () => {
    const text: [number, string][] = [[1, "x".repeat(MOST_CHARACTERS)]];
    const ends = [{}, { more: true }, { open: true }];
    expect(ends.map((end) => isCut(appended(NOTHING_READ, page(text, end))))).toEqual([false, true, true]);
  });

  test("is cut if it is too long for a browser", async () => {
    let count = 0;
    const log = await readOn(NOTHING_READ, async () => {
      count += 1;
      return page([[1, "x".repeat(MOST_CHARACTERS / 4)]], { more: true });
    });
    expect([count, isCut(log), isCut(NOTHING_READ)]).toEqual([4, true, false]);
  });
});
