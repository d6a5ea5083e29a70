import { expect, test } from "vitest";
import { single } from "./single";

test("who asks while it is under way gets the same answer, and later a new one", async () => {
  let count = 0;
  const ask = single(async () => {
    count += 1;
    await Promise.resolve();
    return count;
  });
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
  expect(await ask()).toBe(2);
});

test("a failure is not kept", async () => {
  const answers = [Promise.reject(new Error("no")), Promise.resolve("yes")];
  const ask = single(() => answers.shift() as Promise<string>);
  await expect(ask()).rejects.toThrow("no");
  expect(await ask()).toBe("yes");
});
