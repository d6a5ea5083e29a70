// Compiles the package twice: dist has ES modules, dist/commonjs has CommonJS modules. Both have their own types.
import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const HERE = new URL("./", import.meta.url);
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
rmSync(new URL("dist", HERE), { recursive: true, force: true });
for (const project of ["tsconfig.build.json", "tsconfig.commonjs.json"]) {
  const options = { cwd: fileURLToPath(HERE), stdio: "inherit" };
  const { status } = spawnSync(process.execPath, [tsc, "--project", project], options);
  if (status !== 0) process.exit(status ?? 1);
}
writeFileSync(new URL("dist/commonjs/package.json", HERE), '{ "type": "commonjs" }\n');
copyFileSync(new URL("../../LICENSE", HERE), new URL("LICENSE", HERE));
