import { describe, expect, test } from "vitest";
import { type Portion, paced } from "./paced";

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
