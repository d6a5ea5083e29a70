// node compress.mjs BUILT TARGET: every file of a build, as .br and .gz, side by side in TARGET. The same bytes at every
// run: zlib writes neither name nor time into a gzip.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [built, target] = process.argv.slice(2);
// All but the page are kept by browsers for ever: a name without a hash of the content would show an old file.
const EXPECTED = /^(index\.html|console\/[\w.-]+-[\w-]{8,}\.(css|js|svg|woff2))$/;

const files = readdirSync(built, { recursive: true })
  .map((name) => join(built, name))
  .filter((path) => statSync(path).isFile());
const names = files.map((path) => relative(built, path).replaceAll("\\", "/"));
const wrong = names.filter((name) => !EXPECTED.test(name));
if (wrong.length || !names.includes("index.html")) {
  const what = wrong.length ? `built what is not served: ${wrong.join(", ")}` : "built no index.html";
  console.error(`the console's build ${what} (index.html and console/NAME-HASH.{css,js,svg,woff2} are)`);
  process.exit(1);
}

mkdirSync(target, { recursive: true });
for (const path of files) {
  const content = readFileSync(path);
  const parameters = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  writeFileSync(join(target, `${basename(path)}.br`), brotliCompressSync(content, { params: parameters }));
  writeFileSync(join(target, `${basename(path)}.gz`), gzipSync(content, { level: 9 }));
}
