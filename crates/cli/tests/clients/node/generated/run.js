// Generates a client from the service's own reference with the named generator, checks the types of a TypeScript program, and runs it.
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "../node_modules");
const reference = `${process.env.CLIENT_URL}/openapi.json`;

const GENERATORS = {
  "openapi-typescript": [reference, "-o", "schema.d.ts"],
  "openapi-ts": ["-i", reference, "-o", "generated", "--silent"],
};
const COMPILER = ["--strict", "--esModuleInterop", "--skipLibCheck", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10", "--outDir", "built"];

const generator = basename(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), "overnight-generated-"));
const run = (program, args) => execFileSync(program, args, { cwd: folder, stdio: "inherit" });
try {
  await symlink(packages, join(folder, "node_modules"));
  await cp(join(here, `${generator}.ts`), join(folder, "main.ts"));
  run(join(packages, ".bin", generator), GENERATORS[generator]);
  run(join(packages, ".bin/tsc"), [...COMPILER, "main.ts"]);
  run(process.execPath, ["built/main.js"]);
} finally {
  await rm(folder, { recursive: true });
}
