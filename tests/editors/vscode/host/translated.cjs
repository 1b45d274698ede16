// All strings in another language, which puts each into brackets: in the commands, the status item, the lists, the views and the chat view.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { answers, call, inView, write } = require("./chat_kit.cjs");
const { command, ready, scenario, until, uriOf, user } = require("./kit.cjs");
const { say, useModel } = require("./model.cjs");

const STATUS = ".statusbar-item[id='handrail.handrail.handrail.status']";
/** Words of ours in the chat view; the others there are the person's, the model's and the server's. */
const OWN = ["button:not([data-key=model], .link)", "option", ".editing", ".call .hidden", ".question > .quiet", ".question .fact .quiet", ".question .heading"];
const NAMED = "#handrail-chat :is([aria-label], [title], [placeholder]):not(h1)";
const bracketed = (text) => /^\[[^]*\][:.]?\s*$/.test(text.trim());
const attributes = (html) => [...html.slice(0, html.indexOf(">")).matchAll(/ (?:aria-label|title|placeholder)="([^"]*)"/g)].map(([, text]) => text);

module.exports = {
  "VS Code has the strings of the language": async () => {
    await ready();
    assert.equal(vscode.env.language, scenario.language);
    const { commands } = vscode.extensions.getExtension("handrail.handrail").packageJSON.contributes;
    assert.deepEqual(commands.map(({ title }) => title.value ?? title).filter((title) => !bracketed(title)), []);
  },
  "the status item and its list": async () => {
    const chosen = command("handrail.client.menu");
    await user({ sees: "[Choose an action]", picture: "menu" });
    const { rows } = await user({ sees: "[Show Log]", reads: { rows: ".quick-input-list .label-name" }, does: [["press", "Escape"]] });
    await chosen;
    assert(rows.length > 4 && rows.every((row) => bracketed(row)), rows.join(", "));
  },
  "a message, the view of changes and the status item's count": async () => {
    const edits = `list.txt\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n`;
    await vscode.window.showTextDocument(uriOf("list.txt"));
    await command("handrail.turn.apply", { edits, title: "A title" });
    await command("handrail.client.review.focus");
    await user({ sees: "[1 change]", picture: "tree" });
    await until("the status item counts", async () => (await user({ sees: "Handrail", reads: { status: STATUS } })).status.join().includes("[Handrail: [1 to review]]"));
  },
  "a question in the chat view": async () => {
    await useModel();
    answers(
      async (progress) => call(progress, "terminal", { command: "touch ran.txt" }),
      async (progress) => say(progress, "```sh\nMade.\n```"),
    );
    await command("handrail.client.showChat");
    await inView({ sees: "[Follow]", ...write("Make a file.") });
    await inView({ sees: "[May this command run?]", picture: "question" });
    await ours();
    await inView({ sees: "[Allow once]", does: [["click", "button", "[Allow once]"]] });
    await inView({ sees: "Made.", picture: "chat" });
    await ours();
  },
};

/** Everything that the chat view says itself is in brackets: its texts, and what it tells a screen reader. */
async function ours() {
  const { returned: [texts, named] } = await inView({ sees: "[Follow]", does: [["texts", OWN.map((each) => `#handrail-chat ${each}`).join(", ")], ["html", NAMED]] });
  const said = [...texts, ...named.flatMap(attributes)].filter((text) => text.trim() !== "");
  assert(said.length > 10);
  assert.deepEqual(said.filter((text) => !bracketed(text)), []);
}
