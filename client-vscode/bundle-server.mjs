// Builds the server's wheel from this repository into bundled/, for the VSIX to carry.
// The Python to build with is $PYTHON, else python3.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";

rmSync("bundled", { recursive: true, force: true });
mkdirSync("bundled");
const python = process.env.PYTHON ?? "python3";
const pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "bundled", ".."];
const { status, error } = spawnSync(python, pip, { stdio: "inherit" });
if (error ?? status !== 0) {
  console.error(`The wheel could not be built with ${python}.`, error?.message ?? "");
  process.exit(1);
}
console.log(`bundled/${readdirSync("bundled").join(", ")}`);
