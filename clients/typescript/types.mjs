// Writes src/schema.ts from openapi.json, without two rules that TypeScript cannot express beside properties: an `anyOf`
// that requires one of several fields (the type would be unknown, which accepts every mistake), and rules for fields
// without a name of their own (which would reject the named ones).
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const DOCUMENT = new URL("../../layers/duecourse/python/duecourse/api/openapi/openapi.json", import.meta.url);
const OPERATIONS = new URL("src/operations.ts", import.meta.url);
if (![DOCUMENT, OPERATIONS].every(existsSync)) {
  console.error("openapi.json or operations.ts is missing: run make setup in the root of the repository");
  process.exit(1);
}

const document = JSON.parse(readFileSync(DOCUMENT, "utf-8"));
for (const schema of Object.values(document.components.schemas)) {
  if (schema.anyOf?.every((option) => "required" in option)) delete schema.anyOf;
  if (schema.properties && schema.additionalProperties) delete schema.additionalProperties;
  if (schema.properties) delete schema.patternProperties;
}
// Instants in queries can also be a Date; in the document, they are texts like others.
const { createKeywordTypeNode, createTypeReferenceNode, createUnionTypeNode } = ts.factory;
const instant = createUnionTypeNode([
  createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
  createTypeReferenceNode("Date"),
]);
const isInstant = ({ description = "" }) => description.startsWith("ISO-8601");
const transform = (schema, { path }) =>
  path?.startsWith("#/components/parameters/") && isInstant(schema) ? instant : undefined;
// An optional field may also be undefined, for programs with exactOptionalPropertyTypes.
const transformProperty = (property) => {
  const { modifiers, name, questionToken, type } = property;
  if (!questionToken) return undefined;
  const wider = createUnionTypeNode([type, createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword)]);
  return ts.factory.updatePropertySignature(property, modifiers, name, questionToken, wider);
};
const options = { defaultNonNullable: false, silent: true, transform, transformProperty };
const types = await openapiTS(document, options);
// Renamed at the end, since another build may read it at the same time.
const written = new URL(`src/.schema.${process.pid}.ts`, import.meta.url);
writeFileSync(written, astToString(types));
renameSync(written, new URL("src/schema.ts", import.meta.url));
