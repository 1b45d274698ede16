// The walkthrough: each way to choose where answers come from, the sample, and the way back; VS Code ticks the steps off.
const assert = require("node:assert/strict");
const http = require("node:http");
const vscode = require("vscode");
const { command, ready, scenario, titleOf, until, user } = require("./kit.cjs");
const { model, settings } = require("./model.cjs");

const ENTER = ["press", "Enter"];
const CHECKED = { done: ".step-list-container .codicon-getting-started-step-checked" };
const STATUS = { status: ".statusbar-item[id='handrail.handrail.handrail.status']" };
const chosen = () => settings().inspect("model").globalValue;
const asked = [];
const address = () => `http://127.0.0.1:${server.address().port}/v1`;
const set = (name, value) => settings().update(name, value, vscode.ConfigurationTarget.Global);
let server;
let sample;
let before;

/** Lists models as OpenAI and Ollama do. */
function list(request, response) {
  asked.push([request.url, request.headers.authorization]);
  const found = request.url === "/api/tags" ? { models: [{ name: "small:1b", model: "small:1b" }] } : { data: [{ id: "gpt-tests" }] };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
}

/** Runs a command, and is the user that it asks. */
async function withUser(name, ...moments) {
  const done = command(name);
  for (const moment of moments) await user(moment);
  return done;
}

/** Waits until the status item says so. */
const status = (says, picture) =>
  until(`the status item says “${says}”`, async () => (await user({ sees: "Handrail", reads: STATUS, picture })).status.join().trim() === says);

/** Waits until VS Code has ticked off so many steps. */
const ticked = (steps, sees, picture) =>
  until(`${steps} steps are ticked off`, async () => (await user({ sees, reads: CHECKED, picture })).done.length === steps);

module.exports = {
  "the command opens the walkthrough, with nothing done": async () => {
    await ready();
    await command("handrail.client.getStarted");
    await ticked(0, "Choose where answers come from", "walkthrough");
  },
  "beside a step stands what it is about": async () => {
    await command("workbench.action.closeSidebar");
    await user({ sees: "what you need", frame: "td", picture: "media" });
  },
  "without models in VS Code, one is told where they come from": async () => {
    assert.equal(await command("handrail.client.useEditorModels"), undefined);
    await user({ sees: "VS Code has no language model yet", picture: "no-models" });
    assert.equal(chosen(), undefined);
    await command("notifications.clearAll");
  },
  "pasted replies, by a click in the walkthrough": async () => {
    await user({ sees: "Use Pasted Replies", does: [["click", "button", titleOf("handrail.client.usePaste")]] });
    await until("replies are pasted", () => chosen() === "paste");
    await ticked(1, "then run “Apply Reply from Clipboard”", "pasted");
  },
  "a model of VS Code": async () => {
    vscode.lm.registerLanguageModelChatProvider("handrail-host-tests", model);
    await withUser("handrail.client.useEditorModels", { sees: "Parrot", does: [["type", "Parrot"], ENTER], picture: "editor" });
    assert.equal(chosen(), "editor:parrot");
  },
  "a key for the provider's own server, then a model of its list": async () => {
    server = http.createServer(list).listen(0, "127.0.0.1");
    await until("the models' server listens", () => server.listening);
    await set("model", "openai:gpt-old");
    await set("baseUrl", address());
    await withUser(
      "handrail.client.useKey",
      { sees: "Whose models should answer?", does: [["type", "OpenAI"], ENTER] },
      { sees: "What is the address of OpenAI?", does: [["type", address()], ENTER], picture: "address" },
      { sees: "VS Code keeps it encrypted", does: [["type", scenario.key], ENTER] },
      { sees: "openai:gpt-tests", does: [ENTER], picture: "key" },
    );
    assert.equal(chosen(), "openai:gpt-tests");
    assert.deepEqual(asked.splice(0), [["/v1/models", `Bearer ${scenario.key}`]]);
  },
  "another provider is asked at its own address, and the old one is cleared": async () => {
    await set("keyName", "GATEWAY_KEY");
    await withUser(
      "handrail.client.useKey",
      { sees: "Whose models should answer?", does: [["type", "Anthropic"], ENTER] },
      { sees: "What is the address of Anthropic?", does: [ENTER] },
      { sees: "VS Code keeps it encrypted", does: [["type", scenario.key], ENTER] },
      { sees: "Type the name of the model, as Anthropic spells it", does: [["type", "claude-tests"], ENTER], picture: "name" },
    );
    assert.equal(chosen(), "anthropic:claude-tests");
    assert.deepEqual(["baseUrl", "keyName"].map((name) => settings().get(name)), ["", ""]);
    assert.deepEqual(asked, [], "the key was sent to the address of the provider before");
    await user({ sees: "Cleared: handrail.baseUrl and handrail.keyName" });
    await command("notifications.clearAll");
  },
  "a model of Ollama, by way of the list of all ways": async () => {
    await set("model", "ollama:small");
    await set("baseUrl", address());
    await withUser(
      "handrail.client.chooseSource",
      { sees: "Models that run on your own computer", does: [["type", "Ollama"], ENTER], picture: "sources" },
      { sees: "ollama:small:1b", does: [ENTER], picture: "ollama" },
    );
    assert.deepEqual([chosen(), settings().get("baseUrl")], ["ollama:small:1b", address()]);
  },
  "an address that was set for another provider is used after a click, and not before": async () => {
    asked.splice(0);
    await set("model", "anthropic:claude-tests");
    await user({ sees: "was set for ollama and openai, so handrail does not use it for anthropic", picture: "other-address" });
    await assert.rejects(async () => command("handrail.model.list", { like: "anthropic:any" }), "it is asked where nothing listens");
    assert.deepEqual(asked, []);
    await user({ sees: "Leave it as it is", does: [["clickText", "Use it for anthropic"]] });
    await until("its models are listed there", () => command("handrail.model.list", { like: "anthropic:any" }).then((models) => models.length > 0, () => false));
    await set("model", "ollama:small:1b");
    await command("notifications.clearAll");
  },
  "an Ollama that does not answer is told, and the model stays": async () => {
    server.close();
    server.closeAllConnections();
    assert.equal(await command("handrail.client.useOllama"), undefined);
    await user({ sees: "The models of Ollama could not be listed", picture: "no-ollama" });
    assert.equal(chosen(), "ollama:small:1b");
    await command("notifications.clearAll");
  },
  "the reply lands in the sample, whichever model is chosen": async () => {
    const { state, outcomes } = await command("handrail.client.trySample");
    assert.deepEqual([state, ...outcomes.map(({ status }) => status)], ["finished", "landed", "landed"]);
    sample = vscode.window.activeTextEditor.document;
    assert.equal(sample.uri.scheme, "untitled");
    assert.match(sample.getText(), /^TAX = 0\.21$[^]*return f"Total: \{total\(prices\):\.2f\}"/m);
    before = sample.getText().replace("TAX = 0.21", "TAX = 0.19").replace('f"Total: {total(prices):.2f}"', '"Total: " + str(total(prices))');
    await user({ sees: "2 edits landed in 1 document.", does: [["clickText", "Review"]], picture: "sample" });
  },
  "the status item counts what is to be reviewed and what failed, and its menu leads there": async () => {
    await status("Handrail: 2 to review", "counts");
    const wrong = `${sample.uri}\n<<<<<<< SEARCH\nnothing like it\n=======\nx\n>>>>>>> REPLACE\n`;
    await command("handrail.turn.apply", { edits: wrong });
    await status("Handrail: 2 to review · 1 did not land", "failed");
    await withUser("handrail.client.menu", { sees: "Choose an action", does: [["type", "Problems"], ENTER], picture: "menu" });
    await user({ sees: "no-match", picture: "problems" });
    await withUser("handrail.client.menu", { sees: "Choose an action", does: [["type", "Review"], ENTER] });
  },
  "the changes can be reviewed, and a restore takes them back": async () => {
    assert.equal((await command("handrail.review.list", {})).length, 2);
    await user({ sees: "Try Handrail on a sample", picture: "to-review" });
    await withUser(
      "handrail.client.restore",
      { sees: "Choose a turn or another change", does: [["type", "sample"], ENTER], picture: "restore" },
      { sees: "Undo this turn only", does: [ENTER] },
    );
    assert.equal(sample.getText(), before);
  },
  "VS Code has ticked off all three steps": async () => {
    await command("handrail.client.getStarted");
    await ticked(3, "Review and restore", "done");
  },
};
