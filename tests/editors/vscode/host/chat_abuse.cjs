// The chat view with what it must survive: texts that want to run, messages that are not ours, megabytes, many turns; and axe-core.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { answers, call, ENTER, FRAME, inView, ran, sound, write } = require("./chat_kit.cjs");
const { command, ready, scenario, until, user } = require("./kit.cjs");
const { say, useModel } = require("./model.cjs");

const FOREIGN = "#items :is(a, img, script, iframe, object, embed, form, svg, style, link, video, base, meta, [onerror], [onclick], [onload], [style]:not([style='']), [href], [src])";
// A picture that the browser takes leaves `style=""` at inputs.
const injections = scenario.injections;
let harmed = false;

/** Every injection stands in the view as text; no element came of any, nothing was asked of others, no command ran. */
async function inert(selector, given) {
  const { returned, alarms } = await inView({ sees: "Send", does: [["texts", selector], ["html", FOREIGN]] });
  const [texts, foreign] = returned;
  assert.deepEqual([foreign, alarms, harmed], [[], [], false]);
  const shown = texts.join("\n").replace(/\s+/g, "");
  for (const text of given) assert(shown.includes(text.replace(/\s+/g, "")), `${selector} lacks ${text}`);
}

const questions = async () => (await inView({ sees: "Send", does: [["texts", ".prompt .said"]] })).returned[0];

module.exports = {
  "an empty view is sound": async () => {
    await ready();
    await useModel();
    vscode.commands.registerCommand("handrail-host-tests.harm", () => (harmed = true));
    await command("handrail.client.showChat");
    await inView({ sees: "New conversation" });
    await sound("New conversation");
  },
  "twenty injections in all that is shown run nowhere": async () => {
    assert.equal(injections.length, 20);
    answers(
      async (progress) => {
        say(progress, injections.map(({ text }) => text).join("\n\n"));
        call(progress, "todo", { items: injections.map(({ text }) => ({ text, state: "open" })) }, "todos");
        call(progress, "read_file", { path: scenario.file }, "file");
        call(progress, "patch", { mode: "replace", path: scenario.file, old_string: injections[0].text, new_string: injections[1].text }, "patch");
        call(progress, "ask_user", { question: injections[2].text, choices: [injections[3].text, injections[4].text] }, "ask");
        call(progress, "terminal", { command: `cat <<'END'\n${injections.map(({ text }) => text).join("\n")}\nEND\ntouch ran.txt` }, "command");
      },
      async (progress) => say(progress, "All of it was shown."),
    );
    await inView({ sees: "New conversation", ...write(injections[5].text) });
    await inView({ sees: "The model asks:", picture: "asks" });
    await inert(".question", injections.slice(2, 5).map(({ shown }) => shown));
    await sound("The model asks:");
    await inView({ sees: "The model asks:", does: [["click", "button", "No answer"]] });
    await inView({ sees: "May this command run?", picture: "question" });
    await inert(".question pre", injections.map(({ shown }) => shown));
    await sound("May this command run?");
    await inView({ sees: "May this command run?", does: [["click", "button", "Allow once"]] });
    await until("the command has run", () => ran("ran.txt"));
    await inView({ sees: "All of it was shown.", picture: "shown" });
    await inert(".todos", injections.map(({ shown }) => shown));
    const printed = injections.map(({ shown }) => shown).filter((text) => !text.includes("\\x")); // escapes are taken out of output
    await inert(".call pre", printed);
    await inert(".prompt .said", [injections[5].shown]);
    await sound("All of it was shown.");
  },
  "a title that wants to run is a title": async () => {
    for (const { text, shown } of injections.slice(0, 4)) {
      const renamed = command("handrail.client.renameChat");
      await user({ sees: "The new title", does: [["press", "Control+A"], ["type", text], ENTER] });
      await renamed;
      await until("it is shown", async () => (await inView({ sees: "Send", reads: { title: "h1" } })).title[0]?.replace(/\s+/g, "") === shown.replace(/\s+/g, ""));
    }
    assert.equal(harmed, false);
  },
  "messages that are not ours do nothing": async () => {
    await vscode.env.clipboard.writeText("before");
    const foreign = [null, 7, "copy", [], {}, { type: "toString" }, { type: "__proto__" }, { type: "copy" }, { type: "copy", text: 7 }, { type: "say", text: "x", queue: false }];
    foreign.push({ type: "say", text: "x", queue: false, pictures: [{ name: "x" }] }, { type: "command", command: "handrail-host-tests.harm" });
    foreign.push({ type: "link", address: "command:handrail-host-tests.harm" }, { type: "answer", approval: "x", choice: "allow" }, { type: "hunk", item: "x", hunk: "y" });
    await inView({ sees: "Send", does: [["post", foreign], ["post", [{ type: "copy", text: "after" }]]] });
    await until("what came after them is done", async () => (await vscode.env.clipboard.readText()) === "after");
    assert.equal(harmed, false);
    const { said } = await inView({ sees: "Send", reads: { said: ".prompt" } });
    assert.equal(said.length, 1);
  },
  "five megabytes of output are shown by their end": async () => {
    answers(
      async (progress) => call(progress, "terminal", { command: "yes handrail | head -c 5000000; echo; echo the very end" }),
      async (progress) => say(progress, "It was long."),
    );
    await inView({ sees: "Send", ...write("Print much.") });
    await inView({ sees: "May this command run?", does: [["click", "button", "Allow once"]] });
    await inView({ sees: "It was long.", picture: "long" });
    const { returned } = await inView({ sees: "It was long.", does: [["texts", ".call pre"]] });
    const last = returned[0].at(-1);
    assert(last.includes("the very end") && last.length < 20_000, `${last.length}`);
  },
  "a hundred turns are shown": async () => {
    await command("handrail.client.newChat");
    const { session } = await command("handrail.chat.read", {});
    for (let turn = 1; turn <= 101; turn += 1) {
      answers(async (progress) => say(progress, `Answer ${turn}.`));
      const { turn: begun } = await command("handrail.chat.say", { session, text: `Question ${turn}?` });
      await command("handrail.turn.wait", { turn: begun });
    }
    await inView({ sees: "Answer 101.", picture: "hundred", does: [["mark"]] });
    assert.deepEqual(await questions(), Array.from({ length: 101 }, (_, at) => `Question ${at + 1}?`));
    const { returned } = await inView({ sees: "Answer 101.", does: [["axe"]] });
    assert.deepEqual(returned[0], []);
  },
  "of a long conversation that is opened, the beginning is shown on demand": async () => {
    await command("workbench.action.webview.reloadWebviewAction");
    const { returned } = await inView({ sees: "Show earlier messages", picture: "earlier", frame: `body:not([data-marked]) ${FRAME}`, does: [["axe"]] });
    assert.deepEqual(returned[0], []);
    assert(!(await questions()).includes("Question 1?"));
    await inView({ sees: "Answer 101.", does: [["click", "button", "Show earlier messages"]] });
    await inView({ sees: "Send", lacks: "Show earlier messages" });
    assert.deepEqual(await questions(), Array.from({ length: 101 }, (_, at) => `Question ${at + 1}?`));
  },
};
