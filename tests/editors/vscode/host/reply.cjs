// A pasted reply from the clipboard to its restore, through the real API; and models of VS Code that answer turns.
const assert = require("node:assert/strict");
const path = require("node:path");
const vscode = require("vscode");

const { model, say, settings, turnWith, useModel } = require("./model.cjs");
const { command, copy, onDisk, scenario, until, uriOf, user } = require("./kit.cjs");

const failures = () => vscode.languages.getDiagnostics(uriOf(scenario.open)).filter(({ source }) => source === "handrail");

let document;
let report;

module.exports = {
  "an unsaved CRLF document is open": async () => {
    document = await vscode.workspace.openTextDocument(uriOf(scenario.open));
    const editor = await vscode.window.showTextDocument(document);
    assert.equal(document.eol, vscode.EndOfLine.CRLF);
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), scenario.typed));
    assert.equal(document.getText(), scenario.before);
    assert(document.isDirty);
  },
  "the clipboard's reply runs as a turn": async () => {
    await copy(scenario.reply);
    report = await command("handrail.client.applyClipboard");
    assert(report, "no report: the command failed; the log says why");
    assert.equal(report.state, "finished", report.reason);
    const came = report.outcomes.map(({ uri, status, failure }) => [path.posix.basename(uri), status, failure?.code].join(" "));
    const said = report.outcomes.map(({ failure }) => failure?.message).filter(Boolean);
    assert.deepEqual(came.sort(), scenario.outcomes, said.join("\n"));
  },
  "the edit is in the open document, CRLF and unsaved text kept": async () => {
    assert.equal(document.getText(), scenario.after);
    assert(document.isDirty);
    assert.equal(onDisk(scenario.open), scenario.disk.before[scenario.open]);
  },
  "the closed documents are exact on disk, and still closed": async () => {
    for (const name of scenario.closed) assert.equal(onDisk(name), scenario.disk.after[name], name);
    assert.deepEqual(vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty), [document]);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
    assert.deepEqual(tabs, [scenario.open]);
  },
  "the edit that fits nowhere is a problem": async () => {
    const [problem] = await until("the problem is shown", () => failures().length === 1 && failures());
    assert.equal(problem.severity, vscode.DiagnosticSeverity.Warning);
    assert.equal(problem.code?.value ?? problem.code, "no-match");
    assert.equal(problem.range.start.line, scenario.problemLine);
    await command("workbench.actions.view.problems");
    await user({ sees: problem.message.split("\n")[0], picture: "problems" });
  },
  "its quick fix applies": async () => {
    const [problem] = failures();
    const offered = await command("vscode.executeCodeActionProvider", document.uri, problem.range, "quickfix");
    const titles = offered.map(({ title }) => title);
    const fix = offered.find(({ title }) => title.startsWith(`Apply at line ${scenario.problemLine + 1}: `));
    assert(fix, `offered: ${titles.join(", ")}`);
    assert(titles.includes("Dismiss"), `offered: ${titles.join(", ")}`);
    await vscode.window.showTextDocument(document);
    await command(fix.command.command, ...fix.command.arguments); // answered before it has ended, if it takes long
    await until("the fix is made", () => document.getText() === scenario.fixed);
    await until("the problem is gone", () => failures().length === 0);
    await user({ sees: "No problems have been detected in the workspace.", picture: "fixed" });
  },
  "one undo takes the quick fix back": async () => {
    await command("undo");
    assert.equal(document.getText(), scenario.after);
  },
  "the checkpoint brings everything back, the unsaved text included": async () => {
    const listed = await command("handrail.checkpoint.list", {});
    assert(listed.some(({ id }) => id === report.checkpoint), `listed: ${listed.map(({ id }) => id).join(", ")}`);
    await command("handrail.checkpoint.restore", { checkpoint: report.checkpoint });
    const away = () => Object.entries(scenario.disk.before).filter(([name, bytes]) => onDisk(name) !== bytes);
    await until("everything is back", () => document.getText() === scenario.before && away().length === 0);
    assert(document.isDirty);
  },
  "a language model of VS Code answers a turn, with a tool call": async () => {
    await useModel();
    const turn = await turnWith(async (progress, token, number) => {
      if (number === 1) {
        say(progress, "I raise it.");
        progress.report(new vscode.LanguageModelToolCallPart("call-1", "patch", scenario.edit));
        return;
      }
      say(progress, "It is ");
      say(progress, "raised.");
    });
    const ended = await turn.report;
    assert.deepEqual([ended.state, ended.answer], ["finished", "It is raised."], ended.reason);
    assert.deepEqual(ended.outcomes.map(({ status }) => status), ["landed"]);
    assert.equal(document.getText(), scenario.raised);
    const [first, second] = model.asked;
    assert(first.tools.some(({ name, inputSchema }) => name === "patch" && inputSchema.properties.path));
    assert.equal(first.messages.at(-1).content[0].value, "Raise the tax.");
    const [assistant, result] = second.messages.slice(-2);
    assert.deepEqual(assistant.content[1].input, scenario.edit);
    assert.equal(result.content[0].callId, "call-1");
    assert.match(result.content[0].content[0].value, /^Landed: prices\.py/);
    await command("handrail.checkpoint.restore", { checkpoint: ended.checkpoint });
    await until("the tax is as it was", () => document.getText() === scenario.before);
  },
  "what is asked is answered in a turn": async () => {
    model.answer = async (progress) => say(progress, "It is 19 %.");
    const asked = command("handrail.client.ask");
    await user({ sees: "With prices.py as context", does: [["type", "What is the tax?"], ["press", "Enter"]], picture: "ask" });
    const ended = await asked;
    assert.deepEqual([ended.state, ended.answer], ["finished", "It is 19 %."], ended.reason);
  },
  "a model that is blocked ends the turn, and is not asked again": async () => {
    const turn = await turnWith(async () => {
      throw vscode.LanguageModelError.Blocked("Your quota is used up.");
    });
    const ended = await turn.report;
    assert.equal(ended.state, "failed");
    assert.match(ended.reason, /because of a quota or a filter\. .* or choose another model\. Parrot says: .*Your quota is used up\./);
    assert.equal(model.asked.length, 1);
  },
  "Stop ends a model's answer": async () => {
    const turn = await turnWith((progress, token) => new Promise((resolve) => token.onCancellationRequested(resolve)));
    await until("the model is asked", () => model.asked.length === 1);
    await command("handrail.turn.cancel", { turn: turn.turn });
    assert.equal((await turn.report).state, "cancelled");
    await until("the model hears of it", () => model.asked[0].token.isCancellationRequested);
  },
  "a model that VS Code does not have is said to be missing": async () => {
    await settings().update("model", "editor:eagle", vscode.ConfigurationTarget.Global);
    const ended = await (await turnWith(async () => {})).report;
    assert.match(ended.reason, /no language model “eagle”\. Choose “editor:NAME” with .*parrot/);
    await settings().update("model", undefined, vscode.ConfigurationTarget.Global);
  },
};
