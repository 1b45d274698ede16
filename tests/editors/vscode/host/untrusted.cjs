// A hostile folder, before its user trusts it and after: nothing of it starts, is obeyed or is written; then turns may edit.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { command, config, ready, scenario, servers, until, user } = require("./kit.cjs");
const { model, turnThatCalls, useModel } = require("./model.cjs");

const STATUS = { status: ".statusbar-item[id='handrail.handrail.handrail.status']" };
const CALLS = [
  ["write_file", { path: "made.txt", content: "made\n" }],
  ["terminal", { command: "touch ran.txt" }],
];
const WRITES = [["patch", { path: "list.txt", old_string: "one", new_string: "ONE" }]];
const names = () => fs.readdirSync(config.workspace, { recursive: true }).sort();
const told = () => JSON.stringify(model.asked.map(({ messages }) => messages));
let before;
let pid;

module.exports = {
  "the folder's settings do not count": async () => {
    assert.equal(vscode.workspace.isTrusted, false);
    before = names();
    await ready();
    const settings = vscode.workspace.getConfiguration("handrail");
    for (const [name, value] of Object.entries(scenario.settings)) {
      const own = name.replace(/^handrail\./, "");
      assert.notDeepEqual(settings.get(own), value, name);
    }
    [pid] = servers();
    const { status } = await user({ sees: "read only", reads: STATUS, picture: "status" });
    assert.equal(status.join().trim(), "Handrail: read only");
  },
  "a turn can only ask, and its model is told of no orders": async () => {
    await useModel();
    const { report } = await turnThatCalls(CALLS);
    assert.deepEqual((await report).outcomes.map(({ status }) => status).filter((status) => status === "landed"), []);
    assert(!told().includes("notes.txt"), "AGENTS.md");
    assert(!told().includes("leak"), "a skill");
    assert.deepEqual(await command("handrail.approval.list", {}), []);
    await user({ sees: "have not trusted this workspace", picture: "told" });
  },
  "nothing started and nothing was written": async () => {
    assert.deepEqual(names(), before);
    assert.equal(fs.readFileSync(path.join(config.workspace, "list.txt"), "utf8"), "one\n");
    assert(!fs.existsSync(scenario.marker), "a program of the folder has run");
    const log = fs.readdirSync(config.profile, { recursive: true }).filter((name) => name.endsWith("Handrail.log"));
    const logged = log.map((name) => fs.readFileSync(path.join(config.profile, name), "utf8")).join("");
    assert(!logged.includes("Sending request"), "the folder has switched tracing on");
  },
  "trusted, the same server edits": async () => {
    await command("workbench.trust.manage");
    await user({ sees: "In a Trusted Folder", does: [["clickText", "Trust"]], picture: "manage" });
    await until("the workspace is trusted", () => vscode.workspace.isTrusted);
    const { report } = await turnThatCalls(WRITES);
    const { outcomes } = await report;
    assert.deepEqual(outcomes.map(({ status }) => status), ["landed"]);
    assert(told().includes("notes.txt"), "AGENTS.md is told now");
    assert.deepEqual(servers(), [pid], "without a restart");
    assert(!fs.existsSync(scenario.marker), "machine settings never come from a folder");
    const { status } = await user({ sees: "Handrail", lacks: "read only", reads: STATUS, picture: "trusted" });
    assert(!status.join().includes("read only"));
  },
};
