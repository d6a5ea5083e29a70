import type { Schemas } from "../api/client";
import { targets } from "./kinds.json";

type Target = Schemas["Job"]["target"];

/** A target in a line, in the words of its kind: its type alone where a newer release made the kind. */
export function inLine(form: "text" | "short", target: Target): string {
  const known: Record<string, { text: string; short: string }> = targets;
  const kind = Object.hasOwn(known, target.type) ? known[target.type] : undefined;
  const values = target as Record<string, unknown>;
  return kind === undefined
    ? target.type
    : kind[form].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}
