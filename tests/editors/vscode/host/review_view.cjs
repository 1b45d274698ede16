// What is pending, in the places that VS Code has for it: marks in the text and beside it, a view, keys, differences.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { command, ready, scenario, servers, titleOf, until, uriOf, user } = require("./kit.cjs");

const ROWS = '[id="workbench.view.extension.handrail-review"] .monaco-list-row';
const BADGE = '.activitybar .action-item:has([aria-label^="Handrail Review"]) .badge-content';
const MARKS = ".margin-view-overlays [class*=dirty-diff-]";
const COMMENTABLE = ".margin-view-overlays [class*=comment-range-glyph]";
const said = async () => (await command("handrail.review.comments", {})).map(({ text }) => text);
const pending = (params = {}) => command("handrail.review.list", params);
const show = async (name) => vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uriOf(name)));
const tab = () => vscode.window.tabGroups.activeTabGroup.activeTab;
const line = () => vscode.window.activeTextEditor.selection.active.line;
const tidy = (text) => text.replace(/\s+/g, " ").trim();

/** What the user reads in the view "To Review". */
async function view(sees, more = {}) {
  const { rows, ...others } = await user({ sees, reads: { rows: ROWS, badge: BADGE, ...more.reads }, ...more });
  return { rows: rows.map(tidy), ...others };
}

async function turn(prompt, landed) {
  const { turn, ...begun } = await command("handrail.turn.start", { prompt, ...(session === "" ? {} : { session }) });
  ({ session } = begun);
  const report = await command("handrail.turn.wait", { turn });
  assert.deepEqual(report.outcomes.map(({ status }) => status), Array(landed).fill("landed"));
}

let kinds;
let session = "";

module.exports = {
  "two turns make six changes in three documents": async () => {
    await ready();
    kinds = (await show("kinds.py")).document;
    await turn(scenario.first, 4);
    await turn(scenario.second, 2);
    assert.equal((await pending()).length, 6);
  },
  "the view shows them by turn and document, with their number": async () => {
    await command("handrail.client.review.focus");
    const { rows, badge } = await until("all rows are there", async () => {
      const found = await view("Created", { picture: "view" });
      return found.rows.length === 12 && found.badge.length > 0 && found;
    });
    assert.deepEqual(rows, [
      "Number them anew4 changes", // what a row says more stands apart on the screen
      "kinds.py3 changes",
      "2: TWO = 22+1 −1",
      "5: HALF = 4.5+1 −0",
      "7: SIX = 6+0 −2",
      "list.txt1 change",
      "1: ONE+1 −1",
      "Write a note2 changes",
      "kinds.py1 change",
      "9: TEN = 100+1 −1",
      "note.txt1 change",
      "Created+1 −0",
    ]);
    assert.deepEqual(badge, ["6"]);
  },
  "what was removed is read behind the rows, and the marks beside the lines are ours": async () => {
    const { marks, text } = await until("the text has its marks", async () => {
      const found = await user({
        sees: "HALF",
        reads: { marks: MARKS },
        behind: { text: ".view-line span" },
        picture: "marks",
      });
      return found.marks.length === 4 && found;
    });
    assert.deepEqual(text.map((each) => each.replaceAll("\u00a0", " ")), ["− TWO = 2", "− SIX = 6 ⏎ SEVEN = 7", "− TEN = 10"]);
    assert.equal(marks.length, 4);
  },
  "keys go from change to change, and keep the one at the cursor": async () => {
    const editor = await show("kinds.py");
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    const seen = [];
    for (const key of ["Alt+F7", "Alt+F7", "Alt+F7", "Shift+Alt+F7"]) {
      const before = line();
      await user({ sees: "HALF", does: [["press", key]] });
      await until(`${key} goes on`, () => line() !== before);
      seen.push(line() + 1);
    }
    assert.deepEqual(seen, [2, 5, 7, 5]);
    await user({ sees: "HALF", does: [["press", "Control+Alt+Enter"]] });
    await until("it is kept", async () => (await pending()).length === 5);
    assert.match(kinds.getText(), /HALF = 4\.5/);
    await until("the view follows", async () => (await view("Write a note")).badge[0] === "5");
  },
  "a key undoes the one at the cursor": async () => {
    const editor = await show("kinds.py");
    editor.selection = new vscode.Selection(1, 0, 1, 0);
    await user({ sees: "HALF", does: [["press", "Control+Alt+Backspace"]] });
    await until("it is undone", () => kinds.lineAt(1).text === "TWO = 2");
    await until("it is not pending", async () => (await pending()).length === 4);
  },
  "the marks beside the lines open what was there, with a button that undoes it": async () => {
    const editor = await show("kinds.py");
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    await until("the text has two marks", async () => (await user({ sees: "HALF", reads: { marks: MARKS } })).marks.length === 2);
    await command("editor.action.dirtydiff.next");
    await user({ sees: "SEVEN = 7", picture: "peek", does: [["clickTitle", "Undo Change"]] });
    await until("the rows are back", () => kinds.getText().includes("SIX = 6\nSEVEN = 7\n"));
    await until("it is not pending", async () => (await pending()).length === 3);
    await command("closeDirtyDiff").then(undefined, () => undefined);
  },
  "all that a turn has changed is compared in one editor": async () => {
    await until("the view follows", async () => (await view("Write a note")).badge[0] === "3");
    await user({ sees: "Write a note", does: [["clickInRow", "Write a note", titleOf("handrail.client.compareListed")]] });
    await until("it is shown", () => tab()?.label.startsWith("To review: Write a note"));
    const { texts } = await user({ sees: "A note.", reads: { texts: ".multiDiffEntry .title" }, picture: "turn" });
    assert.deepEqual(texts.map(tidy).filter((text) => text !== ""), ["kinds.py", "note.txt"]);
    await command("workbench.action.closeActiveEditor");
  },
  "a document is compared with what it was": async () => {
    const [node] = (await pending({ uri: uriOf("list.txt").toString() })).map((hunk) => ({ kind: "document", turn: hunk.turns[0], uri: hunk.uri, hunks: [hunk] }));
    await command("handrail.client.compareListed", node);
    await until("it is shown", () => tab()?.label === "list.txt (to review)");
    const { original } = tab().input;
    assert.equal((await vscode.workspace.openTextDocument(original)).getText(), "one\ntwo\n");
    await user({ sees: "two", picture: "document" });
    await command("workbench.action.closeActiveEditor");
  },
  "a comment is begun at the lines of a change, and is in the review document": async () => {
    const editor = await show("list.txt");
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    // VS Code marks the lines at which a comment can be begun; before that, its command does nothing.
    await until("a comment can be begun", async () => (await user({ sees: "two", reads: { marks: COMMENTABLE } })).marks.length > 0);
    await command("workbench.action.addComment");
    await user({ sees: "What should the agent do differently?", does: [["type", "Please say one."], ["clickText", titleOf("handrail.client.addComment")]], picture: "comment" });
    await user({ sees: "your comment is in the review document", does: [["click", "button", "Open Review Document"]], picture: "added" });
    await until("it is there", () => vscode.window.activeTextEditor?.document.getText().includes("\nPlease say one.\n"));
    await command("workbench.action.closeActiveEditor");
    await command("notifications.clearAll");
  },
  "the comment stays at its lines and is edited there": async () => {
    await show("list.txt");
    await user({ sees: "Please say one.", does: [["clickInComment", "Please say one.", titleOf("handrail.client.editComment"), "Save Comment"]], picture: "thread" });
    await user({ sees: "Save Comment", does: [["press", "Control+End"], ["type", " Never."], ["clickText", titleOf("handrail.client.cancelComment")]] });
    await user({ sees: "Please say one.", lacks: "Save Comment", does: [["clickInComment", "Please say one.", titleOf("handrail.client.editComment"), "Save Comment"]] });
    await user({ sees: "Save Comment", does: [["press", "Control+End"], ["type", " Loudly."], ["clickText", titleOf("handrail.client.saveComment")]], picture: "edit" });
    await until("it is edited", async () => (await said())[0] === "Please say one. Loudly.");
    await user({ sees: "Please say one. Loudly.", lacks: "Save Comment" });
  },
  "another one is deleted": async () => {
    const [{ id }] = await pending({ uri: uriOf("note.txt").toString() });
    await command("handrail.review.comment", { hunk: id, text: "Never mind." });
    await show("note.txt");
    await user({ sees: "Never mind.", does: [["clickInComment", "Never mind.", titleOf("handrail.client.deleteComment")]] });
    await until("it is gone", async () => (await said()).length === 1);
    await user({ sees: "A note.", lacks: "Never mind." });
  },
  "no comment is lost when the server is killed": async () => {
    const [server] = servers();
    process.kill(server, "SIGKILL");
    await until("another server runs", () => servers().length === 1 && servers()[0] !== server);
    await until("it answers", () => said().then((texts) => texts.length === 1, () => false));
    await show("list.txt");
    await user({ sees: "Please say one. Loudly.", picture: "after-kill" });
    await until("the view follows", async () => (await view("Write a note")).badge[0] === "3");
  },
  "all comments are sent from a thread, and answered": async () => {
    await show("list.txt");
    await user({ sees: "Please say one. Loudly.", does: [["clickTitle", titleOf("handrail.client.sendComments")]] });
    await user({ sees: "1 comment sent.", lacks: "Please say one. Loudly.", picture: "sent" });
    assert.deepEqual(await said(), []);
    await until("it is answered", async () => (await command("handrail.chat.read", { session })).items.some(({ text }) => text === "I see."));
    await command("notifications.clearAll");
  },
  "what was typed in a change is a conflict that shows both texts": async () => {
    const editor = await show("list.txt");
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 3), " and more"));
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    await command("handrail.client.undoChange");
    const { document } = editor;
    assert.equal(document.getText(), "ONE and more\ntwo\n");
    await user({ sees: "A change in list.txt was not undone.", picture: "conflict", does: [["click", "button", "Undo My Edits Too"]] });
    await until("all of it is undone", () => document.getText() === "one\ntwo\n");
  },
  "the undo of a turn leaves what another turn did in the same row": async () => {
    await turn(scenario.third, 1);
    await turn(scenario.fourth, 1);
    const { document } = await show("list.txt");
    assert.equal(document.getText(), "one\nTWO!\n");
    await view(scenario.fourth, { does: [["clickInRow", scenario.fourth, titleOf("handrail.client.undoListed")]] });
    await until("the last turn is undone", () => document.getText() === "one\nTWO\n");
    await view(scenario.third, { lacks: scenario.fourth, picture: "turn-undone" });
    await command("notifications.clearAll");
  },
  "the rest is kept, and the view is empty": async () => {
    await until("three are left", async () => (await pending()).length === 3);
    const [{ id }] = await pending({ uri: uriOf("note.txt").toString() });
    await command("handrail.review.comment", { hunk: id, text: "Sign it." });
    await command("handrail.client.keepAll");
    const { rows, badge } = await view("Nothing to review.", { picture: "kept" });
    assert.deepEqual([rows, badge, await pending()], [[], [], []]);
    await show("kinds.py");
    await until("the marks are gone", async () => {
      const { marks, text } = await user({ sees: "HALF", reads: { marks: MARKS }, behind: { text: ".view-line span" } });
      return marks.length + text.length === 0;
    });
    assert.equal(kinds.getText(), scenario.after);
    const isSaid = (document) => !document.fileName.endsWith("review.md") || /^No changes are pending\.$/m.test(document.getText());
    await until("the review document says so", () => vscode.workspace.textDocuments.every(isSaid));
    assert(await vscode.workspace.saveAll(false)); // a page with unsaved documents is not left without a question
    await until("nothing is unsaved", () => vscode.workspace.textDocuments.every((document) => !document.isDirty));
  },
  reload: undefined,
  "no comment is lost when the window is reloaded": async () => {
    await ready();
    await show("note.txt");
    await user({ sees: "Sign it.", picture: "after-reload" });
    assert.deepEqual(await said(), ["Sign it."]);
  },
};
