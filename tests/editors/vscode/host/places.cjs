// Where work is done: in several folders, in documents without a file, beside notebooks, and in two windows of one workspace.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { answers, inView, write } = require("./chat_kit.cjs");
const { command, ready, scenario, servers, until, uriOf, user } = require("./kit.cjs");
const { model, say, turnThatCalls, useModel } = require("./model.cjs");

const MESSAGE = "Your message";
const ROWS = '[id="workbench.view.extension.handrail-review"] .monaco-list-row';
const block = (name, old, now) => `${name}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
const inLibrary = (name) => vscode.Uri.file(path.join(scenario.library, name));
const textOf = async (uri) => (await vscode.workspace.openTextDocument(uri)).getText();
const apply = async (edits) => (await command("handrail.turn.apply", { edits })).report.outcomes;
const asked = () => JSON.stringify(model.asked.at(-1)?.messages.at(-1)?.content ?? "");
const pending = async () => (await command("handrail.review.list", {})).map(({ uri }) => uri);
const rows = async () => (await user({ sees: "Handrail", reads: { rows: ROWS } })).rows.join("\n");
const thrown = [];

module.exports = {
  "two folders have a file of one name, and each edit lands in its own": async () => {
    await ready();
    await useModel();
    const folders = () => (vscode.workspace.workspaceFolders ?? []).map(({ name }) => name).join();
    await until("VS Code has both folders", () => folders() === "shop,The library");
    const outcomes = await apply(block("shop/list.txt", "one", "ONE") + block("library/list.txt", "two", "TWO"));
    assert.deepEqual(outcomes.map(({ status }) => status), ["landed", "landed"]);
    assert.deepEqual([await textOf(uriOf("list.txt")), await textOf(inLibrary("list.txt"))], ["ONE\ntwo\n", "one\nTWO\n"]);
    assert.deepEqual((await pending()).sort(), [inLibrary("list.txt"), uriOf("list.txt")].map(String).sort());
    await command("handrail.client.review.focus");
    await user({ sees: "The library", picture: "review" });
  },
  "a file that is dropped is named so that the model sees it, whatever its folder is called": async () => {
    await command("handrail.client.newChat");
    answers(async (progress) => say(progress, "Both were named."));
    const list = [inLibrary("two words.txt"), inLibrary("list.txt")].map(String).join("\r\n");
    await inView({ sees: "New conversation", does: [["drop", MESSAGE, list]] });
    const value = async () => (await inView({ sees: "New conversation", does: [["value", MESSAGE]] })).returned[0];
    await until("they are named", async () => (await value()).includes("list.txt"));
    await inView({ sees: "New conversation", ...write("See these.") });
    await inView({ sees: "Both were named.", picture: "named" });
    assert(asked().includes("these words are in the library"), asked());
    assert(asked().includes("TWO"), asked());
  },
  "what is pending in a document without a file goes along when it is saved": async () => {
    const untitled = await vscode.workspace.openTextDocument(uriOf("new.txt").with({ scheme: "untitled" }));
    const editor = await vscode.window.showTextDocument(untitled);
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "one\ntwo\n"));
    assert.deepEqual((await apply(block(String(untitled.uri), "one", "ONE"))).map(({ status }) => status), ["landed"]);
    assert.equal(untitled.getText(), "ONE\ntwo\n");
    assert((await pending()).includes(String(untitled.uri)));
    assert(await untitled.save());
    assert.equal(fs.readFileSync(uriOf("new.txt").fsPath, "utf8"), "ONE\ntwo\n");
    await until("it is pending in the file", async () => (await pending()).includes(String(uriOf("new.txt"))));
    assert(!(await pending()).includes(String(untitled.uri)));
    const [{ id }] = (await command("handrail.review.list", {})).filter(({ uri }) => uri === String(uriOf("new.txt")));
    await command("handrail.review.undo", { hunks: [id] });
    await until("it is undone", async () => (await textOf(uriOf("new.txt"))) === "one\ntwo\n");
  },
  "a notebook is refused in plain words, and its unsaved cells stay": async () => {
    const notebook = await vscode.workspace.openNotebookDocument(uriOf("tax.ipynb"));
    await vscode.window.showNotebookDocument(notebook);
    const cell = notebook.cellAt(0).document;
    assert.equal(cell.getText(), scenario.cell);
    const edit = new vscode.WorkspaceEdit();
    edit.insert(cell.uri, new vscode.Position(0, 0), "# not saved\n");
    assert(await vscode.workspace.applyEdit(edit));
    const before = fs.readFileSync(uriOf("tax.ipynb").fsPath, "utf8");
    const { report } = await turnThatCalls([["patch", { mode: "replace", path: "tax.ipynb", old_string: "0.19", new_string: "0.21" }]], "It is a notebook.");
    const [{ status, failure }] = (await report).outcomes;
    assert.deepEqual([status, failure.code], ["failed", "edit-rejected"]);
    assert.match(failure.message, /handrail does not edit notebooks/);
    assert(asked().includes("handrail does not edit notebooks"));
    assert.deepEqual([cell.getText(), notebook.isDirty], [`# not saved\n${scenario.cell}`, true]);
    assert.equal(fs.readFileSync(uriOf("tax.ipynb").fsPath, "utf8"), before);
    await user({ sees: "Handrail", picture: "notebook" });
    assert(await notebook.save());
    await command("workbench.action.closeAllEditors");
  },
  // Not the first one: for that, VS Code starts the extension host anew, and with it these tests.
  "of a folder that leaves the workspace, the pending changes stay, under its path": async () => {
    process.on("unhandledRejection", (reason) => thrown.push(String(reason?.stack ?? reason)));
    const before = (await pending()).sort();
    assert(before.includes(String(inLibrary("list.txt"))));
    await command("handrail.client.review.focus");
    await until("the row is below the folder's name", async () => (await rows()).includes("The library"));
    assert(vscode.workspace.updateWorkspaceFolders(1, 1));
    await until("it has left", () => vscode.workspace.workspaceFolders.length === 1);
    await until("the row is below the folder's path", async () => (await rows()).includes(scenario.library));
    assert.doesNotMatch(await rows(), /The library/);
    await user({ sees: "Handrail", picture: "folder-gone" });
    assert.deepEqual((await pending()).sort(), before);
  },
  "they are where they were once it is back, and are undone": async () => {
    assert(vscode.workspace.updateWorkspaceFolders(1, 0, { uri: vscode.Uri.file(scenario.library), name: "The library" }));
    await until("it is back", () => vscode.workspace.workspaceFolders.length === 2);
    await until("the row is below the folder's name", async () => (await rows()).includes("The library"));
    await user({ sees: "The library", picture: "folder-back" });
    assert.deepEqual((await apply(block("library/two words.txt", "these words are in the library", "THESE WORDS"))).map(({ status }) => status), ["landed"]);
    await command("handrail.review.undo", { uri: String(inLibrary("list.txt")) }); // a slow one is answered with null
    await until("it is undone", async () => (await textOf(inLibrary("list.txt"))) === "one\ntwo\n");
    await until("nothing of it is pending", async () => !(await pending()).includes(String(inLibrary("list.txt"))));
    assert(vscode.workspace.updateWorkspaceFolders(1, 1));
    await until("the row is below the folder's path", async () => (await rows()).includes(scenario.library));
    await command("handrail.review.undo", { uri: String(inLibrary("two words.txt")) });
    await until("it is undone, too", async () => (await textOf(inLibrary("two words.txt"))) === "these words are in the library\n");
    await until("no row of it is left", async () => !(await rows()).includes("two words"));
    assert.deepEqual(thrown.filter((text) => text.includes("handrail")), []);
  },
  "another window of the workspace has a server of its own": async () => {
    await user({ sees: "Handrail", does: [["openWindow"]] });
    await until("it has a server", () => servers().length === 2);
    await user({ window: 1, sees: "Handrail", picture: "other-window" });
  },
};
