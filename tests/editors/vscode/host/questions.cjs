// Questions wait, are shown whole as plain text, and take no answer that was not given.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { command, config, copy, ready, scenario, servers, until, user } = require("./kit.cjs");
const { model, say, turnThatCalls, useModel } = require("./model.cjs");

const READS = {
  links: ".notification-list-item-message a",
  toasts: ".notification-toast .notification-list-item-message",
  lenses: ".codelens-decoration a",
  status: "#handrail\\\\.handrail\\\\.handrail\\\\.status",
  bugs: ".codicon-bug:not(.action-label)",
};
const WAITS = "Handrail is waiting for you (";
const waiting = () => command("handrail.approval.list", {});
const ran = (name) => fs.existsSync(path.join(config.workspace, name));
const shownQuestion = () => {
  const document = vscode.window.activeTextEditor?.document;
  return document?.uri.scheme === "handrail-text" ? document : undefined;
};
const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
const keys = ["Enter", "Escape", "1", "2", "3", "y", "Enter", "Control+c", "Tab", "Space"].map((key) => ["press", key]);

/** Runs a turn that asks, and waits until the question is open. */
async function asking(...calls) {
  await command("notifications.clearAll");
  await command("workbench.action.closeAllEditors");
  const turn = await turnThatCalls(calls);
  await until("a question waits", async () => (await waiting()).length > 0);
  return turn;
}

const terminal = (line) => ["terminal", { command: line }];

/** Nothing of a question is left on the page. */
async function gone() {
  await until("no question waits", async () => (await waiting()).length === 0);
  await until("its document is closed", () => !tabs().includes("Handrail Question"));
  await until("its notification is gone", async () => {
    const { toasts } = await user({ sees: "Handrail", lacks: WAITS, reads: READS, picture: "gone" });
    return toasts.every((toast) => !toast.includes("is waiting for your answer"));
  });
}

let turn;

module.exports = {
  "a question waits in the status bar and takes no keys": async () => {
    await ready();
    await useModel();
    turn = await asking(terminal(scenario.line));
    const { links, toasts } = await user({ sees: WAITS, reads: READS, does: keys, picture: "waits" });
    assert.deepEqual(links, ["Show the question"]);
    assert(toasts.some((toast) => toast.includes("Handrail is waiting for your answer.")), toasts.join());
    assert.equal((await waiting()).length, 1);
  },
  "it is shown whole, as plain text, and still takes no keys": async () => {
    await user({ sees: WAITS, does: [["clickText", WAITS, false]] }); // Escape has hidden the notification
    const document = await until("the question is shown", shownQuestion);
    assert(document.getText().includes(scenario.shown), document.getText());
    assert.equal(document.languageId, "handrail-text");
    const { lenses, bugs } = await user({ sees: "Always allow in this workspace", does: keys, reads: READS, picture: "question" }); // its actions come last
    assert.deepEqual(lenses.slice(0, 4), ["No", "Allow once", "Allow in this conversation", "Always allow in this workspace"]);
    assert.deepEqual(bugs, []);
    assert.equal((await waiting()).length, 1);
    assert(!ran("ran.txt"));
  },
  "what is allowed is what was shown": async () => {
    await user({ sees: "Allow once", does: [["clickText", "Allow once"]] });
    await until("the command has run", () => ran("ran.txt"));
    assert.equal((await turn.report).state, "finished");
    await gone();
  },
  "the output of the command can be read": async () => {
    await command("handrail.client.showOutput");
    assert.match(vscode.window.activeTextEditor.document.getText(), /\[fine\]\(command:workbench\.action\.quit\)/);
    await user({ sees: "[fine](command:", reads: READS, picture: "output" });
  },
  "in the list of answers, what is typed and Enter are a no": async () => {
    turn = await asking(terminal("touch allowed.txt"));
    await user({ sees: "Show the question", does: [["clickText", "Show the question"]] });
    await until("the question is shown", shownQuestion);
    const answered = command("handrail.client.answer");
    await user({ sees: "Allow in this conversation", isInList: true, does: [["type", "allow"]], picture: "answers" });
    await user({ sees: "Allow in this conversation", isInList: true, does: [["press", "Enter"]] });
    await answered;
    await turn.report;
    assert(!ran("allowed.txt"));
    await gone();
  },
  "Escape answers nothing, and a stopped turn takes its question along": async () => {
    turn = await asking(terminal("touch allowed.txt"));
    await command("handrail.client.answer");
    await until("the question is shown", shownQuestion);
    const answered = command("handrail.client.answer");
    await user({ sees: "Always allow in this workspace", isInList: true, does: [["press", "Escape"]] });
    await answered;
    assert.equal((await waiting()).length, 1);
    const again = command("handrail.client.answer");
    await user({ sees: "Always allow in this workspace", isInList: true });
    await command("handrail.client.stop");
    await again; // the list of answers goes, too
    assert.equal((await turn.report).state, "cancelled");
    assert(!ran("allowed.txt"));
    await gone();
  },
  "a command that could be a link gives no yes": async () => {
    turn = await asking(terminal("touch allowed.txt"));
    const [{ id }] = await waiting();
    await command("handrail.approval.answer", { approval: id, choice: "allow" });
    await until("the question is shown", shownQuestion);
    for (const choice of ["session", "always"]) await command("handrail.approval.answer", { approval: id, choice });
    await user({ sees: "Always allow in this workspace" });
    assert.equal((await waiting()).length, 1);
    await command("handrail.approval.answer", { approval: id, choice: "deny" });
    await turn.report;
    assert(!ran("allowed.txt"));
    await gone();
  },
  "a question about a file shows what would be written": async () => {
    turn = await asking(["write_file", { path: ".env", content: "KEY=[new](command:workbench.action.quit)\n" }]);
    await command("handrail.client.answer");
    const document = await until("the question is shown", shownQuestion);
    assert.match(document.getText(), /^ {4}-KEY=old$/m);
    assert.match(document.getText(), /^ {4}\+KEY=\[new\]\(command:workbench\.action\.quit\)$/m);
    await user({ sees: "What would be written:", does: [["clickText", "No"]], picture: "diff" });
    await turn.report;
    await gone();
  },
  "of several questions one is chosen": async () => {
    turn = await asking(["write_file", { path: ".env", content: "a\n" }], ["ask_user", { question: "$(bug) [Which](command:workbench.action.quit)?", choices: ["$(bug) one", "[two](command:workbench.action.quit)"] }]);
    await until("a question waits", async () => (await waiting()).length > 0);
    for (let open = await waiting(); open.length > 0; open = await waiting()) {
      const [question] = open;
      const answered = command("handrail.client.answer");
      if (open.length > 1) {
        const { bugs } = await user({ sees: "are waiting: choose one", reads: READS, does: [["press", "Enter"]], picture: "several" });
        assert.deepEqual(bugs, []);
      }
      await answered;
      await until("the question is shown", shownQuestion);
      const chosen = command("handrail.client.answer");
      const { bugs } = await user({ sees: question.kind === "question" ? "No answer" : "Allow once", isInList: true, reads: READS, does: [["press", "Enter"]], picture: `list-${question.kind}` });
      assert.deepEqual(bugs, []);
      await chosen;
      await until("that question has ended", async () => (await waiting()).every(({ id }) => id !== question.id));
      if ((await waiting()).length === 0) await Promise.race([turn.report, until("the next question waits", async () => (await waiting()).length > 0)]);
    }
    await turn.report;
    await gone();
  },
  "an answer, a prompt and a checkpoint's name are shown as they are": async () => {
    await command("notifications.clearAll");
    const text = "[fine](command:workbench.action.quit) $(bug) [$(bug)](https://example.org)";
    turn = await turnThatCalls([["write_file", { path: "list.txt", content: "one\n" }]], text);
    await turn.report;
    Object.assign(model, { asked: [], answer: async (progress) => say(progress, text) });
    await copy("list.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n");
    const { outcomes } = await command("handrail.client.applyClipboard");
    assert.deepEqual([outcomes.map(({ status }) => status), model.asked], [["landed"], []], "a copied reply is applied, whatever model is chosen");
    await command("notifications.clearAll");
    const answered = command("handrail.client.ask");
    await user({ sees: "What should be done?", does: [["type", text], ["press", "Enter"]], picture: "ask" });
    await answered;
    const { links, toasts, bugs } = await user({ sees: "[fine] (command:", reads: READS, does: [["click", "button", "Show Answer"]], picture: "answer" });
    assert.deepEqual([links, bugs], [[], []]);
    assert(toasts.some((toast) => toast.includes("[fine] (command:workbench.action.quit) $(bug) [$(bug)] (https://example.org)")), toasts.join());
    const document = await until("the answer is shown", shownQuestion);
    assert.deepEqual([document.getText(), document.languageId], [text, "handrail-text"]);
    const listed = command("handrail.client.restore");
    const list = await user({ sees: "Choose a turn or another change", does: [["press", "Escape"]], reads: READS, picture: "list" });
    assert.deepEqual(list.bugs, []);
    await listed;
  },
  "a killed server takes its questions along, and nothing runs": async () => {
    turn = await asking(terminal("touch allowed.txt"));
    turn.report.catch(() => undefined);
    await command("handrail.client.answer");
    await until("the question is shown", shownQuestion);
    const answered = command("handrail.client.answer");
    await user({ sees: "Always allow in this workspace", isInList: true });
    const before = servers();
    for (const pid of before) process.kill(pid, "SIGKILL");
    await answered; // the list of answers goes, too
    await until("another server runs", () => servers().some((pid) => !before.includes(pid)));
    await until("it answers", () => waiting().catch(() => undefined));
    await gone();
    assert(!ran("allowed.txt"));
  },
};
