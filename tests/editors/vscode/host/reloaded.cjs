// The window is reloaded while a question is shown: nothing of it is left, and nothing runs.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { command, config, ready, servers, until, user } = require("./kit.cjs");
const { turnThatCalls, useModel } = require("./model.cjs");

const READS = { toasts: ".notification-toast .notification-list-item-message" };
const waiting = () => command("handrail.approval.list", {});
const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));

module.exports = {
  "a question is shown": async () => {
    await ready();
    await useModel();
    const turn = await turnThatCalls([["terminal", { command: "touch ran.txt" }]]);
    turn.report.catch(() => undefined);
    await until("a question waits", async () => (await waiting()).length > 0);
    await command("handrail.client.answer");
    await command("workbench.action.keepEditor"); // a tab that is kept can be restored
    await user({ sees: "Allow once", picture: "before" });
  },
  reload: undefined,
  "nothing of it is left": async () => {
    await ready();
    await until("only the new window's server runs", () => servers().length === 1);
    assert.deepEqual(await waiting(), []);
    await user({ sees: "Handrail", lacks: "Allow once", picture: "after" });
    const { toasts } = await user({ sees: "Handrail", lacks: "Handrail is waiting for you (", reads: READS });
    assert.deepEqual(toasts.filter((toast) => toast.includes("is waiting for your answer")), []);
    await until("its document is closed", () => !tabs().includes("Handrail Question"));
    assert(!fs.existsSync(path.join(config.workspace, "ran.txt")));
  },
  "the next question is shown as it is": async () => {
    await useModel();
    const turn = await turnThatCalls([["terminal", { command: "touch other.txt" }]]);
    await until("a question waits", async () => (await waiting()).length > 0);
    await command("handrail.client.answer");
    await user({ sees: "touch other.txt" });
    await user({ sees: "Allow once", does: [["clickText", "No"]], picture: "next" });
    await turn.report;
  },
};
