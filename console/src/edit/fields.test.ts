import { expect, test } from "vitest";
import api from "../../../layers/duecourse/python/duecourse/api/openapi/openapi.json";
import { overlap } from "../shared/kinds.json";
import { type Field, PEOPLE, RARE, RUNNING, SHAPE, TARGETS } from "./fields";

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  const?: string;
  default?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
};

const SCHEMAS = api.components.schemas as unknown as Record<string, Schema>;
const JOB = schema("JobRequest");

/** What the form shows otherwise: fields with inputs of their own, and what only programs set. */
const ELSEWHERE = ["id", "schedule", "timezone", "target", "task", "payload", "overlap"];
const TYPES: Record<Field["kind"], string> = {
  text: "string",
  area: "string",
  choice: "string",
  number: "integer|number",
  list: "array",
  pairs: "object",
  secret: "object",
  json: "object|array",
  auth: "object",
  flag: "boolean",
  notices: "array",
  instant: "string",
};

function schema(name: string): Schema {
  const found = SCHEMAS[name];
  if (found === undefined) throw new Error(`${name} is not in openapi.json`);
  return found;
}

/** What a schema refers to, without the variant null. */
function meant(given: Schema): Schema {
  const inner = given.$ref ? schema(given.$ref.split("/").at(-1) ?? "") : given;
  const variants = inner.anyOf?.filter((each) => each.type !== "null");
  return variants?.length === 1 ? meant({ ...inner, anyOf: undefined, ...variants[0] }) : inner;
}

function at(root: Schema, path: readonly (string | number)[]): Schema | undefined {
  const [first, ...rest] = path;
  const inner = meant(root).properties?.[String(first)];
  if (inner === undefined) return undefined;
  return rest.length === 0 ? { ...meant(inner), default: inner.default } : at(inner, rest);
}

function check(root: Schema, field: Field, path: readonly (string | number)[]): void {
  const name = field.path.join("/");
  const found = at(root, path);
  expect(found, `${name} is no field of the API`).toBeDefined();
  const variants = (found?.oneOf ?? []).flatMap((each) => meant(each).type ?? []);
  const types = [found?.type ?? (found?.enum ? "string" : variants)].flat();
  expect(
    types.some((each) => TYPES[field.kind].split("|").includes(each)),
    `${name} is ${types}`,
  ).toBe(true);
  if (field.kind === "choice") {
    expect(field.options?.map((each) => each.value).sort(), name).toEqual([...(found?.enum ?? [])].sort());
  }
  const standard = found?.default;
  if (
    standard !== undefined &&
    standard !== null &&
    typeof standard !== "boolean" &&
    field.standard !== undefined
  ) {
    expect(field.standard, name).toBe([standard].flat().join(", "));
  }
}

const FIELDS = [...PEOPLE, ...SHAPE, ...RUNNING, ...RARE];

test.each(FIELDS)("$path is a field of a job, with its type, its values and its default", (field) => {
  check(JOB, field, field.path);
});

test("the form has each field of a job once", () => {
  const places = FIELDS.map(({ path }) => path.join("/"));
  const wanted = Object.entries(JOB.properties ?? {}).flatMap(([name, each]) => {
    const inner = Object.keys(meant(each).properties ?? {});
    return inner.length > 0 && !places.includes(name) ? inner.map((field) => `${name}/${field}`) : [name];
  });
  expect(places.sort()).toEqual(wanted.filter((place) => !ELSEWHERE.includes(place)).sort());
});

test("the form has the rules for overlap, and a bound where the API takes one", () => {
  const [words, ...limited] = at(JOB, ["overlap"])?.anyOf ?? at(JOB, ["overlap"])?.oneOf ?? [];
  expect(overlap.map(({ value }) => value)).toEqual(words?.enum);
  const bounded = overlap.filter((each) => each.limit !== null).map(({ value }) => value);
  expect(bounded).toEqual(limited.flatMap((each) => Object.keys(meant(each).properties ?? {})));
});

const target = at(JOB, ["target"]);
const kinds = Object.fromEntries(
  (target?.oneOf ?? []).map((each) => {
    const found = meant(each);
    return [found.properties?.type?.const ?? "", found];
  }),
);

test("the form has each kind of target that a job may have", () => {
  expect(Object.keys(TARGETS).sort()).toEqual(Object.keys(kinds).sort());
});

test.each(Object.entries(TARGETS))("the fields of a target %s are those of the API", (word, kind) => {
  const found = kinds[word] ?? {};
  for (const field of kind.fields) check(found, field, field.path.slice(1));
  const names = kind.fields.map(({ path }) => String(path[1]));
  expect(names.sort()).toEqual(
    Object.keys(found.properties ?? {})
      .filter((name) => name !== "type")
      .sort(),
  );
  for (const name of found.required ?? []) expect(["type", ...Object.keys(kind.first)]).toContain(name);
});
