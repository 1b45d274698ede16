// Other agents' edits land by our tool; a key is kept by the editor and told to its model's server alone; one undo a call.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const vscode = require("vscode");
const { command, config, ready, scenario, until, uriOf, user } = require("./kit.cjs");
const { say, settings, turnThatCalls, turnWith, useModel } = require("./model.cjs");

const TOOL = "handrail_apply_edits";
const LINK = "[fine](command:handrail-host-tests.harm)";
const block = (old, now) => `list.txt\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`;
const invoke = (edits) => vscode.lm.invokeTool(TOOL, { input: { edits }, toolInvocationToken: undefined });
const textOf = (result) => result.content.map(({ value }) => value).join("");
const asked = [];
let document;
let server;

/** The model's server, which keeps the keys that it is told. */
function answerAsModel(request, response) {
  asked.push(request.headers.authorization);
  const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { role: "assistant", content: "Hello." }, finish_reason: "stop" }] };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
}

/** Every file below a folder that holds a text. */
function filesWith(text, ...folders) {
  const files = folders.flatMap((folder) => fs.readdirSync(folder, { recursive: true, withFileTypes: true }));
  return files.filter((each) => each.isFile() && fs.readFileSync(path.join(each.parentPath, each.name)).includes(text)).map(({ name }) => name);
}

module.exports = {
  "another agent's edit lands and can be reviewed": async () => {
    await ready();
    document = await vscode.workspace.openTextDocument(uriOf("list.txt"));
    await vscode.window.showTextDocument(document);
    assert(vscode.lm.tools.some(({ name }) => name === TOOL));
    const result = invoke(`${LINK}\n${block("one", "ONE")}`);
    assert.match(textOf(await result), /list\.txt/);
    assert.equal(document.getText(), "ONE\ntwo\nthree\n");
    assert.equal((await command("handrail.checkpoint.list", {})).length, 1);
    await user({ sees: "Keep", picture: "landed" });
  },
  "what did not land is told to the agent": async () => {
    const result = invoke(block("nothing like it", "x"));
    assert.match(textOf(await result), /no-match/);
    assert.equal(document.getText(), "ONE\ntwo\nthree\n");
  },
  "each call is one undo step": async () => {
    await useModel();
    const { report } = await turnThatCalls([
      ["patch", { path: "list.txt", old_string: "ONE\ntwo\nthree", new_string: "one\ntwo\nTHREE" }],
      ["patch", { path: "list.txt", old_string: "two", new_string: "TWO" }],
    ]);
    await report;
    assert.equal(document.getText(), "one\nTWO\nTHREE\n");
    await vscode.window.showTextDocument(document);
    await command("undo");
    assert.equal(document.getText(), "one\ntwo\nTHREE\n");
    await command("undo");
    assert.equal(document.getText(), "ONE\ntwo\nthree\n");
    await command("redo");
    assert.equal(document.getText(), "one\ntwo\nTHREE\n");
  },
  "a document has what a command wrote before it is edited": async () => {
    const original = document.getText();
    await document.save();
    const rules = settings().inspect("approvals")?.globalValue;
    await settings().update("approvals", [{ tool: "terminal", match: "sed *", verdict: "allow" }], vscode.ConfigurationTarget.Global);
    const { report } = await turnWith(async (progress, _token, number) => {
      const calls = [
        ["terminal", { command: "sed -i s/one/command/ list.txt" }],
        ["patch", { path: "list.txt", old_string: "command\n", new_string: "command\nedit\n" }],
      ];
      if (number > calls.length) say(progress, "Done.");
      else progress.report(new vscode.LanguageModelToolCallPart(`call-${number}`, ...calls[number - 1]));
    });
    assert.deepEqual((await report).outcomes.map(({ status }) => status), ["landed", "landed"]);
    assert.equal(document.getText(), original.replace("one\n", "command\nedit\n"));
    assert(await document.save()); // VS Code does not find that the file is newer
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), original);
    await vscode.workspace.applyEdit(edit);
    await document.save();
    await settings().update("approvals", rules, vscode.ConfigurationTarget.Global);
  },
  "a key that the editor keeps reaches the model's server alone": async () => {
    server = http.createServer(answerAsModel).listen(0, "127.0.0.1");
    await until("the model's server listens", () => server.listening);
    await settings().update("baseUrl", `http://127.0.0.1:${server.address().port}/v1`, vscode.ConfigurationTarget.Global);
    await settings().update("model", "openai-chat:m", vscode.ConfigurationTarget.Global);
    await settings().update("trace.server", "verbose", vscode.ConfigurationTarget.Global);
    const given = command("handrail.client.setKey");
    await user({ sees: "Whose key is it?", does: [["press", "Enter"]], picture: "whose" });
    await user({ sees: "VS Code keeps it encrypted", does: [["type", scenario.key], ["press", "Enter"]], picture: "key" });
    await given;
    await user({ sees: "was saved. It is used from the next turn on.", picture: "kept" });
    const { turn } = await command("handrail.turn.start", { prompt: "Hello?" });
    const { state, answer } = await command("handrail.turn.wait", { turn });
    assert.deepEqual([state, answer], ["finished", "Hello."]);
    assert.deepEqual([...new Set(asked)], [`Bearer ${scenario.key}`]);
    assert.deepEqual(filesWith(scenario.key, config.profile, process.env.XDG_STATE_HOME, config.workspace), []);
    server.close();
  },
};
