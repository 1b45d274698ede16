// A turn's documents are saved after it, if the person wants that; and @handrail in VS Code's own chat.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");
const { command, ready, servers, until, uriOf, user } = require("./kit.cjs");
const { gate } = require("./chat_kit.cjs");
const { model, say, settings, useModel } = require("./model.cjs");

const block = (name, old, now) => `${name}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
const onDisk = (name) => fs.readFileSync(uriOf(name).fsPath, "utf8");
const apply = async (edits) => (await command("handrail.turn.apply", { edits })).report.outcomes.map(({ status }) => status);
const asked = () => JSON.stringify(model.asked.at(-1)?.messages);
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
  "what is said next goes on in the same conversation": async () => {
    const { session } = await command("handrail.chat.read", {});
    model.answer = async (progress) => say(progress, "Hello once more.");
    await command("workbench.action.chat.open", { query: "@handrail And again." });
    await user({ sees: "Hello once more." });
    assert.match(asked(), /Say hello\..*And again\./);
    assert.equal((await command("handrail.chat.read", {})).session, session);
  },
  "stopped there, the turn is stopped": async () => {
    const more = gate();
    model.answer = async (progress, token) => {
      say(progress, "I begin.");
      token.onCancellationRequested(more.open);
      await more.opened;
    };
    await command("workbench.action.chat.open", { query: "@handrail Begin." });
    await user({ sees: "I begin." });
    await command("workbench.action.chat.cancel");
    await more.opened; // the model is told to stop
    const last = async () => (await command("handrail.chat.read", {})).items.filter(({ kind }) => kind === "prompt").at(-1);
    await until("the turn is stopped", async () => ["stopped", "cancelled"].includes((await last()).state));
  },
  "without a prompt, one is told what to write": async () => {
    await command("workbench.action.chat.open", { query: "@handrail " });
    await user({ sees: "Write after @handrail what you want done", picture: "no-prompt" });
  },
  "without a model, one is led to the choice of one": async () => {
    await settings().update("model", "paste", vscode.ConfigurationTarget.Global);
    await command("workbench.action.chat.open", { query: "@handrail Who answers?" });
    await user({ sees: "no model is configured to answer it", picture: "no-model", does: [["clickText", "Choose Where Answers Come From…"]] });
    await user({ sees: "Models that run on your own computer", picture: "sources", does: [["press", "Escape"]] });
  },
  "a turn that fails says why, and what helps": async () => {
    await settings().update("model", "editor:nobody", vscode.ConfigurationTarget.Global);
    await command("workbench.action.chat.open", { query: "@handrail Who else?" });
    await user({ sees: "The editor has no language model “nobody”", picture: "failed" });
    await user({ sees: "or correct the cause, then send your message again" });
    await settings().update("model", "editor:parrot", vscode.ConfigurationTarget.Global);
    model.answer = async (progress) => say(progress, "The parrot again.");
    await command("workbench.action.chat.open", { query: "@handrail Who now?" });
    await user({ sees: "The parrot again." });
  },
  "without a server, one is told why, and starts it there once that is mended": async () => {
    const path = settings().get("serverPath");
    await settings().update("serverPath", uriOf("nowhere").fsPath, vscode.ConfigurationTarget.Global);
    await command("handrail.client.restartServer");
    await command("notifications.clearAll");
    await command("workbench.action.chat.open", { query: "@handrail Are you there?" });
    await user({ sees: "Correct the setting handrail.serverPath, or clear it.", picture: "no-server" });
    await settings().update("serverPath", path, vscode.ConfigurationTarget.Global);
    await user({ sees: "Correct the setting", does: [["clickText", "Restart Server"]] });
    await until("the server runs", () => servers().length === 1);
    model.answer = async (progress) => say(progress, "Here I am.");
    await command("workbench.action.chat.open", { query: "@handrail Are you there now?" });
    await user({ sees: "Here I am.", picture: "mended" });
  },
};
