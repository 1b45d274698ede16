// A turn's documents are saved after it, if the person wants that; and @handrail in VS Code's own chat.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");
const { command, ready, until, uriOf, user } = require("./kit.cjs");
const { model, settings, useModel } = require("./model.cjs");

const block = (name, old, now) => `${name}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
const onDisk = (name) => fs.readFileSync(uriOf(name).fsPath, "utf8");
const apply = async (edits) => (await command("handrail.turn.apply", { edits })).report.outcomes.map(({ status }) => status);
let list;
let note;

module.exports = {
  "without the setting, what a turn has changed stays unsaved": async () => {
    await ready();
    list = await vscode.workspace.openTextDocument(uriOf("list.txt"));
    note = await vscode.workspace.openTextDocument(uriOf("note.txt"));
    await vscode.window.showTextDocument(list, { preview: false });
    assert.deepEqual(await apply(block("list.txt", "one", "ONE")), ["landed"]);
    assert.deepEqual([list.isDirty, onDisk("list.txt")], [true, "one\ntwo\n"]);
    await list.save();
  },
  "with it, a document is saved that had no unsaved text before": async () => {
    await settings().update("saveAfterTurn", true, vscode.ConfigurationTarget.Global);
    const editor = await vscode.window.showTextDocument(note, { preview: false });
    await editor.edit((edit) => edit.insert(new vscode.Position(2, 0), "typed"));
    assert.deepEqual(await apply(block("note.txt", "one", "ONE") + block("list.txt", "two", "TWO")), ["landed", "landed"]);
    await until("the document is saved", () => !list.isDirty);
    assert.equal(onDisk("list.txt"), "ONE\nTWO\n");
    assert.deepEqual([list.isDirty, note.isDirty, onDisk("note.txt")], [false, true, "one\ntwo\n"]);
    assert.equal(note.getText(), "ONE\ntwo\ntyped");
  },
  "@handrail is a way into the conversation": async () => {
    await useModel();
    model.answer = async (progress) => progress.report(new vscode.LanguageModelTextPart("Hello [fine](command:handrail-host-tests.harm) <b>you</b>."));
    await vscode.workspace.getConfiguration().update("chat.disableAIFeatures", false, vscode.ConfigurationTarget.Global);
    await until("VS Code has its chat", async () => (await vscode.commands.getCommands(true)).includes("workbench.action.chat.open"));
    await until("the model is known", async () => (await vscode.lm.selectChatModels()).length > 0); // VS Code gives each request of its chat a model
    await command("workbench.action.chat.open", { query: "@handrail Say hello." });
    await user({ sees: "Hello [fine](command:handrail-host-tests.harm) <b>you</b>." });
    await user({ sees: "Show in Handrail", does: [["clickText", "Show in Handrail"]], picture: "participant" });
    await user({ frame: "#handrail-chat", sees: "Say hello.", picture: "conversation" });
  },
};
