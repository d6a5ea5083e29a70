import { isDoc, type Json, written } from "./document";
import type { Field } from "./fields";

/** The text of a value in a field. */
export function shown(kind: Field["kind"], value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (kind === "json") return written(value);
  if (kind === "secret" && isDoc(value)) return shown("text", value.secret);
  if (kind === "list" && Array.isArray(value)) return value.map(plain).join(", ");
  if (kind === "pairs" && isDoc(value)) {
    return Object.entries(value)
      .map(([name, text]) => `${name}: ${plain(text)}`)
      .join("\n");
  }
  return plain(value);
}

/** The value of a field's text (undefined: no value). Raises a SyntaxError if the text is invalid JSON. */
export function meant(kind: Field["kind"], text: string): Json | undefined {
  if (kind === "json") return text.trim() === "" ? undefined : (JSON.parse(text) as Json);
  if (text === "") return undefined;
  if (kind === "secret") return { secret: text };
  if (kind === "number") return Number.isFinite(Number(text)) ? Number(text) : text;
  if (kind === "list") {
    // A comma inside a cron expression separates no entries.
    return text
      .split(/,\s|\n/)
      .flatMap((each) => (each.trim().includes(" ") ? [each] : each.split(",")))
      .map((each) => each.trim())
      .filter((each) => each !== "");
  }
  if (kind === "pairs") return Object.fromEntries(text.split("\n").flatMap(pair));
  return text;
}

function pair(line: string): [string, string][] {
  if (line.trim() === "") return [];
  const colon = line.indexOf(":");
  return colon < 0 ? [[line.trim(), ""]] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]];
}

function plain(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
