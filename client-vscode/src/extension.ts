/**
 * Handrail for VS Code: starts the server and shows what it does. It decides nothing itself.
 *
 * This module wires the parts together; each part says in its own file what it is for.
 */
import { commands, type ExtensionContext, window } from "vscode";

import { chooseAndRestore } from "./checkpoints";
import { Connection } from "./connection";
import { showFailure } from "./messages";
import { Status } from "./status";
import { Texts } from "./texts";
import { Turns } from "./turns";

let connection: Connection | undefined;

export function activate(context: ExtensionContext): void {
  const log = window.createOutputChannel("Handrail", { log: true });
  const server = new Connection(context, log);
  const texts = new Texts();
  const turns = new Turns(server, texts, log);
  const status = new Status(server, turns);
  connection = server;

  const actions: Record<string, () => unknown> = {
    "handrail.client.ask": () => turns.ask(),
    "handrail.client.applyClipboard": () => turns.applyClipboard(),
    "handrail.client.stop": () => turns.stop(),
    "handrail.client.restore": () => chooseAndRestore(server),
    "handrail.client.restartServer": () => server.restart(),
    "handrail.client.showLog": () => {
      log.show();
    },
    "handrail.client.menu": () => status.menu(),
  };
  for (const [name, action] of Object.entries(actions)) {
    const shown = async () => {
      try {
        return await action();
      } catch (thrown) {
        showFailure(log, `${name} failed`, thrown);
        return undefined;
      }
    };
    context.subscriptions.push(commands.registerCommand(name, shown));
  }
  context.subscriptions.push(log, server, texts, turns, status);
  void server.startShown();
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}
