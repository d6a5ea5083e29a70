import { expect, it } from "vitest";
import { withoutCall } from "./errors";

it.each([
  ["POST https://shop.example answered 500 Internal Server Error: full", "full"],
  ["POST https://shop.example answered 500: at 12:30", "at 12:30"],
  ["GET http://127.0.0.1:8080 answered 404 Not Found", "404 Not Found"],
  ["POST https://shop.example did not respond", "POST https://shop.example did not respond"],
  ["it answered 500", "it answered 500"],
  ['{"error":"no space left on device"}', "no space left on device"],
  ['POST https://shop.example/hooks answered 500: {"message": "busy"}', "busy"],
  ['{"error":"busy","code":3}', '{"error":"busy","code":3}'],
  ['{"error":{"text":"busy"}}', '{"error":{"text":"busy"}}'],
  ['{"error":"cut of', '{"error":"cut of'],
])("%s", (error, shown) => expect(withoutCall(error)).toBe(shown));
