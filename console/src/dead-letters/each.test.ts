import { expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { sendEach } from "./each";
import { paced } from "./paced";

const never = new AbortController().signal;

test("what was sent before a failure is counted as sent, and only the rest is sent again", async () => {
  const sent: string[] = [];
  let expired = true;
  const send = sendEach(["a", "b", "c", "d"], async (id) => {
    if (sent.includes(id)) throw new ApiProblem(409, "Conflict", "It is not dead.");
    if (id === "b" && expired) throw new ApiProblem(401, "Your login has expired", "");
    if (id === "d") throw new ApiProblem(409, "Conflict", "Its job is deleted.");
    sent.push(id);
  });
  const reported: [number, number][] = [];
  const go = () => paced(send, 200, never, (portion) => reported.push([portion.sent, portion.refused]));

  await expect(go()).rejects.toMatchObject({ status: 401 });
  expired = false;
  await go();

  expect(reported).toEqual([
    [2, 1],
    [1, 0],
  ]);
  expect(sent).toEqual(["a", "c", "b"]);
});
