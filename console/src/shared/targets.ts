import type { Schemas } from "../api/client";
import { targets } from "./kinds.json";

type Target = Schemas["Job"]["target"];

/** A target in a line, in the words of its kind, with its connector: its type alone where a newer release made the kind. */
export function inLine(form: "text" | "short", target: Target): string {
  const known: Record<string, { text: string; short: string }> = targets;
  const kind = Object.hasOwn(known, target.type) ? known[target.type] : undefined;
  const values = target as Record<string, unknown>;
  if (kind === undefined) return target.type;
  const line = kind[form].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
  return values.via === undefined || values.via === null ? line : `${line} via ${String(values.via)}`;
}
