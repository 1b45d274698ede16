/**
 * The connection to the server: starts it, keeps it, and sends it typed requests.
 *
 * A start that failed is shown once; the next request tries again.
 */
import { type CancellationToken, type Disposable, EventEmitter, type ExtensionContext, type LogOutputChannel } from "vscode";
import { type LanguageClient, ProgressType, State } from "vscode-languageclient/node";

import { createClient } from "./client";
import { showFailure, UserError } from "./messages";
import { answerModel } from "./model";
import * as protocol from "./protocol";
import { answerSave } from "./save";
import { findServer } from "./server";

/** The requests that this client sends: params and result by method. */
export interface Requests {
  [protocol.TURN_START]: [protocol.TurnStartParams, protocol.TurnStartResult];
  [protocol.TURN_WAIT]: [protocol.TurnWaitParams, protocol.TurnReport];
  [protocol.TURN_CANCEL]: [protocol.TurnCancelParams, null];
  [protocol.CHECKPOINT_LIST]: [protocol.CheckpointListParams, protocol.Checkpoint[]];
  [protocol.CHECKPOINT_DIFF]: [protocol.CheckpointDiffParams, protocol.CheckpointDiff];
  [protocol.CHECKPOINT_RESTORE]: [protocol.CheckpointRestoreParams, protocol.RestoreReport];
}

const MODEL_TEXT = new ProgressType<{ delta: string }>();

export type ConnectionState = "starting" | "running" | "stopped";

const STATES: Record<State, ConnectionState> = {
  [State.Stopped]: "stopped",
  [State.Starting]: "starting",
  [State.Running]: "running",
  [State.StartFailed]: "stopped",
};

const GIVEN_UP = "The server ended several times in a row, so it was not started again. “Handrail: Restart Server” tries once more.";

export class Connection implements Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient> | undefined;
  private readonly stateEmitter = new EventEmitter<ConnectionState>();
  private readonly updateEmitter = new EventEmitter<protocol.TurnUpdate>();

  readonly onDidChangeState = this.stateEmitter.event;
  readonly onTurnUpdate = this.updateEmitter.event;

  constructor(
    private readonly context: ExtensionContext,
    private readonly log: LogOutputChannel,
  ) {}

  /** Starts the server if it is not running. Whoever calls meanwhile waits for the same start. */
  start(): Promise<LanguageClient> {
    if (this.starting !== undefined) return this.starting;
    const starting = this.launch();
    this.starting = starting;
    starting.catch(() => {
      if (this.starting !== starting) return;
      this.starting = undefined;
      this.stateEmitter.fire("stopped");
    });
    return starting;
  }

  /** Starts the server, showing what goes wrong instead of throwing it. */
  async startShown(): Promise<void> {
    try {
      await this.start();
    } catch (thrown) {
      showFailure(this.log, "Starting the server failed", thrown);
    }
  }

  /** Ends the server and starts it anew; while one is being installed, waits for that. */
  async restart(): Promise<void> {
    if (this.client !== undefined) await this.stop();
    await this.startShown();
  }

  /** Ends the server, if it runs; the next request starts it again. */
  async stop(): Promise<void> {
    this.starting = undefined;
    await this.discard();
  }

  /** Sends a request, starting the server first if needed. Throws what the server answers as an error. */
  async request<M extends keyof Requests>(method: M, params: Requests[M][0]): Promise<Requests[M][1]> {
    const client = await this.start();
    try {
      return await client.sendRequest<Requests[M][1]>(method, params);
    } catch (thrown) {
      if (client.state === State.Running) throw thrown;
      throw new UserError("The server ended before it answered. What it did until then is in the last checkpoint.");
    }
  }

  dispose(): void {
    this.stateEmitter.dispose();
    this.updateEmitter.dispose();
  }

  private async launch(): Promise<LanguageClient> {
    this.stateEmitter.fire("starting");
    const server = await findServer(this.context, this.log);
    const client = createClient(server, this.log);
    client.onNotification(protocol.TURN_UPDATE, (update: protocol.TurnUpdate) => {
      this.updateEmitter.fire(update);
    });
    client.onRequest(protocol.CLIENT_SAVE, (params: protocol.SaveParams) => answerSave(params, client));
    client.onRequest(protocol.CLIENT_MODEL, (params: protocol.ModelParams, token: CancellationToken) =>
      answerModel(params, token, (delta) => {
        void client.sendProgress(MODEL_TEXT, params.partialResultToken, { delta });
      }),
    );
    this.client = client;
    try {
      await this.run(client);
    } catch (thrown) {
      this.log.error("The client could not be started", thrown);
      throw new UserError("The server could not be started. The log may say why.");
    }
    return client;
  }

  /** Starts the client and follows its state from then on. */
  private async run(client: LanguageClient): Promise<void> {
    let hasRun = false;
    const ended = new Promise<never>((_, reject) => {
      client.onDidChangeState(({ newState }) => {
        const state = STATES[newState];
        if (state === "stopped") reject(new Error("It ended while it was starting."));
        if (this.client !== client) return; // we ended it
        this.stateEmitter.fire(state);
        if (state !== "stopped") return;
        this.client = undefined;
        this.starting = undefined;
        if (hasRun) showFailure(this.log, "The server is gone", new UserError(GIVEN_UP));
      });
    });
    await Promise.race([client.start(), ended]);
    hasRun = true;
  }

  private async discard(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (thrown) {
      this.log.warn("The server was gone before it could be stopped", thrown);
    }
  }
}
