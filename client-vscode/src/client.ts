/**
 * The language client, set up for Handrail: quiet, because it is for the connection to tell the person what went wrong.
 *
 * Most of the extension's code is the library behind this module. So it is imported when a server is first started, not by
 * the activation, and nothing else imports the library for more than its types: a file of CommonJS that is imported as it
 * runs has no names.
 */
import { type CancellationToken, CancellationTokenSource, commands, type Disposable, l10n, type LogOutputChannel, workspace } from "vscode";
import {
  CloseAction,
  ErrorCodes,
  type ErrorHandler,
  type Executable,
  LanguageClient,
  LSPErrorCodes,
  MessageType,
  ProgressType,
  ResponseError,
  RevealOutputChannelOn,
  ShowMessageNotification,
  type ShowMessageParams,
  ShowMessageRequest,
  type ShowMessageRequestParams,
  State,
} from "vscode-languageclient/node";

import type { Publish } from "./diagnostics";
import { offersModels } from "./model";
import { escapeLabel, type Severity, showMessage } from "./present";
import type { ApprovalAnswerParams, ClientOptions } from "./protocol";
import { ANSWER_COMMAND, NO } from "./words";

class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

const SEVERITIES: Partial<Record<MessageType, Severity>> = { [MessageType.Error]: "error", [MessageType.Warning]: "warning" };

const MODEL_TEXT = new ProgressType<{ delta: string }>();

/** What this client always does for the server. */
const SERVICES = ["save", "reload", "secret", "chat", "review", "diagnostics", "definition", "references", "symbols"];

/**
 * Creates a client for the server, without starting it. It never starts a server again by itself: a server that ended
 * gets a new client, and the connection decides when. *publish* is given what the server reports on a document, and what shows that.
 */
export function createClient(server: Executable, log: LogOutputChannel, publish: Publish): LanguageClient {
  const handrail: ClientOptions = {
    turnUpdates: true,
    approvals: true,
    untrusted: !workspace.isTrusted,
    services: [...SERVICES, ...(offersModels() ? ["model"] : [])],
  };
  const errorHandler: ErrorHandler = {
    error: (error, message, count) => usual.error(error, message, count),
    closed: () => ({ action: CloseAction.DoNotRestart, message: l10n.t("The server ended."), handled: true }),
  };
  const client = new QuietClient("handrail", "Handrail", server, {
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    initializationOptions: { handrail },
    initializationFailedHandler: () => false,
    errorHandler,
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    middleware: {
      // The status item shows the turn; a second spinner beside it would say the same. The end goes on to the
      // client's own handler, which tidies up then.
      handleWorkDoneProgress: (token, params, next) => {
        if (params.kind === "end") next(token, params);
      },
      handleDiagnostics: (uri, found, next) => {
        publish(uri, found, () => {
          next(uri, found);
        });
      },
      executeCommand: (name, values, next): unknown => {
        if (!isQuestion(name, values)) return next(name, values);
        void commands.executeCommand(ANSWER_COMMAND);
        return null;
      },
      provideCodeLenses: async (document, token, next) => {
        const lenses = await next(document, token);
        for (const { command } of lenses ?? []) if (command !== undefined) command.title = escapeLabel(command.title);
        return lenses;
      },
    },
  });
  const usual = client.createDefaultErrorHandler();
  presentMessages(client);
  return client;
}

/** The error that answers a request of the server's; *mayHelp*: to ask again. */
export function createError(text: string, mayHelp: boolean): ResponseError {
  return new ResponseError(mayHelp ? ErrorCodes.InternalError : LSPErrorCodes.RequestFailed, text);
}

/** Tells the server, if it still runs, the next part of a model's answer. */
export async function sendText(client: LanguageClient, token: string | number, delta: string): Promise<void> {
  if (client.isRunning()) await client.sendProgress(MODEL_TEXT, token, { delta });
}

/** Does something that the server waits for, with a token that is cancelled with the given one and when the server is gone. */
export async function whileRunning<T>(client: LanguageClient, given: CancellationToken, act: (token: CancellationToken) => Promise<T>): Promise<T> {
  const source = new CancellationTokenSource();
  const stop = () => {
    source.cancel();
  };
  const listening = [given.onCancellationRequested(stop), client.onDidChangeState(stop)]; // it has run, so it ends now
  try {
    return await act(source.token);
  } finally {
    for (const each of [...listening, source]) each.dispose();
  }
}

/** Calls one of the functions whenever the server runs or has ended; a start that failed is an end. */
export function followState(client: LanguageClient, runs: () => void, ended: () => void): void {
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) runs();
    else if (newState === State.Stopped || newState === State.StartFailed) ended();
  });
}

/**
 * Whether a command of the server's is left to our own way of asking: to show a question, and to answer it with anything but
 * no. Commands can be links in somebody else's document, and a yes is given only where the whole question is shown.
 */
function isQuestion(name: string, values: readonly unknown[]): boolean {
  if (name === "handrail.approval.show") return true;
  const [params] = values as [Partial<ApprovalAnswerParams>?];
  return name === "handrail.approval.answer" && params?.choice !== NO;
}

/** Shows the server's messages as plain text; the language client's own handlers would make links of what is in them. */
function presentMessages(client: LanguageClient): Disposable[] {
  const severity = (type: MessageType) => SEVERITIES[type] ?? "information";
  return [
    client.onNotification(ShowMessageNotification.type, ({ type, message }: ShowMessageParams) => {
      void showMessage(severity(type), message);
    }),
    client.onRequest(ShowMessageRequest.type, async ({ type, message, actions = [] }: ShowMessageRequestParams) => {
      const chosen = await showMessage(severity(type), message, ...actions.map(({ title }) => title));
      return actions.find(({ title }) => title === chosen) ?? null;
    }),
  ];
}
