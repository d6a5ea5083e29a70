/** For receivers of signed calls: verifies that a request was sent by Duecourse, unchanged and recently. */

/** The maximum difference between the timestamp of a call and the receiver's clock. An older call may be a replay. */
export const TOLERANCE_SECONDS = 300;

const VERSION = "v1,";

/** The request cannot be trusted: respond with 401 and do not process it. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

/** Headers as `Headers`, as Node's `IncomingHttpHeaders`, or as an object of a Lambda event. */
export type GivenHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies the signature of a call (Standard Webhooks) and returns the id of the call, which is the same in every
 * attempt of a run: process each id once.
 *
 * `body` is the received body, byte for byte. `secret` is `whsec_...`, or several of these separated by spaces, of
 * which one must match. `now` is in seconds since 1970. Rejects with `WebhookError`, or with `TypeError` if the secret
 * is invalid.
 */
export async function verify(
  headers: GivenHeaders,
  body: Uint8Array | string,
  secret: string,
  { now = Date.now() / 1_000, toleranceSeconds = TOLERANCE_SECONDS } = {},
): Promise<string> {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => {
    const found = headerOf(headers, `webhook-${name}`);
    if (found === null) throw new WebhookError(`the header webhook-${name} is missing`);
    return found;
  }) as [string, string, string];
  if (!/^[0-9]{1,12}$/.test(timestamp))
    throw new WebhookError("webhook-timestamp is not a number of seconds");
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookError(
      `webhook-timestamp differs from the current time by more than ${toleranceSeconds} s`,
    );
  }
  const encoder = new TextEncoder();
  const sent = typeof body === "string" ? encoder.encode(body) : body;
  const head = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + sent.length);
  signed.set(head);
  signed.set(sent, head.length);
  const given = signatures.split(" ").filter((word) => word.startsWith(VERSION));
  for (const raw of keysOf(secret)) {
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, [
      "verify",
    ]);
    for (const word of given) {
      const signature = decoded(word.slice(VERSION.length));
      if (signature !== null && (await crypto.subtle.verify("HMAC", key, signature, signed))) return id;
    }
  }
  throw new WebhookError("no signature matches; check the signing secret");
}

/** @internal Returns a header's value, by its name in lower case. */
export function headerOf(headers: GivenHeaders, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return typeof found === "string" ? found : (found?.[0] ?? null);
}

function keysOf(secret: string): Uint8Array<ArrayBuffer>[] {
  const words = secret.split(/\s+/).filter(Boolean);
  const keys = words.map((word) => (word.startsWith("whsec_") ? decoded(word.slice("whsec_".length)) : null));
  if (words.length === 0 || keys.some((key) => key === null)) {
    throw new TypeError("a signing secret must be whsec_ followed by base64");
  }
  return keys as Uint8Array<ArrayBuffer>[];
}

function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
