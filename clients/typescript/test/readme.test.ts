import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const README = readFileSync(new URL("../README.md", import.meta.url), "utf-8");
const EXAMPLES = [...README.matchAll(/^```ts\n(.+?)^```/gms)].map(([, code], index) => ({
  file: `${HERE}example-${index + 1}.ts`,
  code: code?.replace('from "duecourse"', 'from "../src/index.js"') ?? "",
}));

test("README examples have no type errors", () => {
  const { config } = ts.readConfigFile(`${HERE}../tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${HERE}..`);
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  const text = (name: string) => EXAMPLES.find(({ file }) => file === name)?.code;
  host.readFile = (name) => text(name) ?? readFile(name);
  host.fileExists = (name) => text(name) !== undefined || fileExists(name);
  host.getSourceFile = (name, language) => {
    const found = host.readFile(name);
    return found === undefined ? undefined : ts.createSourceFile(name, found, language);
  };
  const program = ts.createProgram(
    EXAMPLES.map(({ file }) => file),
    options,
    host,
  );
  const found = ts
    .getPreEmitDiagnostics(program)
    .map((each) => ts.flattenDiagnosticMessageText(each.messageText, "\n"));
  expect(EXAMPLES).toHaveLength(3);
  expect(found).toEqual([]);
}, 60_000);
