// What the extension costs VS Code, measured inside it; the benchmark judges it.
const fs = require("node:fs");
const path = require("node:path");
const { monitorEventLoopDelay, performance } = require("node:perf_hooks");
const vscode = require("vscode");
const { command, ready, scenario, until, uriOf } = require("./kit.cjs");
const { ENTER, inView, write } = require("./chat_kit.cjs");
const { settings } = require("./model.cjs");

const KEYS = 60;
const found = {};
const took = (step) => performance.getEntriesByName(`handrail.${step}`).map(({ duration }) => duration);
const asHunk = (at) => `large.txt\n<<<<<<< SEARCH\nline ${at} of many\n=======\nline ${at}, changed\n>>>>>>> REPLACE\n`;
const note = (name, value) => {
  found[name] = [...(found[name] ?? []), value];
  fs.writeFileSync(scenario.found, JSON.stringify(found));
};

/** Types a row, and notes what that costs the extension host. */
async function typing(name) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = performance.eventLoopUtilization();
  delay.enable();
  for (let key = 0; key < KEYS; key += 1) {
    await command("type", { text: "x" });
    await new Promise((resolve) => setTimeout(resolve, 20)); // as fast as a quick typist
  }
  await vscode.commands.executeCommand("vscode.executeCodeLensProvider", uriOf("large.txt")); // after all that came before
  delay.disable();
  note(name, { active: performance.eventLoopUtilization(before).active / KEYS, longest: delay.max / 1e6 });
}

module.exports = {
  "the extension is activated": async () => {
    await ready();
    note("activation", took("load")[0] + took("activate")[0]);
  },
  "a bare server and ours are started in turn": async () => {
    for (let round = 0; round < scenario.rounds; round += 1) {
      for (const [name, server] of Object.entries(scenario.servers)) {
        await settings().update("serverPath", server, vscode.ConfigurationTarget.Global);
        performance.clearMeasures();
        await command("handrail.client.restartServer");
        note(`server ${name}`, took("server")[0]);
      }
    }
    await ready();
  },
  "an answer streams into the view": async () => {
    await command("handrail.client.showChat");
    await inView({ sees: "New conversation", does: [["tasks"]] });
    await inView({ sees: "New conversation", ...write("Stream.") });
    await until("the answer has come", async () => {
      const { status, items } = await command("handrail.chat.read", {});
      return status.running === undefined && items.some(({ kind }) => kind === "words");
    });
    const [tasks] = (await inView({ sees: "Stream.", does: [["tasks"]], picture: "streamed" })).returned;
    note("tasks", tasks);
  },
  "a long conversation opens in the view": async () => {
    const folder = fs.readdirSync(process.env.XDG_STATE_HOME, { recursive: true }).find((name) => path.basename(name) === "sessions");
    fs.copyFileSync(scenario.journal, path.join(process.env.XDG_STATE_HOME, folder, "s-long.jsonl"));
    await inView({ sees: "Stream.", ...write("/sessions", ["press", "Escape"], ENTER) });
    const opened = { does: [["opens", "Open this conversation"]], picture: "opens" };
    note("opened", (await inView({ sees: "Open this conversation", ...opened })).returned[0]);
  },
  "typing with and without changes to review": async () => {
    const document = await vscode.workspace.openTextDocument(uriOf("large.txt"));
    const editor = await vscode.window.showTextDocument(document);
    for (let round = 0; round < scenario.rounds; round += 1) {
      const end = document.lineAt(round * 1_000 + 500).range.end;
      editor.selection = new vscode.Selection(end, end);
      await typing("without");
      const edits = Array.from({ length: scenario.hunks }, (_, each) => asHunk(each * 190 + round * 10 + 1)).join("\n");
      const { report } = await command("handrail.turn.apply", { edits });
      note("landed", report.outcomes.filter(({ status }) => status === "landed").length);
      await vscode.window.showTextDocument(document);
      await typing("with");
      await command("handrail.client.keepAll");
    }
  },
};
