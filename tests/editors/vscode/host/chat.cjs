// The chat view, in the secondary side bar: asked in, answered, approved in, reloaded, and fed what must not run.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { answers, call, ENTER, FRAME, gate, inView, ran, sound, write } = require("./chat_kit.cjs");
const { command, ready, scenario, servers, until, uriOf, user } = require("./kit.cjs");
const { say, useModel } = require("./model.cjs");

let harmed = false;

/** The view is as narrow as it can be, and as sound as before. */
async function narrow(sees, picture) {
  await inView({ sees, does: [["click", "textbox", "Your message"]] });
  for (let times = 0; times < 5; times += 1) await command("workbench.action.decreaseViewWidth");
  await sound(sees, picture);
  await inView({ sees, does: [["click", "textbox", "Your message"]] });
  for (let times = 0; times < 3; times += 1) await command("workbench.action.increaseViewWidth");
}

module.exports = {
  "the view opens beside the editor": async () => {
    await ready();
    await useModel();
    vscode.commands.registerCommand("handrail-host-tests.harm", () => (harmed = true));
    await command("handrail.client.showChat");
    await sound("New conversation", "empty");
  },
  "an answer streams, and asks for leave where it stands": async () => {
    const more = gate();
    answers(
      async (progress) => {
        say(progress, "I'll make it.\n\n- **first** this\n- then `that`\n\n");
        await more.opened;
        say(progress, "```sh\ntouch ran.txt\n```\n");
        call(progress, "todo", { items: [{ text: "Make it", state: "active" }, { text: "Look at it", state: "open" }] });
        call(progress, "terminal", { command: "touch ran.txt" }, "call-2");
      },
      async (progress) => say(progress, "Made **it**."),
    );
    await inView({ sees: "New conversation", ...write("Make a file.") });
    await sound("then that", "streams");
    more.open();
    await sound("Reason for this question:", "asks");
    const { texts, answers: buttons } = await inView({
      sees: "May this command run?",
      reads: { texts: ".question pre", answers: ".question button" },
    });
    assert.equal(texts[0], "touch ran.txt");
    assert.deepEqual(buttons, ["No", "Allow once", "Allow in this conversation", "Always allow in this workspace"]);
    assert(!ran("ran.txt"));
  },
  "reloaded in the middle of the turn, it is complete again": async () => {
    const reads = { items: "#items" };
    const before = await inView({ sees: "May this command run?", reads, does: [["mark"]] });
    await command("workbench.action.webview.reloadWebviewAction");
    const after = await inView({ sees: "May this command run?", reads, picture: "reloaded", frame: `body:not([data-marked]) ${FRAME}` });
    assert.deepEqual(after.items, before.items);
  },
  "a yes is given where the question stands": async () => {
    await inView({ sees: "May this command run?", does: [["click", "button", "Allow once"]] });
    await inView({ sees: "Made it.", lacks: "May this command run?", picture: "answered" });
    await inView({ sees: "was answered: Allow once" });
    assert(ran("ran.txt"));
    await inView({ sees: "Made it.", does: [["click", "button", "Copy"]] });
    await until("the code is copied", async () => (await vscode.env.clipboard.readText()) === "touch ran.txt");
  },
  "what is answered in the document is gone in the view": async () => {
    answers(
      async (progress) => call(progress, "terminal", { command: "touch other.txt" }),
      async (progress) => say(progress, "Not made."),
    );
    await inView({ sees: "Made it.", ...write("Another one.") });
    await inView({ sees: "May this command run?" });
    await user({ sees: "Handrail", does: [["click", "button", "Open Conversation as Document"]] });
    const document = () => vscode.window.activeTextEditor?.document;
    await until("the document shows the question", () => document()?.uri.path.includes("/.handrail/chat-") && document().getText().includes("> **May this command run?**"));
    const row = document().getText().split("\n").findIndex((text) => text === "> **May this command run?**");
    vscode.window.activeTextEditor.revealRange(new vscode.Range(row, 0, row, 0), vscode.TextEditorRevealType.AtTop);
    await user({ sees: "Always allow in this workspace", picture: "both", does: [["clickText", "No"]] });
    await inView({ sees: "Not made.", lacks: "May this command run?" });
    await inView({ sees: "was answered: No", picture: "answered-elsewhere" });
    assert(!ran("other.txt"));
  },
  "a turn is steered, the next one queued, and the turn stopped": async () => {
    const more = gate();
    answers(async (progress) => {
      say(progress, "Thinking aloud.");
      await more.opened;
    });
    await inView({ sees: "Not made.", ...write("Think.") });
    await inView({ sees: "Thinking aloud.", ...write("In French.") });
    await inView({ sees: "the model reads it before its next step", ...write("And then?", ["press", "Control+Enter"]) });
    await sound("This is sent when the turn has finished", "queued");
    await inView({ sees: "This is sent when the turn has finished", does: [["click", "button", "Stop"]] });
    await sound("The turn was stopped", "stopped");
    more.open();
  },
  "an earlier message is changed and sent again": async () => {
    answers(async (progress) => say(progress, "Thought again."));
    await inView({ sees: "The turn was stopped", does: [["click", "button", "Edit and resend", -1]] });
    await sound("Sending it starts a new conversation", "edited");
    await inView({ sees: "Sending it starts a new conversation", does: [["click", "textbox", "Your message"], ["press", "End"], ["press", "Shift+Home"], ["type", "Think again."], ENTER] });
    const { said } = await inView({ sees: "Thought again.", lacks: "Thinking aloud.", picture: "resent", reads: { said: ".prompt .said" } });
    assert.deepEqual(said, ["Make a file.", "Another one.", "Think again."]);
  },
  "a plan is made, and carried out": async () => {
    answers(
      async (progress) => say(progress, "1. Raise it."),
      async (progress) => call(progress, "patch", { mode: "replace", path: "prices.py", old_string: scenario.meant, new_string: scenario.meant.toUpperCase() }),
      async (progress) => say(progress, "It did not land."),
    );
    await inView({ sees: "Thought again.", does: [["select", "Mode", "plan"], ["click", "textbox", "Your message"], ["type", "Plan it for @pri"]] });
    const { returned } = await inView({ sees: "@prices.py", picture: "offers", does: [["axe"], ["press", "Tab"], ["type", "now."], ENTER] });
    assert.deepEqual(returned[0], []);
    // What is not in sight yet is not rendered, and has no text to read.
    await until("it is said", async () => (await inView({ sees: "Plan it for", reads: { said: ".prompt .said" } })).said.at(-1) === "Plan it for @prices.py now.");
    await sound("Carry out this plan", "plan");
    await inView({ sees: "Raise it.", does: [["click", "button", "Carry out this plan"]] });
  },
  "an edit that did not land is applied from its card": async () => {
    await sound("It did not land.", "failed");
    await inView({ sees: "It did not land.", does: [["click", "button", "Apply at line"]] });
    await inView({ sees: "It did not land.", lacks: "Apply at line" });
    const text = async () => (await vscode.workspace.openTextDocument(uriOf("prices.py"))).getText();
    await until("it is applied", async () => (await text()) !== scenario.prices);
    const { diff } = await inView({ sees: "prices.py:7", reads: { diff: ".hunk pre" }, picture: "hunk" });
    assert.equal(diff.join().trim().split(/\n+/)[1].trim(), `+${scenario.meant.toUpperCase()}`);
    await sound("prices.py:7");
    await narrow("prices.py:7", "narrow");
    await inView({ sees: "prices.py:7", does: [["click", "button", "Undo the change"]] });
    await until("it is undone", async () => (await text()) === scenario.prices);
    await inView({ sees: "It did not land.", lacks: "prices.py:7" });
  },
  "a command's output is seen as it comes, and the command stopped": async () => {
    const end = gate();
    answers(
      async (progress) => call(progress, "terminal", { command: "echo begun && sleep 60" }),
      async (progress) => {
        say(progress, "It was stopped.");
        await end.opened;
      },
    );
    await inView({ sees: "It did not land.", does: [["select", "Mode", "edit"]] });
    await inView({ sees: "It did not land.", ...write("Wait.") });
    await inView({ sees: "May this command run?", does: [["click", "button", "Allow once"]] });
    await until("its output is there", async () => {
      const { output } = await inView({ sees: "echo begun", reads: { output: ".call.running pre" }, picture: "output" });
      return output.includes("begun");
    });
    await sound("Stop this command");
    await inView({ sees: "echo begun", does: [["click", "button", "Stop this command"]] });
    await inView({ sees: "It was stopped.", does: [["click", "button", "Stop"]] });
    await inView({ sees: "The turn was stopped" });
    end.open();
  },
  "killed in the middle of a turn, it comes back with what was said": async () => {
    answers(async (progress) => {
      say(progress, "I'll make it.");
      call(progress, "terminal", { command: "touch never.txt" });
    });
    await inView({ sees: "The turn was stopped", ...write("Once more.") });
    await inView({ sees: "May this command run?" });
    const [server] = servers();
    process.kill(server, "SIGKILL");
    await inView({ sees: "This turn did not finish", lacks: "May this command run?", picture: "killed" });
    const { calls } = await inView({ sees: "Once more.", reads: { calls: ".call.lost .title" } });
    assert.deepEqual(calls, ["Run touch never.txt"]);
    await sound("This turn did not finish");
    assert(!ran("never.txt"));
  },
  "the model is chosen by keyboard": async () => {
    await inView({ sees: "Once more.", does: [["click", "textbox", "Your message"], ["press", "Tab"], ["press", "Tab"], ENTER] });
    await user({ sees: "The model that answers from the next turn on", picture: "models", does: [["type", "parrot"], ENTER] });
    await inView({ sees: "editor:parrot", picture: "model" });
  },
  "an earlier conversation is gone on with": async () => {
    const chosen = command("handrail.client.chooseChat");
    await user({ sees: "Continue a conversation", picture: "list", does: [["type", "Make a file"], ENTER] });
    await chosen;
    await inView({ sees: "Thinking aloud.", lacks: "Once more." });
    await inView({ sees: "Thinking aloud.", does: [["click", "textbox", "Your message"]] });
    await command("handrail.client.newChat");
    await inView({ sees: "New conversation", lacks: "Thinking aloud." });
  },
  "nothing that is shown runs": async () => {
    const page = scenario.texts.join("\n\n");
    answers(
      async (progress) => {
        say(progress, page);
        call(progress, "read_file", { path: scenario.file }, "call-1");
        call(progress, "patch", { mode: "replace", path: scenario.file, old_string: page, new_string: "x" }, "call-2");
        call(progress, "todo", { items: scenario.texts.map((text) => ({ text, state: "open" })) }, "call-3");
        call(progress, "terminal", { command: scenario.line }, "call-4");
      },
      async (progress) => say(progress, `${page}\n\nThat was all.`),
    );
    await inView({ sees: "New conversation", ...write(page.replaceAll("\n\n", " ")) });
    await inView({ sees: "May this command run?", picture: "hostile-question", does: [["click", "button", "Allow once"]] });
    const { alarms, links, other } = await inView({
      sees: "That was all.",
      picture: "hostile",
      reads: { links: "#items button.link", other: "#items :is(a, img, script, iframe, object, embed, form, svg, style, link, video, [onerror], [onclick], [style])" },
    });
    assert.deepEqual(other, [], "only elements of ours are there");
    assert(links.length > 0 && links.every((link) => !link.includes("command:")));
    await inView({ sees: "That was all.", does: [["clickText", "fine (command:workbench.action.quit)", false], ["click", "button", "https://example.org"]] });
    // VS Code asks first; in tests it refuses to, and says what it would have asked.
    await inView({ sees: "to open the external website", picture: "link" });
    const later = await user({ sees: "Handrail" });
    assert.deepEqual([alarms, later.alarms, harmed], [[], [], false]);
    await sound("That was all.");
  },
  "all of it is sound in other colours as well": async () => {
    const theme = (name) => vscode.workspace.getConfiguration("workbench").update("colorTheme", name, vscode.ConfigurationTarget.Global);
    for (const [name, kind] of Object.entries({ "Default Dark Modern": "vscode-dark", "Default High Contrast": "vscode-high-contrast", "Default High Contrast Light": "vscode-high-contrast-light" })) {
      await theme(name);
      const { returned } = await inView({ sees: "That was all.", picture: kind, frame: `body[data-vscode-theme-kind=${kind}] ${FRAME}`, does: [["axe"]] });
      assert.deepEqual(returned[0], [], name);
    }
  },
};
