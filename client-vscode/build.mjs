// Bundles the extension into out/extension.js, the library that speaks LSP into out/library.js, and the chat view's page into out/chat.js and out/chat.css, with the licences of everything that went in beside it.
import { build } from "esbuild";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const shared = { bundle: true, minify: true, sourcemap: "linked", sourcesContent: false, metafile: true, logLevel: "warning" };
const node = { ...shared, outdir: "out", platform: "node", format: "cjs", target: "node20", external: ["vscode"] };
// Apart from the extension's own code, which is a fifth of it: nothing needs it, nor has it read, before a server is started.
const LIBRARY = "vscode-languageclient/node";
const apart = {
  name: "library",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^vscode-(languageclient|languageserver|jsonrpc)/ }, ({ kind, importer, path: name }) => {
      if (name !== LIBRARY) return { errors: [{ text: `${importer}: not imported from ${LIBRARY}, the library would be carried twice` }] };
      if (kind === "dynamic-import") return { errors: [{ text: `${importer}: imported as it runs, the library would have no names` }] };
      return { path: "./library.js", external: true };
    });
  },
};
const built = [
  await build({ ...node, entryPoints: ["src/extension.ts"], plugins: [apart] }),
  await build({ ...node, entryPoints: [{ in: LIBRARY, out: "library" }] }),
];
await build({
  ...shared,
  entryPoints: [{ in: "webview/main.ts", out: "chat" }, { in: "webview/chat.css", out: "chat" }],
  outdir: "out",
  sourcemap: false,
  alias: { vscode: path.resolve("webview/vscode.ts") }, // also in what both sides use
  platform: "browser",
  format: "iife",
  target: "chrome128",
});

const packages = new Set();
for (const input of built.flatMap(({ metafile }) => Object.keys(metafile.inputs))) {
  const found = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input);
  if (found) packages.add(found[0]);
}
const notices = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file && existsSync(path.join(folder, file)) ? readFileSync(path.join(folder, file), "utf8").trim() : license;
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync("out/THIRD_PARTY_NOTICES.txt", notices.join(`\n${"-".repeat(72)}\n\n`));
