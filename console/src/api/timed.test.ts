import { expect, test } from "vitest";
import { asProblem } from "./problem";
import { timed } from "./timed";

/** Never answers. */
const silent = (_: Request, { signal }: { signal: AbortSignal }) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("a request without an answer ends with its own error", async () => {
  const error = await timed(
    1,
    silent,
  )(new Request("http://localhost/v1/jobs")).catch((each: unknown) => each);
  expect(asProblem(error)).toMatchObject({ title: "The API did not respond", passes: true, late: true });
});

test("whoever asked can end it earlier", async () => {
  const left = new AbortController();
  const asked = timed(60_000, silent)(new Request("http://localhost/v1/jobs", { signal: left.signal }));
  left.abort();
  await expect(asked).rejects.toMatchObject({ name: "AbortError" });
});

test("an answer in time is the answer", async () => {
  const answer = new Response("{}");
  expect(await timed(60_000, async () => answer)(new Request("http://localhost/v1/jobs"))).toBe(answer);
});
