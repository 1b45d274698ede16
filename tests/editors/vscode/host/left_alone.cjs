// A question is left alone for ten minutes, and then until its time is over; twenty wait at once; a rule is removed.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { command, config, ready, scenario, until, user } = require("./kit.cjs");
const { inView } = require("./chat_kit.cjs");
const { turnThatCalls, useModel } = require("./model.cjs");

const READS = { toasts: ".notification-toast .notification-list-item-message" };
const WAITS = "Handrail is waiting for you (";
const waiting = () => command("handrail.approval.list", {});
const ran = (name) => fs.existsSync(path.join(config.workspace, name));
const touching = (...names) => turnThatCalls(names.map((name) => ["terminal", { command: `touch ${name}` }]));
const isShown = () => vscode.window.activeTextEditor?.document.uri.scheme === "handrail-text";

/** Lets that many seconds pass for the server, counted from its start; else its time stands still. */
function passTime(seconds) {
  fs.writeFileSync(`${scenario.clock}.new`, String(seconds));
  fs.renameSync(`${scenario.clock}.new`, scenario.clock);
}

/** Nothing of a question is left to be clicked. */
async function gone() {
  await until("its document is closed", () => !isShown());
  await user({ sees: "Handrail", lacks: WAITS });
  await until("its notification is gone", async () => {
    const { toasts } = await user({ sees: "Handrail", reads: READS, picture: "gone" });
    return toasts.every((toast) => !toast.includes("is waiting for your answer"));
  });
}

let turn, id;

module.exports = {
  "after ten minutes a question is there, with its time left": async () => {
    await ready();
    await useModel();
    turn = await touching("ran.txt");
    [{ id }] = await until("a question waits", async () => ((await waiting()).length > 0 ? await waiting() : undefined));
    passTime(600);
    const [{ secondsLeft }] = await waiting();
    assert.equal(secondsLeft, 3000);
    await user({ sees: WAITS, does: [["clickText", "Show the question"]], picture: "after-ten-minutes" });
    await until("the question is shown", isShown);
    await user({ sees: "Allow once" });
  },
  "and so it is in the chat view": async () => {
    const [{ askedAt }] = await waiting();
    const chosen = command("handrail.client.chooseChat");
    await user({ sees: "Raise the tax.", isInList: true, does: [["type", "Raise the tax."], ["press", "Enter"]] });
    await chosen;
    await inView({ sees: "touch ran.txt" });
    const { returned } = await inView({ sees: "left. Without an answer by", does: [["html", "[data-until]"]], picture: "in-the-view" });
    const [, end] = /data-until="([^"]+)"/.exec(returned[0][0]);
    const seconds = (new Date(end) - new Date(askedAt)) / 1000;
    assert(seconds > 3595 && seconds < 3605, `the browser's time goes on by itself; the end stays: ${seconds} s after it was asked`);
  },
  "when its time is over it is a no, and its buttons go": async () => {
    const answered = command("handrail.client.answer");
    await user({ sees: "Always allow in this workspace", isInList: true, picture: "list" });
    passTime(3600);
    await answered; // the list of answers goes, too
    assert.equal((await turn.report).state, "finished");
    await gone();
    assert.deepEqual(await waiting(), []);
    await user({ sees: "Handrail", lacks: "Allow once", picture: "over" });
    assert(!ran("ran.txt"));
  },
  "each of twenty questions is shown and answered": async () => {
    const names = Array.from({ length: 20 }, (_, number) => `ran-${String(number).padStart(2, "0")}`);
    turn = await touching(...names);
    await until("all wait", async () => (await waiting()).length === 20);
    for (const [at, name] of names.entries()) {
      const chosen = command("handrail.client.answer");
      if (at < 19) await user({ sees: "are waiting: choose one", does: [["type", name], ["press", "Enter"]], picture: "several" });
      await chosen;
      await until(`${name} is shown`, () => isShown() && vscode.window.activeTextEditor.document.getText().includes(`touch ${name}`));
      await user({ sees: "Allow once", does: [["clickText", at % 2 === 0 ? "Allow once" : "No"]], picture: "one" });
      await until("it has ended", async () => (await waiting()).length === 19 - at && !isShown());
    }
    await turn.report;
    assert.deepEqual(names.map(ran), names.map((_, at) => at % 2 === 0));
    await gone();
  },
  "a rule is removed": async () => {
    turn = await touching("ruled.txt");
    await until("a question waits", async () => (await waiting()).length > 0);
    await command("handrail.client.answer");
    await user({ sees: "Allow in this conversation", does: [["clickText", "Allow in this conversation"]] });
    await turn.report;
    assert.equal((await command("handrail.rules.list", {})).length, 1);
    const removed = command("handrail.client.removeRule");
    await user({ sees: "Remove a rule that your answer added", does: [["press", "Enter"]], picture: "rules" });
    await removed;
    assert.deepEqual(await command("handrail.rules.list", {}), []);
    await command("handrail.client.removeRule"); // says that there is none
    await user({ sees: "there are no rules from your answers" });
  },
};
