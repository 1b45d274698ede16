/**
 * The connection to the server: starts it, keeps it, and sends it typed requests.
 *
 * A server that ran and ended by itself is started again, each time with a new client, until it has ended too often within a
 * short time: then the person is told, and offered to start it once more. A start that failed is shown once. After either,
 * the next request tries again.
 */
import { setTimeout as pause } from "node:timers/promises";

import {
  type CancellationToken,
  type Disposable,
  EventEmitter,
  type ExtensionContext,
  l10n,
  type LogOutputChannel,
  workspace,
} from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { lacking, missingWith } from "./abilities";
import { Diagnostics } from "./diagnostics";
import { measure } from "./marks";
import { announce, listed, showFailure, UserError } from "./messages";
import { answerModel } from "./model";
import { answerName, answerSymbols } from "./names";
import * as protocol from "./protocol";
import { answerSave } from "./save";
import { answerSecret } from "./secrets";
import { SET_SERVER_PATH } from "./environment";
import { findServer } from "./server";

/** The requests that this client sends: params and result by method. */
export interface Requests {
  [protocol.TURN_START]: [protocol.TurnStartParams, protocol.TurnStartResult];
  [protocol.TURN_WAIT]: [protocol.TurnWaitParams, protocol.TurnReport];
  [protocol.TURN_CANCEL]: [protocol.TurnCancelParams, null];
  [protocol.CHECKPOINT_LIST]: [protocol.CheckpointListParams, protocol.Checkpoint[]];
  [protocol.CHECKPOINT_DIFF]: [protocol.CheckpointDiffParams, protocol.CheckpointDiff];
  [protocol.CHECKPOINT_RESTORE]: [protocol.CheckpointRestoreParams, protocol.RestoreReport];
  [protocol.CHECKPOINT_REDO]: [protocol.CheckpointRedoParams, protocol.RestoreReport];
  [protocol.CHECKPOINT_READ]: [protocol.CheckpointReadParams, protocol.CheckpointText];
  [protocol.APPROVAL_LIST]: [protocol.ApprovalListParams, protocol.Approval[]];
  [protocol.APPROVAL_ANSWER]: [protocol.ApprovalAnswerParams, null];
  [protocol.OUTPUT_SHOW]: [protocol.OutputShowParams, protocol.ServedDocument];
  [protocol.CHAT_OPEN]: [protocol.ChatOpenParams, protocol.ChatDocument];
  [protocol.CHAT_READ]: [protocol.ChatReadParams, protocol.ChatTranscript];
  [protocol.CHAT_SAY]: [protocol.ChatSayParams, protocol.ChatSaid];
  [protocol.CHAT_CHOOSE]: [protocol.ChatChooseParams, null];
  [protocol.CHAT_COMPLETE]: [protocol.ChatCompleteParams, protocol.ChatOffers];
  [protocol.CHAT_RESEND]: [protocol.ChatResendParams, protocol.ChatDocument];
  [protocol.COMMAND_INTERRUPT]: [protocol.CommandInterruptParams, null];
  [protocol.COMMAND_STOP]: [protocol.CommandStopParams, protocol.BackgroundCommand];
  [protocol.FAILURE_APPLY]: [protocol.FailureApplyParams, protocol.Outcome[]];
  [protocol.FAILURE_DIFF]: [protocol.FailureDiffParams, protocol.FailureDiff];
  [protocol.FAILURE_DISMISS]: [protocol.FailureDismissParams, null];
  [protocol.MODEL_LIST]: [protocol.ModelListParams, protocol.ModelInfo[]];
  [protocol.REVIEW_LIST]: [protocol.ReviewListParams, protocol.Hunk[]];
  [protocol.REVIEW_BASE]: [protocol.ReviewBaseParams, protocol.ReviewBase];
  [protocol.REVIEW_NEXT]: [protocol.ReviewStepParams, protocol.Hunk];
  [protocol.REVIEW_PREVIOUS]: [protocol.ReviewStepParams, protocol.Hunk];
  [protocol.REVIEW_OPEN]: [protocol.ReviewOpenParams, protocol.ServedDocument];
  [protocol.REVIEW_COMMENT]: [protocol.ReviewCommentParams, protocol.ReviewPlace];
  [protocol.REVIEW_COMMENTS]: [protocol.ReviewCommentsParams, protocol.ReviewComment[]];
  [protocol.REVIEW_EDIT]: [protocol.ReviewEditParams, null];
  [protocol.REVIEW_SEND]: [protocol.ReviewSendParams, protocol.ReviewSent];
  [protocol.REVIEW_KEEP]: [protocol.ReviewKeepParams, protocol.ReviewKept];
  [protocol.REVIEW_UNDO]: [protocol.ReviewUndoParams, protocol.ReviewUndone];
  [protocol.SESSION_DELETE]: [protocol.SessionDeleteParams, null];
  [protocol.SESSION_FORK]: [protocol.SessionForkParams, protocol.SessionForkResult];
  [protocol.SESSION_RENAME]: [protocol.SessionRenameParams, null];
  [protocol.SESSION_LIST]: [protocol.SessionListParams, protocol.SessionInfo[]];
  [protocol.RULES_LIST]: [protocol.RuleListParams, protocol.RuleInfo[]];
  [protocol.RULES_REMOVE]: [protocol.RuleRemoveParams, null];
  [protocol.TURN_APPLY]: [protocol.TurnApplyParams, protocol.TurnApplied];
  [protocol.MODEL_FORGET]: [protocol.ModelForgetParams, null];
  [protocol.WORKSPACE_TRUST]: [protocol.WorkspaceTrustParams, null];
}

const NAME_COMMANDS = [
  [protocol.CLIENT_DEFINITION, "vscode.executeDefinitionProvider"],
  [protocol.CLIENT_REFERENCES, "vscode.executeReferenceProvider"],
] as const;

const TOO_OLD = l10n.t(
  "This server is too old for a workspace that you have not trusted. Trust the workspace, or clear the setting handrail.serverPath.",
);
const GIVEN_UP = l10n.t("The server ended several times within a short time, so it was not restarted.");
const NOT_STARTED = l10n.t("The server could not be started. The log may say why.");

type Library = typeof import("./client");

export type ConnectionState = "starting" | "running" | "stopped";

/** A server that ends more often than this within the window is not started again by itself. */
const MOST_CRASHES = 4;
const CRASH_WINDOW_MS = 3 * 60 * 1000;

/** So long a server that is to be stopped may still take to start. */
const LONGEST_START_MS = 10_000;

/** The code of JSON-RPC for a request that the server does not know. */
const METHOD_NOT_FOUND = -32601;

/** The server ended, or failed, while it was starting. */
class EndedEarly extends UserError {}

/** The server was stopped while it was starting: nothing to tell anyone. */
class Stopped extends UserError {
  constructor() {
    super(l10n.t("The server was stopped."));
  }
}

export class Connection implements Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient> | undefined;
  /** When the server ended by itself, of late. */
  private crashes: number[] = [];
  /** How often the person or VS Code ended the server: a start that was begun before is void. */
  private stops = 0;
  /** What the person was told that the server cannot do. */
  private missing = "";
  private readonly stateEmitter = new EventEmitter<ConnectionState>();
  private readonly updateEmitter = new EventEmitter<protocol.TurnUpdate>();
  private readonly questionEmitter = new EventEmitter<protocol.Approval>();
  private readonly questionEndEmitter = new EventEmitter<protocol.ApprovalEndedParams>();
  private readonly chatEmitter = new EventEmitter<protocol.ChatChanged>();
  private readonly diagnostics = new Diagnostics();

  private readonly reviewEmitter = new EventEmitter<protocol.ReviewChanged>();
  private readonly subscription: Disposable;

  readonly onDidChangeState = this.stateEmitter.event;
  readonly onTurnUpdate = this.updateEmitter.event;
  readonly onQuestion = this.questionEmitter.event;
  readonly onQuestionEnd = this.questionEndEmitter.event;
  readonly onChatChanged = this.chatEmitter.event;
  readonly onReviewChanged = this.reviewEmitter.event;

  constructor(
    private readonly context: ExtensionContext,
    private readonly log: LogOutputChannel,
  ) {
    this.subscription = workspace.onDidGrantWorkspaceTrust(() => this.tellTrust());
  }

  /** Whether the server runs. */
  get isRunning(): boolean {
    return this.client?.isRunning() === true;
  }

  /** Starts the server if it is not running. Calls during a start wait for the same one. */
  start(): Promise<LanguageClient> {
    return this.starting ?? this.begin(this.launch());
  }

  /** Starts the server, showing what goes wrong instead of throwing it. */
  async startShown(): Promise<void> {
    try {
      await this.start();
    } catch (thrown) {
      this.showFailure("Starting the server failed", thrown);
    }
  }

  /** Ends the server and starts it anew; while one is being installed, waits for that. */
  async restart(): Promise<void> {
    if (this.client !== undefined) await this.stop();
    this.crashes = [];
    await this.startShown();
  }

  /** Ends the server, if it runs; the next request starts it again. */
  async stop(): Promise<void> {
    this.stops += 1;
    this.starting = undefined;
    await this.discard();
  }

  /** Sends a request, starting the server first if needed. Throws what the server answers as an error. */
  async request<M extends keyof Requests>(method: M, params: Requests[M][0], token?: CancellationToken): Promise<Requests[M][1]> {
    const client = await this.start();
    if (requestsOf(client)?.includes(method) === false) throw lacking(method);
    try {
      if (token === undefined) return await client.sendRequest<Requests[M][1]>(method, params);
      return await client.sendRequest<Requests[M][1]>(method, params, token);
    } catch (thrown) {
      if (thrown instanceof Error && "code" in thrown && thrown.code === METHOD_NOT_FOUND) throw lacking(method);
      if (client.isRunning()) throw thrown;
      throw new UserError(l10n.t("The server ended before it answered. If a turn was running, you can undo its changes with “Handrail: Restore Checkpoint…”."));
    }
  }

  /** Whether the server that runs answers a request; an older one may not. */
  offers(method: keyof Requests): boolean {
    return requestsOf(this.client)?.includes(method) === true;
  }

  dispose(): void {
    this.subscription.dispose();
    this.stateEmitter.dispose();
    this.updateEmitter.dispose();
    this.questionEmitter.dispose();
    this.questionEndEmitter.dispose();
    this.chatEmitter.dispose();
    this.diagnostics.dispose();
    this.reviewEmitter.dispose();
  }

  /** Makes a start the one that everyone waits for. */
  private begin(starting: Promise<LanguageClient>): Promise<LanguageClient> {
    this.starting = starting;
    starting.catch(() => {
      if (this.starting !== starting) return;
      this.starting = undefined;
      this.stateEmitter.fire("stopped");
    });
    return starting;
  }

  private async launch(): Promise<LanguageClient> {
    const { stops } = this;
    this.stateEmitter.fire("starting");
    const server = await findServer(this.context, this.log);
    const library = await import("./client");
    if (this.stops !== stops) throw new Stopped();
    const client = library.createClient(server, this.log, this.diagnostics.publish);
    this.serve(client, library);
    this.client = client;
    const { isTrusted } = workspace;
    const begun = performance.now();
    try {
      await this.run(client, library);
      measure("server", begun);
      if (!isTrusted && !this.offers(protocol.WORKSPACE_TRUST)) throw new UserError(TOO_OLD);
    } catch (thrown) {
      this.log.error("The client could not be started", thrown);
      if (this.stops !== stops) throw new Stopped();
      await this.discard();
      throw thrown instanceof UserError ? thrown : new EndedEarly(NOT_STARTED);
    }
    this.tellMissing(client);
    if (isTrusted !== workspace.isTrusted) await client.sendRequest(protocol.WORKSPACE_TRUST, {});
    return client;
  }

  /** Tells the person once what an older server cannot do. */
  private tellMissing(client: LanguageClient): void {
    const missing = listed(missingWith(requestsOf(client) ?? []));
    if (missing === "" || missing === this.missing) return;
    this.missing = missing;
    const text = l10n.t("This Handrail server is older than the extension. Until you update it, or clear the setting handrail.serverPath, these do not work, or only in part: {0}.", missing);
    announce(this.log, text, false, [SET_SERVER_PATH]);
  }

  /** Tells the server that runs that the workspace is trusted now; one that is started later knows. */
  private async tellTrust(): Promise<void> {
    if (!this.isRunning) return;
    try {
      await this.request(protocol.WORKSPACE_TRUST, {});
    } catch (thrown) {
      this.showFailure("The server was not told that the workspace is trusted", thrown);
    }
  }

  /** Answers what the server asks of its client. */
  private serve(client: LanguageClient, { sendText, whileRunning }: Library): void {
    client.onNotification(protocol.TURN_UPDATE, (update: protocol.TurnUpdate) => {
      this.updateEmitter.fire(update);
    });
    client.onRequest(protocol.APPROVAL_REQUEST, (question: protocol.ApprovalRequestParams) => {
      this.questionEmitter.fire(question);
      return null; // no answer: that is sent when the person gives it
    });
    client.onNotification(protocol.APPROVAL_ENDED, (end: protocol.ApprovalEndedParams) => {
      this.questionEndEmitter.fire(end);
    });
    client.onNotification(protocol.CHAT_CHANGED, (change: protocol.ChatChanged) => {
      this.chatEmitter.fire(change);
    });
    client.onNotification(protocol.REVIEW_CHANGED, (change: protocol.ReviewChanged) => {
      this.reviewEmitter.fire(change);
    });
    client.onRequest(protocol.CLIENT_SAVE, (params: protocol.SaveParams) => answerSave(params, client));
    client.onNotification(protocol.CLIENT_RELOAD, () => {
      // VS Code itself loads documents again that have no unsaved text.
    });
    for (const [method, command] of NAME_COMMANDS) {
      client.onRequest(method, (params: protocol.NameParams) => answerName(command, params, client));
    }
    client.onRequest(protocol.CLIENT_SYMBOLS, (params: protocol.SymbolsParams) => answerSymbols(params, client));
    client.onRequest(protocol.CLIENT_DIAGNOSTICS, (params: protocol.DiagnosticsParams) => this.diagnostics.answer(params, client));
    client.onRequest(protocol.CLIENT_SECRET, (params: protocol.SecretParams) => answerSecret(this.context.secrets, params, this.log));
    client.onRequest(protocol.CLIENT_MODEL, (params: protocol.ModelParams, given: CancellationToken) =>
      whileRunning(client, given, (token) =>
        answerModel(params, token, (delta) => {
          void sendText(client, params.partialResultToken, delta);
        }),
      ),
    );
  }

  /** Starts the client and follows its state until it ends, which it does once and for all. */
  private async run(client: LanguageClient, { followState }: Library): Promise<void> {
    let hasRun = false;
    const isOurs = () => this.client === client; // else we ended it
    const ended = new Promise<never>((_, reject) => {
      followState(
        client,
        () => {
          if (isOurs()) this.stateEmitter.fire("running");
        },
        () => {
          reject(new EndedEarly(NOT_STARTED));
          if (isOurs() && hasRun) this.startAgain();
        },
      );
    });
    ended.catch(() => undefined); // awaited only during the start
    await Promise.race([client.start(), ended]);
    hasRun = true;
  }

  /** The server ended by itself: begins anew, unless that happened too often. */
  private startAgain(): void {
    const starting = this.relaunch();
    void this.begin(starting);
    starting.catch((thrown: unknown) => {
      this.showFailure("The server is gone", thrown);
    });
  }

  private async relaunch(): Promise<LanguageClient> {
    for (;;) {
      const now = Date.now();
      this.crashes = [...this.crashes.filter((time) => now - time < CRASH_WINDOW_MS), now];
      this.log.warn(`The server ended by itself (crash ${this.crashes.length} within three minutes)`);
      await this.discard();
      if (this.crashes.length > MOST_CRASHES) throw new UserError(GIVEN_UP);
      try {
        return await this.launch();
      } catch (thrown) {
        if (!(thrown instanceof EndedEarly)) throw thrown;
      }
    }
  }

  private showFailure(doing: string, thrown: unknown): void {
    if (thrown instanceof Stopped) return;
    showFailure(this.log, doing, thrown, [[l10n.t("Restart Server"), () => this.restart()]]);
  }

  private async discard(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      // One that is starting cannot be stopped: it would go on, and keep the commands that it registers.
      if (client?.needsStop() === true && !client.isRunning()) await Promise.race([client.start(), pause(LONGEST_START_MS)]);
      await client?.dispose();
    } catch (thrown) {
      this.log.warn("The server was gone before it could be stopped", thrown);
    }
  }
}

/** The requests that a server says it answers; undefined if it does not say. */
function requestsOf(client: LanguageClient | undefined): readonly string[] | undefined {
  const experimental = client?.initializeResult?.capabilities.experimental as { handrail?: { requests?: unknown } } | undefined;
  const requests = experimental?.handrail?.requests;
  return Array.isArray(requests) ? requests.map(String) : undefined;
}
