// node activate.mjs EXTENSION: activates the extension where `vscode` has neither language models nor a chat. All else that it asks for is
// there, and does nothing. Prints "activated", or fails with what was thrown.
import fs from "node:fs";
import Module, { createRequire } from "node:module";
import path from "node:path";

const [extension] = process.argv.slice(2);
const { build } = createRequire(path.join(extension, "/"))("esbuild");
const names = fs.readFileSync(path.join(extension, "node_modules/@types/vscode/index.d.ts"), "utf8").matchAll(/^\t(?:export )?(?:namespace|class|enum) (\w+)/gm);

/** Something that can be called, made, read and gone through. */
const anything = () =>
  new Proxy(function () {}, {
    get: (_, name) => {
      if (name === Symbol.iterator) return [][Symbol.iterator].bind([]);
      if (name === Symbol.toPrimitive) return () => "";
      return name === "then" ? undefined : anything();
    },
    apply: anything,
    construct: anything,
    set: () => true,
  });

const vscode = Object.fromEntries([...names].map(([, name]) => [name, anything()]));
for (const name of ["lm", "chat"]) delete vscode[name];
vscode.l10n = { t: (text) => text };
vscode.EventEmitter = class {
  event = () => ({ dispose: () => undefined });
  fire() {}
  dispose() {}
};
vscode.Disposable = class {
  static from = () => new vscode.Disposable();
  dispose() {}
};

const { outputFiles } = await build({
  entryPoints: [path.join(extension, "src/extension.ts")],
  bundle: true,
  write: false,
  format: "cjs",
  platform: "node",
  external: ["vscode", "vscode-languageclient/node", "./client"],
});
const loaded = new Module("extension");
loaded.paths = [];
loaded.require = (name) => (name === "vscode" ? vscode : createRequire(import.meta.url)(name));
loaded._compile(outputFiles[0].text, "extension.cjs");
const subscriptions = [];
loaded.exports.activate({ subscriptions, extensionUri: anything(), globalStorageUri: { fsPath: "" }, workspaceState: anything(), secrets: anything(), extension: { id: "handrail.handrail" }, asAbsolutePath: () => "" });
console.log(subscriptions.length > 40 ? "activated" : `only ${subscriptions.length} subscriptions`);
process.exit(0); // no server is started
