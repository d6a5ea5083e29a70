// Writes src/schema.ts from openapi.json, without two rules that TypeScript cannot express beside properties: an `anyOf`
// that requires one of several fields (the type would be unknown, which accepts every mistake), and rules for fields
// without a name of their own (which would reject the named ones).
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const DOCUMENT = new URL("../../layers/duecourse/python/duecourse/api/openapi/openapi.json", import.meta.url);

const document = JSON.parse(readFileSync(DOCUMENT, "utf-8"));
for (const schema of Object.values(document.components.schemas)) {
  if (schema.anyOf?.every((option) => "required" in option)) delete schema.anyOf;
  if (schema.properties && schema.additionalProperties) delete schema.additionalProperties;
  if (schema.properties) delete schema.patternProperties;
}
const types = await openapiTS(document, { defaultNonNullable: false, silent: true });
// Renamed at the end, since another build may read it at the same time.
const written = new URL(`src/.schema.${process.pid}.ts`, import.meta.url);
writeFileSync(written, astToString(types));
renameSync(written, new URL("src/schema.ts", import.meta.url));
