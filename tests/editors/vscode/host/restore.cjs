// Going back, as a user does it: lists, keys, buttons and the editor's menu.
const assert = require("node:assert/strict");
const path = require("node:path");
const vscode = require("vscode");
const { command, copy, onDisk, scenario, until, uriOf, user } = require("./kit.cjs");

const ENTER = ["press", "Enter"];
const DOWN = ["press", "ArrowDown"];
const names = (uris) => uris.map((uri) => path.posix.basename(uri)).sort();
const block = (name, old, now) => `${name}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
const shown = (scheme) =>
  until(`a document of ${scheme} is shown`, () => {
    const document = vscode.window.activeTextEditor?.document;
    return document?.uri.scheme === scheme && document;
  });

/** Runs a turn as the extension does, with a reply in the clipboard; every edit lands. */
async function turn(label, ...blocks) {
  await command("notifications.clearAll");
  await copy([`${label}\n`, ...blocks].join("\n"));
  const report = await command("handrail.client.applyClipboard");
  assert.deepEqual(report.outcomes.map(({ status }) => status), blocks.map(() => "landed"), report.reason);
  await command("notifications.clearAll");
  return report;
}

/** Runs a command of the extension, with what the user does meanwhile; returns what it came to. */
async function withUser(name, ...moments) {
  const done = command(name);
  for (const moment of moments) await user(moment);
  return done;
}

let stock;
let session;

module.exports = {
  "Enter, Enter takes a turn back": async () => {
    await turn("Begin the day.", block("list.txt", "two", "TWO"));
    await turn("Raise it all.", block("stock.txt", "apples 1", "apples 10"), block("list.txt", "one", "ONE"));
    const report = await withUser(
      "handrail.client.restore",
      { sees: "Raise it all.", does: [ENTER] },
      { sees: "Undo this turn only", does: [ENTER] },
    );
    assert.deepEqual(names(report.restored), ["list.txt", "stock.txt"]);
    assert.equal(onDisk("stock.txt"), scenario.disk.before["stock.txt"]);
    await user({ sees: "2 documents restored." });
  },
  "a step back, then one document only": async () => {
    await turn("Raise again.", block("stock.txt", "apples 1", "apples 10"), block("list.txt", "one", "ONE"));
    const report = await withUser(
      "handrail.client.restore",
      { sees: "Raise again.", does: [ENTER] },
      { sees: "Undo this turn only", does: [["click", "button", "Back"]] },
      { sees: "Choose a turn or another change", does: [ENTER] },
      { sees: "one document only", does: [["type", "list.txt"], ENTER] },
    );
    assert.deepEqual(names(report.restored), ["list.txt"]);
    assert.notEqual(onDisk("stock.txt"), scenario.disk.before["stock.txt"]);
  },
  "what a turn changed is shown": async () => {
    // The newest checkpoint is that of the restore before.
    await withUser(
      "handrail.client.restore",
      { sees: "Restore: Raise again.", does: [DOWN, ENTER] },
      { sees: "Show changes", does: [["type", "Show changes"], ENTER] },
    );
    const document = await shown("handrail");
    assert.match(document.getText(), /^-apples 1\n\+apples 10$/m);
    assert.equal(document.languageId, "diff");
  },
  "the editor's menu restores the selected lines, and is not there for other documents": async () => {
    await vscode.window.showTextDocument(uriOf(".editorconfig"));
    await user({ sees: "charset", does: [["press", "Shift+F10"]] });
    await user({ sees: "Command Palette...", lacks: "Restore Selected Lines…", does: [["press", "Escape"]] });
    await turn("Raise two.", block("stock.txt", "pears 2", "pears 20"), block("stock.txt", "figs 4", "figs 40"));
    const editor = await vscode.window.showTextDocument(uriOf("stock.txt"));
    stock = editor.document;
    assert.equal(stock.getText(), "apples 10\npears 20\nplums 3\nfigs 40\n");
    editor.selection = new vscode.Selection(2, 0, 3, 2);
    await user({ sees: "figs 40", does: [["press", "Shift+F10"]] });
    await user({ sees: "Restore Selected Lines…", does: [["choose", "Restore Selected Lines…"]] });
    await user({ sees: "Undo what was changed in lines 3–4 of stock.txt", does: [ENTER] });
    await until("the line is back", () => stock.getText() === "apples 10\npears 20\nplums 3\nfigs 4\n");
    await user({ sees: "1 document restored." });
    await withUser("handrail.client.restoreLines", { sees: "Undo what was changed", does: [DOWN, ENTER] });
    await user({ sees: "that checkpoint has no changes in these lines." });
  },
  "back with the conversation, and undone with it": async () => {
    await command("notifications.clearAll");
    const report = await withUser(
      "handrail.client.restore",
      { sees: "Restore: Raise two.", does: [DOWN, ENTER] },
      { sees: "Go back to before this turn", does: [["type", "with the conversation"], ENTER] },
    );
    assert.equal(stock.getText(), "apples 10\npears 2\nplums 3\nfigs 4\n");
    session = report.conversation.session;
    const prompts = report.conversation.turns.map(({ prompt }) => prompt.split("\n")[0]);
    assert.deepEqual(prompts.slice(1), ["What is the tax?", "Begin the day.", "Raise it all.", "Raise again."]);
    const undo = ["click", "button", "Undo Restore"];
    await user({ sees: "The conversation now has 5 turns. Your next message continues from there.", does: [undo] });
    await user({ sees: "The conversation now has 6 turns. Your next message continues from there." });
    assert.equal(stock.getText(), "apples 10\npears 20\nplums 3\nfigs 4\n");
    assert.equal((await turn("Rename.", block("stock.txt", "plums 3", "prunes 3"))).session, session);
  },
  "the conversation alone goes back, and the next prompt goes on in it": async () => {
    const started = await command("handrail.turn.start", { prompt: `Sell.\n\n${block("stock.txt", "pears 20", "pears 2")}` });
    await command("handrail.turn.wait", { turn: started.turn });
    assert.notEqual(started.session, session);
    const text = stock.getText();
    const report = await withUser(
      "handrail.client.restore",
      { sees: "Sell.", does: [ENTER] },
      { sees: "Rewind the conversation only", does: [["type", "conversation only"], ENTER] },
    );
    assert.deepEqual(report.conversation, { session: started.session, turns: [] });
    assert.equal(stock.getText(), text);
    assert.equal((await turn("Buy.", block("stock.txt", "apples 10", "apples 11"))).session, started.session);
  },
  "what is in the way of a restore is shown before anything is written": async () => {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(stock.uri, new vscode.Range(0, 0, 0, 9), "apples 12");
    await vscode.workspace.applyEdit(edit);
    const done = command("handrail.client.restore");
    await user({ sees: "Buy.", does: [ENTER] });
    await user({ sees: "Undo this turn only", does: [ENTER] });
    await user({ sees: "Nothing can be restored.", does: [ENTER], picture: "conflict" });
    const document = await shown("handrail-text");
    assert.match(document.getText(), /^-apples 12\n\+apples 10$/m);
    await user({ sees: "Nothing can be restored.", does: [["press", "Escape"]] });
    assert.equal(await done, undefined);
    assert.match(stock.getText(), /^apples 12$/m);
    await vscode.window.showTextDocument(stock);
    await command("undo");
    assert.match(stock.getText(), /^apples 11$/m);
  },
  "back to before a turn takes all later ones back": async () => {
    const report = await withUser(
      "handrail.client.restore",
      { sees: "Choose a turn or another change", does: [["type", "Begin the day"], ENTER] },
      { sees: "later checkpoints", does: [["type", "Go back to before"], ENTER] },
    );
    assert.deepEqual([report.conflicts, report.conversation], [[], undefined]);
    assert(await stock.save());
    for (const name of ["stock.txt", "list.txt"]) assert.equal(onDisk(name), scenario.disk.before[name], name);
  },
};
