// Collects the strings that users read, all of which go through `l10n.t`, into l10n/bundle.l10n.json for translators.
// With --check it writes nothing, and fails if the file is not what it should be. It also fails if the manifest has a text for
// users itself instead of the key of one, or if the keys are not those of package.nls.json.
import { getL10nJson } from "@vscode/l10n-dev";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const BUNDLE = "l10n/bundle.l10n.json";
const sources = ["src", "webview"].flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ extension: ".ts", contents: readFileSync(path.join(folder, name), "utf8") })),
);
const found = await getL10nJson(sources);
const wanted = `${JSON.stringify(Object.fromEntries(Object.entries(found).sort(([one], [other]) => (one < other ? -1 : 1))), null, 2)}\n`;
const isStale = !existsSync(BUNDLE) || readFileSync(BUNDLE, "utf8") !== wanted;
if (isStale && process.argv.includes("--check")) {
  console.error(`${BUNDLE} is out of date; run \`npm run l10n\` in client-vscode.`);
  process.exit(1);
}
if (isStale) {
  mkdirSync(path.dirname(BUNDLE), { recursive: true });
  writeFileSync(BUNDLE, wanted);
  console.log(`${BUNDLE} is written.`);
}

/** Fields of the manifest that users read. What they are called there is a key of package.nls.json, or the product's name. */
const READ = ["title", "description", "markdownDescription", "contents", "contextualTitle", "fullName", "userDescription", "category"];
const NAMES = ["views", "languageModelTools"]; // in which `name` or `displayName` is read too
const KEY = /^%([^%]+)%$/;
const keys = new Set();
const problems = [];

function look(value, name, within) {
  if (typeof value === "object" && value !== null) {
    for (const [each, inner] of Object.entries(value)) look(inner, Array.isArray(value) ? name : each, [...within, each]);
    return;
  }
  const key = typeof value === "string" ? KEY.exec(value)?.[1] : undefined;
  if (key !== undefined) keys.add(key);
  else if (isRead(name, within) && value !== "" && !/^Handrail/.test(value)) problems.push(`package.json: ${within.join(".")} is a text: put it into package.nls.json.`);
}

function isRead(name, within) {
  if (within.includes("inputSchema")) return false; // a model reads it
  const isName = name === "displayName" || (name === "name" && within.includes("views"));
  return READ.includes(name) || (isName && NAMES.some((each) => within.includes(each)));
}

const strings = JSON.parse(readFileSync("package.nls.json", "utf8"));
look(JSON.parse(readFileSync("package.json", "utf8")), "", []);
problems.push(...[...keys].filter((key) => !(key in strings)).map((key) => `package.nls.json: ${key} is missing.`));
problems.push(...Object.keys(strings).filter((key) => !keys.has(key)).map((key) => `package.nls.json: package.json does not use ${key}.`));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
