// A turn's changes in five places: typed in, undone, commented on and committed, with lenses and code actions alone.
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const vscode = require("vscode");

const { command, config, onDisk, ready, scenario, until, uriOf, user } = require("./kit.cjs");

const show = async (name) => vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uriOf(name)));
const lensesOf = async (uri) =>
  (await command("vscode.executeCodeLensProvider", uri, 50)).map(({ range, command: { title } }) => `${range.start.line} ${title}`);
const actionsAt = (uri, line) =>
  command("vscode.executeCodeActionProvider", uri, new vscode.Range(line, 0, line, 0), "quickfix");
const lineOf = (document, text) => document.getText().split(/\r?\n/).indexOf(text);

let poem;
let price;
let page;

module.exports = {
  "two documents are open, one with unsaved text": async () => {
    await ready();
    price = (await show("price.txt")).document;
    const editor = await show("poem.txt");
    poem = editor.document;
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), `${scenario.typed}\n`));
  },
  "a turn changes five places": async () => {
    const { turn } = await command("handrail.turn.start", { prompt: scenario.prompt });
    const report = await command("handrail.turn.wait", { turn });
    assert.deepEqual(report.outcomes.map(({ status }) => status), Array(5).fill("landed"));
    assert.equal(report.pending.length, 5);
  },
  "lenses stand above the changes": async () => {
    await until("the lenses are there", async () => (await lensesOf(poem.uri)).length === 4);
    assert.deepEqual(await lensesOf(poem.uri), ["2 ✎ +1 −1: Keep", "2 Undo", "4 ✎ +1 −1: Keep", "4 Undo"]);
    await user({ sees: "✎ +1 −1: Keep", picture: "lenses" });
  },
  "typing in a change leaves it pending": async () => {
    const editor = await show("poem.txt");
    await editor.edit((edit) => edit.insert(poem.lineAt(2).range.end, scenario.inside));
    await until("the lenses are there", async () => (await lensesOf(poem.uri)).length === 4);
  },
  "a lens undoes a change, CRLF and all": async () => {
    await show("price.txt");
    await user({ sees: "✎ +1 −1: Keep", does: [["clickText", "Undo"]], picture: "undo" });
    await until("the change is undone", () => price.getText() === scenario.price);
    await until("the lenses are gone", async () => (await lensesOf(price.uri)).length === 0);
  },
  "the light bulb opens the review document": async () => {
    const editor = await show("poem.txt");
    editor.selection = new vscode.Selection(2, 0, 2, 0);
    await until("there are actions", async () => (await actionsAt(poem.uri, 2)).length > 0);
    await command("editor.action.quickFix");
    await user({ sees: "Open the review document", does: [["clickText", "Open the review document"]], picture: "bulb" });
    await until("it is shown", () => vscode.window.activeTextEditor?.document.uri.path.endsWith("/.handrail/review.md"));
    page = vscode.window.activeTextEditor.document;
    const headings = () => page.getText().split("\n").filter((row) => row.startsWith("#"));
    await until("it shows what is pending", () => headings().length === scenario.headings.length);
    assert.deepEqual(headings(), scenario.headings);
  },
  "a comment is written below a change, and sent": async () => {
    const editor = await vscode.window.showTextDocument(page);
    const line = lineOf(page, "+THIRD") + 2;
    await editor.edit((edit) => edit.insert(new vscode.Position(line, 0), `${scenario.comment}\n`));
    await until("it can be sent", async () => (await lensesOf(page.uri)).includes("0 Send comments (1)"));
    editor.revealRange(new vscode.Range(0, 0, 0, 0), vscode.TextEditorRevealType.AtTop);
    await user({ sees: "Send comments (1)", picture: "review" });
    await user({ sees: "Send comments (1)", does: [["clickText", "Send comments (1)"]], picture: "sent" });
    await until("it is answered", () => page.getText().includes("This was answered in"));
    await until("the answer has landed", () => onDisk("note.txt") === scenario.louder);
    editor.revealRange(page.lineAt(lineOf(page, "> Please make it LOUDER.")).range, vscode.TextEditorRevealType.InCenter);
    await user({ sees: "was answered in", picture: "answered" });
  },
  "what is committed is kept": async () => {
    await vscode.workspace.saveAll(false);
    execFileSync("git", ["commit", "-qam", "loud"], { cwd: config.workspace });
    await until("nothing is pending", () => page.getText().includes("No changes are pending."));
    assert.deepEqual(Object.fromEntries(Object.keys(scenario.disk).map((name) => [name, onDisk(name)])), scenario.disk);
  },
};
