// A server that is older or newer than the extension: what it can do works, what is missing is said plainly, and nothing throws.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");
const { answers, inView, sound, write } = require("./chat_kit.cjs");
const { command, copy, ready, scenario, until, uriOf, user } = require("./kit.cjs");
const { say, settings, turnThatCalls, useModel } = require("./model.cjs");

const TOASTS = { toasts: ".notification-toast .notification-list-item-message" };
const OLDER = ["chat/read", "chat/say", "chat/open", "checkpoint/list", "session/list", "review/comments"].map((name) => `handrail/${name}`);
const UNKNOWN = "This version of the extension cannot show this part of the conversation.";
const thrown = [];

/** Starts the server as if it were of another version. */
async function restartAs(changes) {
  fs.writeFileSync(scenario.changes, JSON.stringify(changes));
  await command("notifications.clearAll");
  await command("handrail.client.restartServer");
}

/** Edits a file by a reply from the clipboard. */
async function edit(old, now) {
  await copy(`list.txt\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`);
  const report = await command("handrail.client.applyClipboard");
  assert.deepEqual(report?.outcomes.map(({ status }) => status), ["landed"]);
  assert((await vscode.workspace.openTextDocument(uriOf("list.txt"))).getText().includes(now));
}

module.exports = {
  "an older server says what it cannot do, and the rest works": async () => {
    await ready();
    process.on("unhandledRejection", (reason) => thrown.push(String(reason?.stack ?? reason)));
    await command("handrail.client.keepAll");
    await settings().update("model", "paste", vscode.ConfigurationTarget.Global);
    await settings().update("serverPath", scenario.program, vscode.ConfigurationTarget.Global);
    await restartAs({ lacks: OLDER });
    const { toasts } = await user({ sees: "This Handrail server is older than the extension.", reads: TOASTS, picture: "older" });
    assert(toasts.join().endsWith("checkpoints and restoring, the chat view, the list of conversations, comments on changes."), toasts.join());
    await edit("two", "older");
    await command("handrail.client.review.focus");
    await user({ sees: "An earlier turn", picture: "older-review" });
    await user({ sees: "An earlier turn", does: [["clickInRow", "2: older", "Undo"]] });
    await until("it is undone", async () => (await command("handrail.review.list", {})).length === 0);
  },
  "its chat view says why it is empty": async () => {
    await command("handrail.client.showChat");
    await sound("The Handrail server is too old for this (the chat view). Update it, or clear the setting handrail.serverPath.", "older-chat");
    await command("notifications.clearAll"); // they lie above the view
    await inView({ sees: "too old", ...write("Hello?") });
    await inView({ sees: "Your message was not sent", picture: "older-unsent" });
    await command("handrail.client.openChatDocument");
    await user({ sees: "The Handrail server is too old for this (the chat view)." });
  },
  "the end of a turn is told, though the server does not list conversations": async () => {
    await command("notifications.clearAll");
    await user({ sees: "Handrail", does: [["look", false]] });
    await until("the window knows", () => !vscode.window.state.focused);
    await command("handrail.turn.start", { prompt: "Nothing is in it." });
    await user({ sees: "Handrail ended the turn early.", does: [["look", true]], picture: "older-end" });
  },
  "one that does not say what it can do is asked, and its refusal is told in the same words": async () => {
    await restartAs({ lacks: OLDER, silent: true });
    await inView({ sees: "The conversation cannot be read: The Handrail server is too old for this (the chat view).", picture: "silent" });
    await edit("two", "silent");
  },
  "a list that cannot be read says why, in the place of saying that it is empty": async () => {
    await restartAs({ fails: { "handrail/checkpoint/list": "The disk is on fire." } });
    await edit("silent", "failing");
    await command("handrail.client.review.focus");
    await user({ sees: "2: failing", picture: "failing-review" }); // it needs no checkpoints
    await command("handrail.client.showCheckpoints");
    await user({ sees: "The checkpoints could not be listed: The disk is on fire.", lacks: "No checkpoints yet.", picture: "failing-checkpoints" });
    await restartAs({ fails: { "handrail/review/list": "The disk is on fire." } });
    await command("handrail.client.review.focus");
    await user({ sees: "The changes could not be listed: The disk is on fire.", lacks: "Nothing to review.", picture: "failing-list" });
  },
  "what a newer server tells of and is not known here is left out, and said": async () => {
    await useModel();
    await restartAs({ newer: true });
    const { toasts } = await user({ sees: "Handrail", reads: TOASTS, picture: "newer" });
    assert.doesNotMatch(toasts.join(), /older/);
    await sound(UNKNOWN, "newer-chat");
    answers(async (progress) => say(progress, "It is **nothing** to me."));
    await command("notifications.clearAll");
    await inView({ sees: UNKNOWN, does: [["click", "textbox", "Your message"], ["press", "End"], ["press", "Shift+Home"]] });
    await inView({ sees: UNKNOWN, ...write("What is a hologram?") });
    await inView({ sees: "nothing to me.", picture: "newer-answer" });
    await inView({ sees: UNKNOWN });
  },
  "checkpoints and questions of kinds that are not known are shown in the server's words": async () => {
    await command("handrail.client.showCheckpoints");
    await user({ sees: "list.txt", picture: "newer-checkpoints" });
    const { turn } = await turnThatCalls([["terminal", { command: "touch a" }], ["terminal", { command: "touch b" }]]);
    await until("both wait", async () => (await command("handrail.approval.list", {})).length === 2);
    const chosen = command("handrail.client.answer");
    await user({ sees: "2 questions are waiting: choose one", picture: "newer-questions" });
    await user({ sees: "Handrail asks: terminal", does: [["press", "Enter"]] });
    await chosen;
    await user({ sees: "Allow once", picture: "newer-question" });
    assert.match(vscode.window.activeTextEditor.document.getText(), /^Handrail asks: terminal\n[^]*What would be done:\n\n {4}touch /);
    await command("handrail.turn.cancel", { turn });
  },
  "nothing was thrown": async () => {
    const ours = thrown.filter((text) => text.includes("handrail"));
    assert.deepEqual(ours, []);
  },
};
