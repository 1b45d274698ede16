// What the steps about the chat view share: the user in the view, and what the model answers.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { config, user } = require("./kit.cjs");
const { model } = require("./model.cjs");

const FRAME = "#handrail-chat";
const ENTER = ["press", "Enter"];
const inView = (wanted) => user({ frame: FRAME, ...wanted });
const ran = (name) => fs.existsSync(path.join(config.workspace, name));
const call = (progress, tool, input, id = "call-1") => progress.report(new vscode.LanguageModelToolCallPart(id, tool, input));
const write = (text, ...keys) => ({ does: [["click", "textbox", "Your message"], ["type", text], ...(keys.length > 0 ? keys : [ENTER])] });

/** From now on the model's answers, one after the other; each may wait. */
function answers(...given) {
  Object.assign(model, { asked: [], answer: (progress, _token, number) => given[number - 1](progress) });
}

/** Something that is waited for until it is let go. */
function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { opened, open };
}

/** Whoever uses the view by keyboard or with a screen reader can use all of it, as it is now: axe-core finds nothing, and Tab reaches everything. */
async function sound(sees, picture = "") {
  const { returned } = await inView({ sees, picture, does: [["axe"], ["tabs"]] });
  assert.deepEqual(returned, [[], []], sees);
}

module.exports = { answers, call, ENTER, FRAME, gate, inView, ran, sound, write };
