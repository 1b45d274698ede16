// Ways in the chat view beside asking and answering: code applied, files named, pictures, forks, titles, notices.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");
const { answers, call, ENTER, gate, inView, write } = require("./chat_kit.cjs");
const { command, ready, scenario, servers, until, uriOf, user } = require("./kit.cjs");
const { model, say, settings, useModel } = require("./model.cjs");

const MESSAGE = "Your message";
const TOASTS = { toasts: ".notification-toast .notification-list-item-message" };
const asked = () => JSON.stringify(model.asked.at(-1)?.messages.at(-1)?.content ?? "");
const saysOnly = (text) => answers(async (progress) => say(progress, text));

module.exports = {
  "code in an answer is applied by a turn": async () => {
    await ready();
    await useModel();
    await command("handrail.client.showChat");
    await vscode.window.showTextDocument(uriOf("prices.py"));
    answers(
      async (progress) => say(progress, "Like this:\n\n```python\nTAX = 0.2\n```\n"),
      async (progress) => call(progress, "patch", { mode: "replace", path: "prices.py", old_string: "TAX = 0.19", new_string: "TAX = 0.2" }),
      async (progress) => say(progress, "Applied."),
    );
    await inView({ sees: "New conversation", does: [["select", "Mode", "ask"]] });
    await inView({ sees: "New conversation", ...write("How would you raise the tax?") });
    await inView({ sees: "Like this:", picture: "code", does: [["click", "button", "Apply"]] });
    await inView({ sees: "Applied.", picture: "applied" });
    const document = await vscode.workspace.openTextDocument(uriOf("prices.py"));
    assert.match(document.getText(), /TAX = 0\.2\r?\n/);
    const { said } = await inView({ sees: "Applied.", reads: { said: ".prompt .said" } });
    assert.match(said.at(-1), /it belongs in @prices\.py\.\n\n```python\nTAX = 0\.2\n```$/);
  },
  "a change is opened and kept at its card": async () => {
    await vscode.window.showTextDocument(uriOf("two words.txt"));
    await inView({ sees: "prices.py:3", does: [["click", "button", "Open prices.py:3"]] });
    await until("the place is shown", () => vscode.window.activeTextEditor?.document.fileName.endsWith("prices.py") && vscode.window.activeTextEditor.selection.active.line === 2);
    await inView({ sees: "prices.py:3", does: [["click", "button", "Keep the change"]] });
    await inView({ sees: "Applied.", lacks: "prices.py:3" });
    assert.deepEqual(await command("handrail.review.list", {}), []);
  },
  "a conversation that cannot be opened leaves the one that is shown, which goes on": async () => {
    await inView({ sees: "Applied.", does: [["post", [{ type: "session", session: "s-that-is-gone" }]]] });
    await inView({ sees: "The conversation cannot be read:", picture: "gone" });
    saysOnly("And on it goes.");
    await inView({ sees: "Applied.", ...write("Does it go on?") });
    await inView({ sees: "And on it goes." });
  },
  "files that are dropped are named, others are refused": async () => {
    const list = [uriOf("prices.py"), uriOf("two words.txt")].map(String).join("\r\n");
    await inView({ sees: "Applied.", does: [["select", "Mode", "edit"], ["drop", MESSAGE, list]] });
    saysOnly("Both were named.");
    const value = async () => (await inView({ sees: "Applied.", does: [["value", MESSAGE]] })).returned[0];
    await until("they are named", async () => (await value()).includes("two words"));
    assert.equal(await value(), '@prices.py @"two words.txt" ');
    await inView({ sees: "Applied.", does: [["drop", MESSAGE, "file:///etc/passwd"]] });
    await inView({ sees: "/etc/passwd is outside the workspace.", picture: "outside" });
    await inView({ sees: "Applied.", ...write("See these.") });
    await inView({ sees: "Both were named.", picture: "named" });
    assert(asked().includes("these words are in a file"), "the model is shown the file that was named");
  },
  "a picture goes along where the model sees": async () => {
    const picture = { name: "dot.png", type: "image/png", base64: scenario.picture };
    await inView({ sees: "Both were named.", does: [["paste", MESSAGE, picture], ["paste", MESSAGE, { ...picture, name: "a.txt", type: "text/plain" }]] });
    await inView({ sees: "a.txt is not a picture.", picture: "picture" });
    await inView({ sees: "dot.png", ...write("What is this?") });
    await inView({ sees: "Your message was not sent: handrail sends only text to the editor's own models.", picture: "blind" }); // nothing of the message is lost
    await settings().update("pictures", "always", vscode.ConfigurationTarget.Global);
    await settings().update("model", scenario.seeing, vscode.ConfigurationTarget.Global);
    await inView({ sees: "dot.png", does: [["click", "textbox", MESSAGE], ENTER] });
    await inView({ sees: "A dot.", lacks: "dot.png" });
    await settings().update("model", "editor:parrot", vscode.ConfigurationTarget.Global);
  },
  "edits are followed if that is wanted": async () => {
    await inView({ sees: "A dot.", does: [["click", "button", "Follow"]] });
    await until("it is the setting", () => settings().get("follow") === true);
    const { pressed } = await inView({ sees: "A dot.", reads: { pressed: "button[aria-pressed=true]" }, picture: "follow" });
    assert.deepEqual(pressed, ["Follow"]);
    await settings().update("follow", undefined, vscode.ConfigurationTarget.Global);
    await until("the button shows it", async () => (await inView({ sees: "A dot.", reads: { pressed: "button[aria-pressed=true]" } })).pressed.length === 0);
  },
  "a conversation is forked": async () => {
    await inView({ sees: "A dot.", does: [["click", "button", "Fork here", 0]] });
    const { said } = await inView({ sees: "Like this:", lacks: "A dot.", reads: { said: ".prompt .said" }, picture: "forked" });
    assert.deepEqual(said, ["How would you raise the tax?"]);
  },
  "it is opened as a document": async () => {
    await command("handrail.client.openChatDocument");
    const { document } = await until("it is shown", () => vscode.window.activeTextEditor?.document.languageId === "markdown" && vscode.window.activeTextEditor);
    assert.match(document.getText(), /How would you raise the tax\?/);
    await command("workbench.action.closeActiveEditor");
  },
  "it is given another title": async () => {
    const renamed = command("handrail.client.renameChat");
    await user({ sees: "The new title", does: [["press", "Control+A"], ["type", "<b>Taxes</b> $(bug)"], ENTER] });
    await renamed;
    const { title } = await inView({ sees: "<b>Taxes</b>", reads: { title: "h1" }, picture: "renamed" });
    assert.deepEqual(title, ["<b>Taxes</b> $(bug)"]);
  },
  "it is deleted, once that is confirmed": async () => {
    const kept = command("handrail.client.deleteChat");
    await user({ sees: "permanently?", does: [ENTER], picture: "delete" }); // the first answer keeps it
    await kept;
    await inView({ sees: "<b>Taxes</b>" });
    const deleted = command("handrail.client.deleteChat");
    await user({ sees: "permanently?", does: [["type", "Delete"], ENTER] });
    await deleted;
    await inView({ sees: "New conversation", lacks: "Like this:" });
    assert(!(await command("handrail.session.list", {})).some(({ title }) => title.includes("Taxes")));
  },
  "another one is renamed and deleted in the list": async () => {
    let chosen = command("handrail.client.chooseChat");
    await user({ sees: "Continue a conversation", picture: "sessions", does: [["hover", "option", "How would you"], ["click", "button", "Rename"]] });
    await user({ sees: "The new title", does: [["press", "Control+A"], ["type", "Kept apart"], ENTER] });
    await chosen;
    const titles = async () => (await command("handrail.session.list", {})).map(({ title }) => title);
    await until("it is renamed", async () => (await titles()).includes("Kept apart"));
    chosen = command("handrail.client.chooseChat");
    await user({ sees: "Kept apart", does: [["hover", "option", "Kept apart"], ["click", "button", "Delete"]] });
    await user({ sees: "permanently?", does: [["type", "Delete"], ENTER] });
    await chosen;
    await until("it is deleted", async () => !(await titles()).includes("Kept apart"));
    await inView({ sees: "New conversation" });
  },
  "whoever looks elsewhere is told that a turn waits, and that it has ended": async () => {
    const more = gate();
    answers(
      async (progress) => {
        await more.opened;
        call(progress, "terminal", { command: "touch ran.txt" });
      },
      async (progress) => say(progress, "All made."),
    );
    await inView({ sees: "New conversation", ...write("Make it.") });
    await inView({ sees: "Make it." });
    const toasts = async () => (await user({ sees: "Handrail", reads: TOASTS, picture: "notice" })).toasts.join("\n");
    assert.doesNotMatch(await toasts(), /is waiting for your answer/);
    await user({ sees: "Handrail", does: [["look", false]] });
    await until("the window knows", () => !vscode.window.state.focused);
    more.open();
    await until("the question is told", async () => (await toasts()).includes("is waiting for your answer"));
    await user({ sees: "Handrail", does: [["look", true]] });
    await until("it is told no more", async () => !(await toasts()).includes("is waiting for your answer"));
    await user({ sees: "Handrail", does: [["look", false]] });
    await until("the window knows", () => !vscode.window.state.focused);
    await inView({ sees: "May this command run?", does: [["click", "button", "Allow once"]] });
    await until("the end is told", async () => (await toasts()).includes("the turn in “Make it.” has finished"));
    await user({ sees: "Handrail", does: [["look", true], ["clickText", "Show"]] });
    await inView({ sees: "All made." });
    assert(fs.existsSync(uriOf("ran.txt").fsPath));
  },
  "the end of a turn is told in whichever conversation it was": async () => {
    await command("notifications.clearAll");
    answers(async (progress) => say(progress, "Made beside."));
    await user({ sees: "Handrail", does: [["look", false]] });
    await until("the window knows", () => !vscode.window.state.focused);
    await command("handrail.turn.start", { prompt: "Beside." });
    await user({ sees: "the turn in “Beside.” has finished", does: [["look", true], ["clickText", "Show"]], picture: "beside" });
    await inView({ sees: "Made beside." });
  },
  "a document that was deleted is opened as it was, and one that is not text in its own editor": async () => {
    const dot = vscode.Uri.file(uriOf("dot.png").fsPath);
    fs.writeFileSync(dot.fsPath, Buffer.from(scenario.picture, "base64"));
    answers(
      async (progress) => {
        call(progress, "patch", { mode: "v4a", patch: "*** Begin Patch\n*** Delete File: two words.txt\n*** End Patch" }, "call-1");
        call(progress, "read_file", { path: "dot.png" }, "call-2");
      },
      async (progress) => say(progress, "It is deleted."),
    );
    await inView({ sees: "Made beside.", ...write("Delete it.") });
    await inView({ sees: "It is deleted.", picture: "deleted", does: [["click", "button", "Open two words.txt:1"]] });
    await until("its text is shown", () => vscode.window.activeTextEditor?.document.getText() === "these words are in a file\n");
    await inView({ sees: "It is deleted.", does: [["click", "button", "Open", 1]] });
    await until("the picture is shown", () => vscode.window.tabGroups.activeTabGroup.activeTab?.input?.uri?.toString() === dot.toString());
  },
  "what becomes of a message is told, though the view is hidden by then": async () => {
    const [server] = servers();
    const hide = async (text) => {
      process.kill(server, "SIGSTOP");
      await inView({ sees: "It is deleted.", ...write(text) });
      await inView({ sees: "It is deleted." }); // it is on its way
      await command("workbench.action.closeAuxiliaryBar");
    };
    saysOnly("You are heard.");
    await hide("Am I heard?");
    process.kill(server, "SIGCONT");
    await until("the turn has ended", async () => (await command("handrail.session.list", {})).some(({ title }) => title === "Am I heard?") || model.asked.length === 1);
    await command("handrail.client.showChat");
    const { returned } = await inView({ sees: "You are heard.", does: [["value", MESSAGE]], picture: "heard" });
    assert.deepEqual(returned, [""], "it is not a draft any more");
    await hide("And now?");
    process.kill(server, "SIGKILL");
    await user({ sees: "Your message was not sent: The server ended before it answered.", picture: "unheard" });
    await command("handrail.client.showChat");
    await until("it is a draft", async () => (await inView({ sees: "You are heard.", does: [["value", MESSAGE]] })).returned[0] === "And now?");
  },
};
