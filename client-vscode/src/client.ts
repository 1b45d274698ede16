/**
 * The language client, set up for Handrail: quiet, because it is for the connection to tell the person what went wrong.
 */
import type { LogOutputChannel } from "vscode";
import {
  CloseAction,
  type ErrorHandler,
  type Executable,
  LanguageClient,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";

import { offersModels } from "./model";
import type { ClientOptions } from "./protocol";

class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A client for the server, not yet started. A server that ran and ended by itself is started again, a few times. */
export function createClient(server: Executable, log: LogOutputChannel): LanguageClient {
  const handrail: ClientOptions = { turnUpdates: true, services: offersModels() ? ["save", "model"] : ["save"] };
  let hasRun = false;
  const errorHandler: ErrorHandler = {
    error: (error, message, count) => usual.error(error, message, count),
    closed: () => (hasRun ? usual.closed() : { action: CloseAction.DoNotRestart }),
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
    },
  });
  const usual = client.createDefaultErrorHandler();
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) hasRun = true;
  });
  return client;
}
