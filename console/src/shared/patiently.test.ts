import { describe, expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { patiently } from "./patiently";

const never = new AbortController().signal;

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
    const refused = new ApiProblem(403, "Permission denied", "");
    await expect(patiently(failing(refused), never, async () => {})).rejects.toBe(refused);
    expect(tries).toBe(6);
  });
});
