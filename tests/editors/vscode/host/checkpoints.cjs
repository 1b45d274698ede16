// The view "Checkpoints": turns by conversation, what each changed, restores that are looked at first, and redo.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { command, copy, onDisk, ready, scenario, titleOf, until, uriOf, user } = require("./kit.cjs");

const ENTER = ["press", "Enter"];
const ROWS = '[id="workbench.view.extension.handrail-review"] .monaco-list-row';
const TURN = "^\\s*Sell fruit\\.\\d"; // the row of the turn: the conversation is called the same
const block = (name, old, now) => `${name}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
const base64 = (text) => Buffer.from(text).toString("base64");
const tidy = (text) => text.replace(/\s+/g, " ").trim();
const tab = () => vscode.window.tabGroups.activeTabGroup.activeTab;
const rows = async (moment) => (await user({ reads: { rows: ROWS }, ...moment })).rows.map(tidy);
const latest = async () => (await command("handrail.checkpoint.list", {}))[0];

let stock, turn;

module.exports = {
  "the view lists this conversation first, with the local time": async () => {
    await ready();
    const other = await command("handrail.turn.start", { prompt: `Begin.\n\n${block("list.txt", "one", "One")}` });
    const { checkpoint } = await command("handrail.turn.wait", { turn: other.turn });
    await command("handrail.checkpoint.restore", { checkpoint });
    await copy(`Sell fruit.\n\n${block("stock.txt", "pears 2", "pears 0")}\n${block("list.txt", "two", "TWO")}`);
    turn = await command("handrail.client.applyClipboard");
    stock = await vscode.workspace.openTextDocument(uriOf("stock.txt"));
    await stock.save();
    await command("notifications.clearAll");
    await command("handrail.review.keep", { all: true }); // the other view is empty
    await command("handrail.client.showCheckpoints");
    await user({ sees: "Nothing to review." });
    const found = await until("the turn is there", async () => {
      const all = await rows({ sees: "Sell fruit.", picture: "view" });
      return all.some((row) => row.startsWith("Sell fruit.")) && all;
    });
    const time = new Date((await latest()).time).toLocaleString(undefined, { timeStyle: "short" });
    assert.match(found[0], /this conversation$/);
    assert.equal(found[1], tidy(`Sell fruit.${time} · 2 documents`));
    assert(found.some((row) => /\d checkpoints?$/.test(row)), "the other conversations follow");
  },
  "all that a turn changed is compared in one editor, and a document in its own": async () => {
    await user({ sees: "Sell fruit.", does: [["clickInRow", TURN, titleOf("handrail.client.compareCheckpoint")]] });
    await until("it is shown", () => tab()?.label.startsWith("Sell fruit."));
    const { texts } = await user({ sees: "pears 0", reads: { texts: ".multiDiffEntry .title" }, picture: "turn" });
    assert.deepEqual(texts.map(tidy).filter((text) => text !== "").sort(), ["list.txt", "stock.txt"]);
    await command("workbench.action.closeActiveEditor");
    await command("handrail.client.showCheckpoints");
    // By keyboard alone: to the turn, its documents, and the first of them.
    await user({ sees: "Sell fruit.", does: [["press", "Home"], ["press", "ArrowDown"], ["press", "ArrowRight"]] });
    await user({ sees: "changed", does: [["press", "ArrowRight"], ENTER], picture: "documents" });
    await until("the difference is shown", () => tab()?.input?.modified?.scheme === "handrail-checkpoint");
    const { original, modified } = tab().input;
    const texts2 = await Promise.all([original, modified].map(async (uri) => (await vscode.workspace.openTextDocument(uri)).getText()));
    assert(["one\ntwo\n|one\nTWO\n", "apples 1\npears 2\nplums 3\nfigs 4\n|apples 1\npears 0\nplums 3\nfigs 4\n"].includes(texts2.join("|")));
    await command("workbench.action.closeActiveEditor");
  },
  "conflicts are shown before anything is written, each with its difference": async () => {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(stock.uri, new vscode.Range(1, 0, 1, 7), "pears 7");
    await vscode.workspace.applyEdit(edit);
    await user({ sees: "Sell fruit.", does: [["clickInRow", TURN, titleOf("handrail.client.restoreListed")]] });
    await user({ sees: "Undo this turn only", does: [ENTER] });
    await user({ sees: "1 conflict.", does: [["press", "ArrowDown"], ENTER], picture: "preview" });
    await until("the difference is shown", () => vscode.window.activeTextEditor?.document.getText().includes("-pears 7\n+pears 2"));
    assert.equal(onDisk("list.txt"), base64("one\nTWO\n"), "nothing is written");
    await user({ sees: "1 conflict.", does: [["press", "ArrowUp"], ENTER] });
    await until("the rest is restored", () => onDisk("list.txt") === scenario.disk.before["list.txt"]);
    await user({ sees: "1 document restored.", picture: "conflict" }); // it is over
    assert.equal(stock.getText(), "apples 1\npears 7\nplums 3\nfigs 4\n", "what was typed stays");
    await vscode.window.showTextDocument(stock);
    await command("undo");
  },
  "a restore is redone from its row": async () => {
    await command("notifications.clearAll");
    await command("handrail.client.showCheckpoints");
    await user({ sees: "Restore: Sell fruit.", does: [["clickInRow", "Restore: Sell fruit.", titleOf("handrail.client.redoListed")]], picture: "restored" });
    await user({ sees: "1 document restored.", picture: "redone" });
    await until("it is redone", () => onDisk("list.txt") === base64("one\nTWO\n"));
    await user({ sees: "Undo of a restore: Sell fruit." });
  },
  "a restore without conflicts is looked at first, too; the newest is redone from the palette": async () => {
    await command("notifications.clearAll");
    await command("handrail.client.showCheckpoints");
    await user({ sees: "Undo of a restore", does: [["clickInRow", TURN, titleOf("handrail.client.restoreListed")]] });
    await user({ sees: "Undo this turn only", does: [ENTER] });
    await user({ sees: "No conflicts.", does: [ENTER], picture: "no-conflicts" });
    await until("all is restored", () => onDisk("list.txt") === scenario.disk.before["list.txt"]);
    await command("handrail.client.redo");
    assert.equal(onDisk("list.txt"), base64("one\nTWO\n"));
    await command("handrail.checkpoint.restore", { checkpoint: turn.checkpoint });
    await until("all is restored once more", () => onDisk("list.txt") === scenario.disk.before["list.txt"]);
    await stock.save();
  },
};
