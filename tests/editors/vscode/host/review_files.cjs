// The review of files of every kind: from one to the next, compared in one editor while they are kept and undone, and all at once.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { command, onDisk, ready, scenario, titleOf, until, uriOf, user } = require("./kit.cjs");

const ROWS = '[id="workbench.view.extension.handrail-review"] .monaco-list-row';
const ICONS = `${ROWS} .monaco-icon-label.file-icon`;
const MARKS = ".margin-view-overlays [class*=dirty-diff-]";
const tidy = (text) => text.replace(/\s+/g, " ").trim();
const nameOf = (uri) => uri.split("/").at(-1);
const pending = (params = {}) => command("handrail.review.list", params);
const listed = async () => (await pending()).map(({ uri }) => nameOf(uri));
const exists = (name) => vscode.workspace.fs.stat(uriOf(name)).then(() => true, () => false);
const show = async (name) => vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uriOf(name)));
const tab = () => vscode.window.tabGroups.activeTabGroup.activeTab;
const place = () => `${tab().label}:${(vscode.window.activeTextEditor?.selection.active.line ?? 0) + 1}`; // what is not text has no such editor
const steps = ["blank.txt:1", "card.txt:1", "cleared.txt:1", "dot.bin:1", "gone.txt:1", "hollow.txt:1", "moved.txt:1", "poem.txt:3", "poem.txt:5", "price.txt:2", "deep.txt:1"];

/** The text that a document is compared with, as VS Code holds it. */
function baseOf(name) {
  const isBase = ({ uri }) => uri.scheme === "handrail-base" && nameOf(uri.path) === name;
  return vscode.workspace.textDocuments.find(isBase)?.getText();
}

/** Clicks what the row of a change offers. */
const click = (row, id) => user({ sees: scenario.prompt, does: [["clickInRow", row, titleOf(id)]] });

let poem;
let session;

module.exports = {
  "a turn changes files of every kind": async () => {
    await ready();
    const editor = await show("poem.txt");
    poem = editor.document;
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "zero\n"));
    const { turn, session: begun } = await command("handrail.turn.start", { prompt: scenario.prompt });
    session = begun;
    assert.equal((await command("handrail.turn.wait", { turn })).state, "finished");
    assert.deepEqual(await listed(), steps.map((step) => step.split(":")[0]));
  },
  "each is a row that says what happened to it": async () => {
    await command("handrail.client.review.focus");
    const found = await until("all rows are there", async () => {
      const { rows, icons } = await user({ sees: scenario.prompt, reads: { rows: ROWS, icons: ICONS }, picture: "view" });
      return rows.length === 22 && { rows: rows.map(tidy), icons };
    });
    assert.equal(found.icons.length, 10, "documents have the icons of their files");
    const changes = found.rows.filter((row) => !/changes?$/.test(row));
    assert.deepEqual(changes, [
      "1: filled+1 −0",
      "1: Viele Grüße+1 −1",
      "1: all of this+0 −1",
      "Changed (not a text file)",
      "Deleted+0 −2",
      "Created",
      "Moved from old.txt",
      "3: TWO+1 −1",
      "5: FOUR+1 −1",
      "2: TAX = 2+1 −1",
      "Created+1 −0",
    ]);
  },
  "a change is undone in a file that is not UTF-8": async () => {
    await click("Viele Grüße", "handrail.client.undoListed");
    await until("it is undone", () => onDisk("card.txt") === scenario.left["card.txt"]);
    await until("it is not pending", async () => !(await listed()).includes("card.txt"));
  },
  "one goes from file to file, past those that are deleted or not text, and around": async () => {
    const left = steps.filter((step) => step !== "card.txt:1");
    const go = async (id) => {
      const before = place();
      await command(id);
      await until("another change is shown", () => place() !== before);
      return place();
    };
    (await show("price.txt")).selection = new vscode.Selection(1, 0, 1, 0);
    const seen = [];
    for (const _ of left) seen.push(await go("handrail.client.nextChange"));
    assert.deepEqual(seen, ["deep.txt:1", ...left.slice(0, -1)]);
    const back = [];
    for (const _ of left) back.push(await go("handrail.client.previousChange"));
    assert.deepEqual(back, [...seen.slice(0, -1).reverse(), seen.at(-1)]);
  },
  "a moved document is marked where it differs, and one that is not text nowhere": async () => {
    const marks = async (name) => {
      await command("vscode.open", uriOf(name));
      return user({ sees: "Handrail", reads: { marks: MARKS }, behind: { text: ".view-line span" }, picture: `marks-${name}` });
    };
    const moved = await until("the row is marked", async () => {
      const found = await marks("moved.txt");
      return found.marks.length === 1 && found;
    });
    assert.deepEqual(moved.text, []);
    assert.deepEqual((await marks("dot.bin")).marks, []);
  },
  "at a deleted document, its removal is kept or undone": async () => {
    const [gone] = await pending({ uri: uriOf("gone.txt").toString() });
    await command("handrail.client.openChange", { kind: "change", turn: "", hunks: [gone] });
    await until("it is shown", () => vscode.window.activeTextEditor?.document.getText() === "going\ngone\n");
    vscode.window.activeTextEditor.selection = new vscode.Selection(1, 0, 1, 0);
    await command("handrail.client.undoChange");
    await until("it is back", () => exists("gone.txt"));
    assert(!(await listed()).includes("gone.txt"));
    await until("the row is gone", async () => !(await user({ sees: scenario.prompt, reads: { rows: ROWS } })).rows.some((row) => row.includes("gone.txt")));
    await command("workbench.action.closeActiveEditor");
  },
  "all changes are compared in one editor, which follows what is undone and kept": async () => {
    await show("poem.txt");
    await command("handrail.client.compareChanges");
    await until("it is shown", () => tab()?.label.startsWith("To review: 9 changes"));
    await user({ sees: "filled", picture: "all" });
    assert.equal(baseOf("moved.txt"), "alpha\nbeta\ngamma\ndelta\n");
    await click("FOUR", "handrail.client.undoListed");
    await until("it is undone", () => poem.getText() === "zero\none\nTWO\nthree\nfour\nfive\n");
    await until("the row is gone", async () => !(await user({ sees: scenario.prompt, reads: { rows: ROWS } })).rows.some((row) => row.includes("FOUR")));
    assert.equal(baseOf("poem.txt"), "zero\none\ntwo\nthree\nfour\nfive\n");
    await click("TAX = 2", "handrail.client.keepListed");
    await until("it is kept", async () => !(await listed()).includes("price.txt"));
    await until("it does not differ", () => baseOf("price.txt") === "net = 1\r\nTAX = 2\r\nsum = 3\r\n");
    await click("hollow.txt", "handrail.client.undoListed");
    await until("it is removed", async () => !(await exists("hollow.txt")));
    await until("the row is gone", async () => !(await user({ sees: scenario.prompt, reads: { rows: ROWS } })).rows.some((row) => row.includes("hollow")));
    await user({ sees: scenario.prompt, picture: "followed" });
    await command("workbench.action.closeActiveEditor");
  },
  "the changes of one document are kept, or undone": async () => {
    await command("handrail.client.keepDocument", uriOf("blank.txt"));
    await command("handrail.client.undoDocument", uriOf("sub/deep.txt"));
    await until("it is removed", async () => !(await exists("sub/deep.txt")));
    (await show("poem.txt")).selection = new vscode.Selection(2, 0, 2, 0);
    assert.deepEqual(await listed(), ["cleared.txt", "dot.bin", "moved.txt", "poem.txt"]);
  },
  "all others are undone but the one that was typed in, of which both texts are shown": async () => {
    const editor = await show("poem.txt");
    await editor.edit((edit) => edit.insert(new vscode.Position(2, 3), " and more"));
    await command("handrail.client.undoAll");
    await user({ sees: "A change in poem.txt was not undone.", does: [["click", "button", "Show Both Texts"]], picture: "conflict" });
    await until("both are shown", () => tab()?.label.startsWith("Not undone"));
    const both = vscode.window.activeTextEditor.document.getText();
    assert.match(both, /Now:\nTWO and more\n+Without the change:\ntwo\n/);
    await user({ sees: "Without the change:", picture: "both" });
    await command("workbench.action.closeActiveEditor");
    assert.deepEqual(await listed(), ["poem.txt"]);
    assert.equal(poem.getText(), "zero\none\nTWO and more\nthree\nfour\nfive\n");
    for (const name of Object.keys(scenario.left)) if (name !== "poem.txt") assert.equal(onDisk(name), scenario.left[name], name);
    assert(!(await exists("moved.txt")));
  },
  "it is kept at the cursor, and the log and the review document are at hand": async () => {
    (await show("poem.txt")).selection = new vscode.Selection(2, 0, 2, 0);
    await command("handrail.client.keepChange");
    assert.deepEqual(await listed(), []);
    await command("handrail.client.openReview");
    await until("it is shown", () => vscode.window.activeTextEditor?.document.getText().includes("No changes are pending."));
    await command("handrail.client.showLog");
    await until("it is shown", () => vscode.workspace.textDocuments.some(({ uri }) => uri.scheme === "output"));
    await user({ sees: "Output", picture: "log" });
  },
  "of a file that is not text, but is open as text, no rows are counted, and the undo says that closing it helps": async () => {
    const { turn } = await command("handrail.turn.start", { prompt: scenario.prompt, session });
    await command("handrail.turn.wait", { turn });
    await command("vscode.open", uriOf("dot.bin"));
    await user({ sees: "Open Anyway", does: [["clickText", "Open Anyway"]], picture: "not-text" });
    await user({ sees: "Select editor for", does: [["press", "Enter"]] });
    await until("it is shown as text", () => vscode.window.activeTextEditor?.document.fileName.endsWith("dot.bin"));
    await user({ sees: "✎ not a text file: Keep", picture: "open-as-text" });
    await click("not a text file", "handrail.client.undoListed");
    await user({ sees: "Some editors keep a file open for a few minutes after you close its tab.", picture: "close-it" });
    assert.deepEqual(await listed(), ["dot.bin"]);
    assert.equal(onDisk("dot.bin"), onDisk("other.bin"));
  },
};
