/**
 * Handrail for VS Code: starts the server and shows what it does. It decides nothing itself.
 *
 * This module wires the parts together; each part says in its own file what it is for.
 */
import { LOADED_AT, measure } from "./marks"; // first, to tell how long the others take

import { commands, type ExtensionContext } from "vscode";

import { Notices } from "./chat/notices";
import { ChatView } from "./chat/view";
import { chooseAndRestore, chooseAndRestoreLines } from "./checkpoints";
import { Connection } from "./connection";
import { Sides } from "./history/sides";
import { HistoryView } from "./history/view";
import { Kept } from "./kept";
import { showFailure } from "./messages";
import { offerParticipant } from "./participant";
import { createLog } from "./present";
import { Questions } from "./questions";
import { Restores } from "./restores";
import { Review } from "./review/review";
import { SaveAfterTurns } from "./save_after";
import { setKey } from "./secrets";
import { trySample } from "./start/sample";
import { Sources } from "./start/sources";
import { Status } from "./status";
import { Texts } from "./texts";
import { offerTools } from "./tools";
import { Turns } from "./turns";
import { ANSWER_COMMAND } from "./words";

let connection: Connection | undefined;

export function activate(context: ExtensionContext): void {
  const start = performance.now();
  const log = createLog("Handrail");
  const server = new Connection(context, log);
  const texts = new Texts();
  const sides = new Sides(server);
  const restores = new Restores(server, texts, sides, log);
  const turns = new Turns(server, restores, texts, log);
  const questions = new Questions(server, texts, log);
  const kept = new Kept(server, log);
  const chat = new ChatView(context, server, restores, texts, log);
  questions.heed((session) => chat.shows(session), chat.onDidChangeSight);
  const review = new Review(server, texts, log);
  const history = new HistoryView(server, chat, restores, sides, log);
  const status = new Status(server, turns, questions, review.pending);
  connection = server;

  const actions: Record<string, (...values: unknown[]) => unknown> = {
    ...review.commands,
    ...history.commands,
    ...new Sources(server, context.secrets, log).commands,
    "handrail.client.getStarted": () => commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#getStarted`, false),
    "handrail.client.trySample": () => trySample(server, log),
    "handrail.client.ask": () => turns.ask(),
    "handrail.client.applyClipboard": () => turns.applyClipboard(),
    "handrail.client.showChat": () => chat.show(),
    "handrail.client.newChat": () => chat.begin(),
    "handrail.client.chooseChat": () => chat.choose(),
    "handrail.client.renameChat": () => chat.rename(),
    "handrail.client.deleteChat": () => chat.remove(),
    "handrail.client.openChatDocument": () => chat.openDocument(),
    "handrail.client.stop": () => turns.stop(),
    "handrail.client.restore": () => chooseAndRestore(server, restores),
    "handrail.client.restoreLines": () => chooseAndRestoreLines(server, restores),
    [ANSWER_COMMAND]: () => questions.answer(),
    "handrail.client.showOutput": () => questions.showOutput(),
    "handrail.client.removeRule": () => questions.removeRule(),
    "handrail.client.setKey": () => setKey(context.secrets, server),
    "handrail.client.restartServer": () => server.restart(),
    "handrail.client.showLog": () => {
      log.show();
    },
    "handrail.client.menu": () => status.menu(),
  };
  for (const [name, action] of Object.entries(actions)) {
    const shown = async (...values: unknown[]) => {
      try {
        return await action(...values);
      } catch (thrown) {
        showFailure(log, `${name} failed`, thrown);
        return undefined;
      }
    };
    context.subscriptions.push(commands.registerCommand(name, shown));
  }
  context.subscriptions.push(log, server, texts, restores, turns, questions, status, kept, chat, review, history, sides);
  context.subscriptions.push(offerTools(server), offerParticipant(server, context, chat.door), new SaveAfterTurns(server, log), new Notices(server, chat, turns, log));
  void server.startShown();
  measure("activate", start);
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}

measure("load", LOADED_AT);
