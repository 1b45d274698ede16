/**
 * `@handrail` in the editor's own chat: a thin door to the conversation that the chat view shows.
 *
 * What is said there becomes a turn, and the model's text is streamed back as plain text: nothing in it is Markdown. Questions,
 * changes and everything else are where they always are.
 */
import * as vscode from "vscode";

import type { Connection } from "./connection";
import { messageOf, UserError } from "./messages";
import { plainMarkdown } from "./present";
import { CHAT_SAY, TURN_CANCEL, TURN_WAIT, type TurnEvent, type TurnReport } from "./protocol";

const ID = "handrail.chat";
const TOO_OLD = vscode.l10n.t("This Handrail server is too old for @handrail. Update it, or clear the setting handrail.serverPath.");
const EMPTY = vscode.l10n.t("Write after @handrail what you want done, such as: @handrail Explain what this workspace does.");

/** Where the turns of the editor's chat go. */
export interface Door {
  /** The session that the chat view shows. */
  session: () => Promise<string>;
  /** Shows another one there. */
  open: (session: string) => Promise<void>;
}

/** Registers the participant, where the editor has a chat. */
export function offerParticipant(connection: Connection, context: vscode.ExtensionContext, door: Door): vscode.Disposable {
  if (!("chat" in vscode) || !("createChatParticipant" in vscode.chat)) return new vscode.Disposable(() => undefined);
  const participant = vscode.chat.createChatParticipant(ID, (request, _context, stream, token) => answer(connection, door, request, { stream, token }));
  participant.iconPath = vscode.Uri.joinPath(context.extensionUri, "media", "icon.png");
  return new vscode.Disposable(() => {
    participant.dispose();
  });
}

interface Response {
  stream: Pick<vscode.ChatResponseStream, "markdown" | "progress" | "button">;
  token: vscode.CancellationToken;
}

/** Answers a request of the editor's chat with a turn. What goes wrong is the result's error, with buttons for what helps. */
export async function answer(
  connection: Connection,
  door: Door,
  { prompt }: Pick<vscode.ChatRequest, "prompt">,
  response: Response,
): Promise<vscode.ChatResult> {
  if (prompt.trim() === "") {
    response.stream.markdown(plainMarkdown(EMPTY, true));
    return {};
  }
  try {
    await connection.start();
  } catch (thrown) {
    response.stream.button({ command: "handrail.client.restartServer", title: vscode.l10n.t("Restart Server") });
    response.stream.button({ command: "handrail.client.showLog", title: vscode.l10n.t("Show Log") });
    return failed(messageOf(thrown));
  }
  try {
    if (!connection.offers(CHAT_SAY)) throw new UserError(TOO_OLD);
    const report = await turn(connection, door, prompt, response);
    return report === undefined ? {} : resultOf(report, response);
  } catch (thrown) {
    return failed(messageOf(thrown));
  }
}

/** What the end of a turn says, and leads to. */
function resultOf({ state, reason, pending = [] }: TurnReport, { stream, token }: Response): vscode.ChatResult {
  if (pending.length > 0) stream.button({ command: "handrail.client.openReview", title: vscode.l10n.t("Review Changes") });
  if (state === "finished" || token.isCancellationRequested) return {};
  const why = reason ?? (state === "cancelled" ? vscode.l10n.t("The turn was stopped.") : vscode.l10n.t("The turn did not finish."));
  const hasNoModel = vscode.workspace.getConfiguration("handrail").get<string>("model") === "paste";
  if (state !== "failed" && !hasNoModel) return failed(why);
  stream.button({ command: "handrail.client.chooseSource", title: vscode.l10n.t("Choose Where Answers Come From…") });
  return failed(vscode.l10n.t("{0} Choose where answers come from, or correct the cause, then send your message again.", why));
}

function failed(text: string): vscode.ChatResult {
  return { errorDetails: { message: plainMarkdown(text, true).value } };
}

/** Runs a turn in the conversation; undefined for a command, which is answered in the conversation. */
async function turn(connection: Connection, door: Door, text: string, { stream, token }: Response): Promise<TurnReport | undefined> {
  const early: [string, TurnEvent][] = [];
  let running: string | undefined;
  const show = writer(stream);
  const subscription = connection.onTurnUpdate(({ turn, event }) => {
    if (running === undefined) early.push([turn, event]);
    else if (turn === running) show(event);
  });
  try {
    const said = await connection.request(CHAT_SAY, { session: await door.session(), text, queue: true });
    await door.open(said.session);
    if (said.turn === null) return undefined;
    running = said.turn;
    for (const [turn, event] of early) if (turn === running) show(event);
    return await waitFor(connection, running, token);
  } finally {
    subscription.dispose();
    stream.button({ command: "handrail.client.showChat", title: vscode.l10n.t("Show in Handrail") }); // at the end: VS Code folds up what is before
  }
}

async function waitFor(connection: Connection, turn: string, token: vscode.CancellationToken): Promise<TurnReport> {
  const stop = () => {
    connection.request(TURN_CANCEL, { turn }).catch(() => undefined); // the report says how it ended
  };
  const stopping = token.onCancellationRequested(stop);
  if (token.isCancellationRequested) stop();
  try {
    return await connection.request(TURN_WAIT, { turn });
  } finally {
    stopping.dispose();
  }
}

/** Writes what happens in a turn: the model's words, and in a line each what it does. */
function writer(stream: Response["stream"]): (event: TurnEvent) => void {
  let isAtLineStart = true;
  return (event) => {
    if (event.kind === "text" && event.delta !== "") {
      stream.markdown(plainMarkdown(event.delta, isAtLineStart));
      isAtLineStart = /\s$/.test(event.delta);
    } else if (event.kind === "toolCall") stream.progress(plainMarkdown(event.title, true).value);
    else if (event.kind === "approval" && event.end === undefined) stream.progress(vscode.l10n.t("Waiting for your answer in Handrail’s chat."));
  };
}
