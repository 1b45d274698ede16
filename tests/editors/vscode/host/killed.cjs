// The server is killed, again and again: it comes back, and turns work; after too often, the person is asked.
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { command, copy, ready, servers, until, user } = require("./kit.cjs");
const { say, settings, turnWith, useModel } = require("./model.cjs");

/** Kills the server as soon as one is there that was not killed before. */
async function kill(killed) {
  const pid = await until("a server runs", () => servers().find((each) => !killed.includes(each)));
  process.kill(pid, "SIGKILL");
  killed.push(pid);
}

/** Runs a turn as a user does; a server that is just starting again is waited for. */
async function turn(old, now) {
  await copy(`list.txt\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`);
  const report = await command("handrail.client.applyClipboard");
  assert.deepEqual(report?.outcomes.map(({ status }) => status), ["landed"]);
}

const STATUS = { status: ".statusbar-item[id='handrail.handrail.handrail.status']" };
const killed = [];
const thrown = [];

module.exports = {
  "a turn runs": async () => {
    await ready();
    await turn("one", "ONE");
  },
  "after a kill, the model is stopped and a turn runs": async () => {
    process.on("unhandledRejection", (reason) => thrown.push(String(reason?.stack ?? reason)));
    await useModel();
    let goesOn = true;
    let isStopped = false;
    const { report } = await turnWith(async (progress, token) => {
      token.onCancellationRequested(() => (isStopped = true));
      while (goesOn && !isStopped) {
        say(progress, "More. ");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    report.catch(() => undefined); // the server ends
    await user({ sees: "thinking" });
    await kill(killed);
    await until("the model is stopped", () => isStopped).finally(() => (goesOn = false));
    assert.deepEqual(thrown.filter((text) => text.includes("handrail")), []);
    await settings().update("model", undefined, vscode.ConfigurationTarget.Global);
    // A request that is sent before the client sees the end is rightly told that the server ended.
    await until("the next one starts", () => servers().some((each) => !killed.includes(each)));
    await turn("ONE", "one");
    assert.equal(servers().length, 1);
  },
  "after two kills, of which the second meets the server as it starts, a turn runs": async () => {
    await kill(killed);
    await kill(killed);
    await turn("one", "ONE");
    assert.equal(servers().length, 1);
    await user({ sees: "Handrail", lacks: "Restart Server" });
  },
  "after a kill while nothing waits for it, it is there again": async () => {
    await kill(killed);
    await until("a server runs", () => servers().length === 1);
  },
  "killed too often, it waits for the person, who starts it": async () => {
    await kill(killed);
    const { status } = await user({ sees: "The server ended several times within a short time", reads: STATUS, picture: "given-up" });
    assert.equal(servers().length, 0, status.join());
    await user({ sees: "Restart Server", does: [["click", "button", "Restart Server"]] });
    await until("a server runs", () => servers().length === 1);
    await turn("ONE", "one");
  },
};
