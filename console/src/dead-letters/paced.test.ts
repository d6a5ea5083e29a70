import { describe, expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { type Portion, paced, patiently } from "./paced";

const never = new AbortController().signal;
const some = (sent: number, more = true): Portion => ({ sent, refused: 0, refusals: [], more });

describe("sending at a pace", () => {
  test("waits after each portion as long as the pace asks for", async () => {
    const left = [some(5), some(5), some(2, false)];
    const asked: number[] = [];
    const waited: number[] = [];
    let sent = 0;
    await paced(
      async (count) => {
        asked.push(count);
        return left.shift() ?? some(0, false);
      },
      10,
      never,
      (portion) => {
        sent += portion.sent;
      },
      async (seconds) => void waited.push(seconds),
    );
    expect({ sent, asked, waited }).toEqual({ sent: 12, asked: [5, 5, 5], waited: [0.5, 0.5] });
  });

  test("a slow pace sends one at a time, a fast one at most a hundred", async () => {
    const asked: number[] = [];
    const send = async (count: number) => {
      asked.push(count);
      return some(count, false);
    };
    await paced(send, 0.1, never, () => {});
    await paced(send, 1_000, never, () => {});
    expect(asked).toEqual([1, 100]);
  });

  test("stops after the portion during which it was told to", async () => {
    const stop = new AbortController();
    let portions = 0;
    const send = async () => {
      portions += 1;
      stop.abort();
      return some(1);
    };
    await paced(send, 0.001, stop.signal, () => {});
    expect(portions).toBe(1);
  });
});

describe("asking patiently", () => {
  const busy = new ApiProblem(429, "Too many requests", "", [], null, 3);

  test("waits as long as the API says", async () => {
    const answers = [busy, busy, null];
    const waited: number[] = [];
    const ask = async () => {
      const problem = answers.shift();
      if (problem) throw problem;
      return "sent";
    };
    expect(await patiently(ask, never, async (seconds) => void waited.push(seconds))).toBe("sent");
    expect(waited).toEqual([3, 3]);
  });

  test("gives up after five tries, and at once where waiting cannot help", async () => {
    let tries = 0;
    const failing = (problem: ApiProblem) => async () => {
      tries += 1;
      throw problem;
    };
    await expect(patiently(failing(busy), never, async () => {})).rejects.toBe(busy);
    expect(tries).toBe(5);
    const refused = new ApiProblem(403, "You may not do this", "");
    await expect(patiently(failing(refused), never, async () => {})).rejects.toBe(refused);
    expect(tries).toBe(6);
  });
});
