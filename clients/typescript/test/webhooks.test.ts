import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { verify, WebhookError } from "../src/index.js";

const KEY = Buffer.from("a key of twenty-four bytes or more");
const SECRET = `whsec_${KEY.toString("base64")}`;
const NOW = 1_795_262_400;
const BODY = '{"week": "ü"}';

function headers(more: Record<string, string> = {}): Record<string, string> {
  const signature = createHmac("sha256", KEY).update(`call-1.${NOW}.${BODY}`).digest("base64");
  return {
    "Webhook-Id": "call-1",
    "Webhook-Timestamp": `${NOW}`,
    "Webhook-Signature": `v2,abc v1,${signature}`,
    ...more,
  };
}

describe("webhook signature", () => {
  test("of a call is accepted, whatever the form of headers and body", async () => {
    for (const given of [headers(), new Headers(headers())]) {
      for (const body of [BODY, new TextEncoder().encode(BODY)]) {
        expect(await verify(given, body, SECRET, { now: NOW + 299 })).toBe("call-1");
      }
    }
  });

  test("by the new one of two secrets is accepted", async () => {
    const other = `whsec_${Buffer.alloc(24).toString("base64")}`;
    expect(await verify(headers(), BODY, `${other} ${SECRET}`, { now: NOW })).toBe("call-1");
  });

  test.each([
    ["a changed body", headers(), `${BODY} `, NOW, "no signature matches"],
    ["another id", headers({ "Webhook-Id": "call-2" }), BODY, NOW, "no signature matches"],
    ["a broken signature", headers({ "Webhook-Signature": "v1,%%%" }), BODY, NOW, "no signature matches"],
    ["a replay", headers(), BODY, NOW + 301, "differs from the current time by more than 300 s"],
    [
      "a call from the future",
      headers(),
      BODY,
      NOW - 301,
      "differs from the current time by more than 300 s",
    ],
    ["no number", headers({ "Webhook-Timestamp": "soon" }), BODY, NOW, "not a number of seconds"],
  ])("of %s is rejected", async (_, given, body, now, message) => {
    await expect(verify(given, body, SECRET, { now })).rejects.toThrow(WebhookError);
    await expect(verify(given, body, SECRET, { now })).rejects.toThrow(message);
  });

  test("is required", async () => {
    await expect(verify({}, BODY, SECRET, { now: NOW })).rejects.toThrow("the header webhook-id is missing");
  });

  test("needs a valid secret", async () => {
    for (const secret of ["", "hello", "whsec_%%%"]) {
      await expect(verify(headers(), BODY, secret, { now: NOW })).rejects.toThrow(TypeError);
    }
  });
});
