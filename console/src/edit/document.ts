import type { Schemas } from "../api/client";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Doc = { [name: string]: Json };
/** A field's place: `["retry", "max_attempts"]`. */
export type Path = readonly string[];

/** The fields of a job in responses that are not in its definition. */
const ANSWERS = [
  "tenant",
  "state",
  "understood_as",
  "schedule_canonical",
  "next_occurrence",
  "runs_left",
  "schedule_change",
  "paused_by",
  "paused_because",
  "paused_until",
  "planned_pause",
  "created_at",
  "updated_at",
  "error",
  "workflow",
  "delete_at",
  // Of a workflow that was put:
  "dry_run",
  "created",
  "changed",
];

/** A job, or a workflow, as it can be put back; fields that this page does not know included. */
export function definitionOf(job: Schemas["Job"] | Schemas["Workflow"]): Doc {
  return Object.fromEntries(
    Object.entries(job as unknown as Doc).filter(([name]) => !ANSWERS.includes(name)),
  );
}

export const written = (value: Json): string => JSON.stringify(value, null, 2);

/** The object that a text contains. Throws a SyntaxError with the position of the first error. */
export function read(text: string): Doc {
  const value = JSON.parse(text) as Json;
  if (!isDoc(value)) throw new SyntaxError('the text is not a JSON object: {"id": "…", "schedule": "…", …}');
  return value;
}

export function isDoc(value: Json | undefined): value is Doc {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function valueAt(doc: Json | undefined, path: Path): Json | undefined {
  let value = doc;
  for (const name of path) value = isDoc(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** The document with another value at a place; undefined takes the field away, and an object without further fields with
 * it. The others stay, in their order.
 */
export function withValue(doc: Doc, path: Path, value: Json | undefined): Doc {
  const [name, ...rest] = path;
  if (name === undefined) return doc;
  if (rest.length > 0) {
    const inner = Object.hasOwn(doc, name) ? doc[name] : undefined;
    const after = withValue(isDoc(inner) ? inner : {}, rest, value);
    if (value === undefined && Object.keys(after).length === 0) return withValue(doc, [name], undefined);
    return { ...doc, [name]: after };
  }
  if (value !== undefined) return { ...doc, [name]: value };
  return Object.fromEntries(Object.entries(doc).filter(([each]) => each !== name));
}

export function same(one: Json | undefined, other: Json | undefined): boolean {
  return one === other || JSON.stringify(ordered(one)) === JSON.stringify(ordered(other));
}

function ordered(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((each) => ordered(each) as Json);
  if (!isDoc(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((name) => [name, ordered(value[name]) as Json]),
  );
}

/** Whole numbers that a browser cannot keep exactly, and those too large for it, by their places: it would send others,
 * or null.
 */
export function inexact(value: Json | undefined, place = ""): string[] {
  if (typeof value === "number") {
    const kept = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return kept ? [] : [place];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => inexact(inner, `${place}/${name}`));
}
