import { parse, stringify } from "lossless-json";

/** A field of a JSON object, indented, with its numbers as they were sent: JSON.parse rounds beyond 2^53. */
export function fieldText(text: string, field: string): string {
  const all = parse(text) as Record<string, unknown>;
  return stringify(all[field], null, 2) ?? "";
}
