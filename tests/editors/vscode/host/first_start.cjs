// The first start on a computer without a Python that fits, then without a network, then with a server installed otherwise.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");
const { command, ready, scenario, until, user } = require("./kit.cjs");

const NOTICE = '.notification-list-item:has-text("Show Log")'; // the progress that ends may stand beside it
const BUTTONS = { buttons: `${NOTICE} .monaco-button`, text: `${NOTICE} .notification-list-item-message` };
const python = (script) => fs.writeFileSync(scenario.python, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
const restart = () => command("handrail.client.restartServer");
const settings = () => vscode.workspace.getConfiguration("handrail");

/** What the message that the user sees says, and its buttons; the user clicks one of them, if it is named. */
async function message(sees, picture, button) {
  const { text, buttons } = await until("the message is shown", async () => {
    const found = await user({ sees, reads: BUTTONS, picture }); // screen readers have the text before it is shown
    if (found.text.length === 1) return found;
    // VS Code pops up no more than three notifications within 800 ms, and these steps are faster than people.
    await command("notifications.showList");
    return undefined;
  });
  if (button !== undefined) await user({ sees: button, does: [["clickText", button]] });
  return { text: text.join(" "), buttons: buttons.map((each) => each.trim()) };
}

module.exports = {
  "without Python, the message says what to install and opens where to get it": async () => {
    await vscode.extensions.getExtension("handrail.handrail").activate();
    const { text, buttons } = await message("none was found on the PATH", "no-python", "Get Python");
    assert.match(text, /needs Python 3\.11 or newer, and none was found on the PATH\. Install Python 3\.11 or newer/);
    assert.deepEqual(buttons, ["Get Python", "Restart Server", "Show Log"]);
    // A window for tests asks with a message instead of the dialog.
    await user({ sees: "open the external website", picture: "opens" });
  },
  "with an old Python, the message says which it is": async () => {
    python(`echo '{"executable": "/old/python3", "version": [3, 9, 2], "venv": true}'`);
    await command("notifications.clearAll");
    await restart();
    const { text, buttons } = await message("/old/python3", "old-python");
    assert.match(text, /\/old\/python3 is 3\.9\.2\. Install Python 3\.11/);
    assert.deepEqual(buttons, ["Get Python", "Restart Server", "Show Log"]);
  },
  "without a network, the message has pip's reason and the way on": async () => {
    python(`exec ${scenario.real} "$@"`);
    await command("notifications.clearAll");
    await restart();
    const { text, buttons } = await message("The server could not be installed", "offline", "Set Server Path");
    assert.match(text, /pip says: No matching distribution found for \S+.*\. The usual cause is the network or the configuration of pip/);
    assert.match(text, /set handrail\.serverPath to the path of its program\.$/);
    assert.deepEqual(buttons, ["Set Server Path", "Restart Server", "Show Log"]);
    await user({ sees: "Empty: the extension installs its own copy", picture: "setting" });
  },
  "a server that is installed otherwise runs": async () => {
    await settings().update("serverPath", scenario.server, vscode.ConfigurationTarget.Global);
    await restart();
    await ready();
    assert.deepEqual(await command("handrail.checkpoint.list", {}), []);
  },
};
