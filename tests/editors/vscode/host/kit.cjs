// What all steps of the host tests share: what they were given, and the user at the browser.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const DEADLINE_MS = 60_000; // the first turn waits for the server's installation
const config = JSON.parse(fs.readFileSync(process.env.HANDRAIL_TEST_CONFIG, "utf8"));
const uriOf = (name) => vscode.Uri.file(path.join(config.workspace, name));
const onDisk = (name) => fs.readFileSync(path.join(config.workspace, name)).toString("base64");
const command = vscode.commands.executeCommand;
let moments = 0;

/** What a command of the extension is called, in its menus and on its buttons. */
function titleOf(id) {
  const { commands } = vscode.extensions.getExtension("handrail.handrail").packageJSON.contributes;
  return commands.find(({ command }) => command === id).title;
}

/** Awaits a state: asks again until the answer is truthy. */
async function until(what, ask) {
  for (const start = Date.now(); Date.now() - start < DEADLINE_MS; ) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`It never came true that ${what}.`);
}

/**
 * Has the browser wait until the text is on the page, take a picture if that has a name, and then do what a user does: a list of
 * `["press", key]`, `["clickInRow", text, title]`, `["clickInComment", text, title, brings]`, `["type", text]`, `["click", role, name, which]`, `["clickTitle", title, which]`, `["select", name, value]`, `["mark"]` and `["clickText", text]`. A text that the page must lack may be given.
 * `["drop", name, addresses]`, `["paste", name, file]`, `["look", isHere]`, `["post", messages]`, `["texts", selector]`, `["html", selector]` `["axe"]` and `["tabs"]`; what they return is `returned`.
 * Returns the texts of the visible elements of each CSS selector in `reads`, by its name; those of `behind` are what style sheets
 * put behind elements. `["openWindow"]` opens another window of the workspace; `window` is the number of the one that is looked at,
 * from 1 on, or 0 for that of the tests. All of that goes for the page, or
 * for the frame that has an element: `frame` is its selector. With `isInList`, the text is to be seen in the open list of choices:
 * only then keys go there. `alarms` of what is returned are dialogs and requests to others.
 */
async function user({ sees, lacks = "", does = [], reads = {}, behind = {}, picture = "", frame = "", window = 0, isInList = false }) {
  moments += 1;
  const name = picture || `moment-${String(moments).padStart(2, "0")}`;
  const request = path.join(config.pictures, `${name}.request`);
  fs.rmSync(`${request}.done`, { force: true });
  fs.writeFileSync(`${request}.tmp`, JSON.stringify({ sees, lacks, does, reads, behind, frame, window, isInList, shoots: picture !== "" }));
  fs.renameSync(`${request}.tmp`, request);
  await until(`the browser is done with ${name}`, () => !fs.existsSync(request) && fs.existsSync(`${request}.done`));
  const { problem, texts } = JSON.parse(fs.readFileSync(`${request}.done`, "utf8"));
  assert.equal(problem, "", "what the browser says");
  return texts;
}

/** Has the clipboard hold a text; a page that is not in focus at that moment refuses it. */
async function copy(text) {
  await until("the clipboard holds the text", async () => {
    await vscode.env.clipboard.writeText(text);
    return (await vscode.env.clipboard.readText()) === text;
  });
}

/** The processes of this test's servers: they keep their state where it says. */
function servers() {
  const ours = (pid) => {
    const read = (name) => fs.readFileSync(`/proc/${pid}/${name}`, "utf8").split("\0");
    try {
      const args = read("cmdline");
      return args.includes("handrail") && args.includes("serve") && read("environ").includes(`XDG_STATE_HOME=${process.env.XDG_STATE_HOME}`);
    } catch {
      return false; // it has ended meanwhile
    }
  };
  return fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter(ours).map(Number);
}

/** Waits until the extension's server runs. */
async function ready() {
  await vscode.extensions.getExtension("handrail.handrail").activate();
  await until("the server runs", async () => (await vscode.commands.getCommands(true)).includes("handrail.turn.start"));
}

module.exports = { command, config, copy, onDisk, ready, scenario: config.scenario, servers, titleOf, until, uriOf, user };
