/**
 * Turns as the person starts, watches and stops them.
 *
 * The server decides what happens in a turn; here are the ways in, and the one message at the end.
 */
import * as path from "node:path";
import { commands, type Disposable, env, EventEmitter, l10n, type LogOutputChannel, type TextEditor, Uri, window } from "vscode";

import type { Connection } from "./connection";
import { announce, tell, type Way } from "./messages";
import { showInput } from "./present";
import { TURN_CANCEL, TURN_START, TURN_WAIT } from "./protocol";
import type { TurnContext, TurnReport, TurnStartParams, TurnUpdate } from "./protocol";
import { linesOf, rangeOf } from "./ranges";
import type { Restores } from "./restores";
import { summary } from "./summary";
import { ANSWER, type Texts } from "./texts";

export class Turns implements Disposable {
  /** What each running turn is doing, by its id. */
  private readonly running = new Map<string, string>();
  /** The turns that were begun here, whose ends are told here. */
  private readonly own = new Set<string>();
  private session: string | undefined;
  private readonly emitter = new EventEmitter<void>();
  private readonly subscriptions: Disposable[];

  readonly onDidChange = this.emitter.event;

  constructor(
    private readonly connection: Connection,
    private readonly restores: Restores,
    private readonly texts: Texts,
    private readonly log: LogOutputChannel,
  ) {
    this.subscriptions = [
      connection.onTurnUpdate((update) => {
        this.follow(update);
      }),
      connection.onDidChangeState((state) => {
        if (state !== "running") this.forget();
      }),
      restores.onDidGoBack((session) => {
        this.session = session;
      }),
    ];
  }

  /** What the latest running turn is doing; undefined when none runs. */
  get activity(): string | undefined {
    return [...this.running.values()].at(-1);
  }

  /** Whether the person is told here how a turn ended. */
  reports(turn: string): boolean {
    return this.own.has(turn);
  }

  /** Asks for a prompt and runs a turn with it; the active editor goes along as context. */
  async ask(): Promise<TurnReport | undefined> {
    const editor = window.activeTextEditor;
    const context = editor === undefined ? undefined : contextOf(editor);
    const prompt = await showInput({
      title: l10n.t("Handrail: Ask"),
      placeHolder: l10n.t("What should be done?"),
      prompt: context === undefined ? l10n.t("Without a document as context") : l10n.t("With {0} as context", describe(context)),
      ignoreFocusOut: true,
    });
    if (prompt === undefined || prompt.trim() === "") return undefined;
    return this.run({ prompt, ...(context === undefined ? {} : { context: [context] }) });
  }

  /** Applies the clipboard's text, a reply copied from any chat, as a turn. */
  async applyClipboard(): Promise<TurnReport | undefined> {
    const prompt = await env.clipboard.readText();
    if (prompt.trim() === "") {
      tell(l10n.t("the clipboard is empty. Copy a reply with edit blocks first."));
      return undefined;
    }
    return this.run({ prompt, pasted: true });
  }

  /** Cancels every running turn. */
  async stop(): Promise<void> {
    if (this.running.size === 0) {
      tell(l10n.t("nothing is running."));
      return;
    }
    const turns = [...this.running.keys()];
    await Promise.all(turns.map((turn) => this.connection.request(TURN_CANCEL, { turn })));
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
    this.emitter.dispose();
  }

  private async run(params: TurnStartParams): Promise<TurnReport> {
    const session = this.session;
    const { connection } = this;
    const started = await connection.request(TURN_START, { ...params, ...(session === undefined ? {} : { session }) });
    this.session = started.session;
    this.own.add(started.turn);
    if (!this.running.has(started.turn)) this.note(started.turn, l10n.t("starting")); // its updates may come first
    try {
      const report = await connection.request(TURN_WAIT, { turn: started.turn });
      this.announce(report);
      return report;
    } finally {
      this.end(started.turn);
    }
  }

  /** Says once how the turn ended, with the ways on. Does not wait for the person. */
  private announce(report: TurnReport): void {
    const { checkpoint, answer } = report;
    const hasFailed = report.outcomes.some(({ status }) => status === "failed");
    const ways: Way[] = [];
    if (hasFailed) ways.push([l10n.t("Show Problems"), () => commands.executeCommand("workbench.actions.view.problems")]);
    if (checkpoint !== null) ways.push([l10n.t("Undo This Turn's Changes"), () => this.restores.restore({ checkpoint })]);
    if (answer.trim() !== "") ways.push([l10n.t("Show Answer"), () => this.texts.show(ANSWER, answer)]);
    announce(this.log, summary(report), report.state === "finished" && !hasFailed, ways);
  }

  private follow({ turn, event }: TurnUpdate): void {
    if (event.kind === "started") this.note(turn, l10n.t("thinking"));
    else if (event.kind === "toolCall") this.note(turn, event.title);
    else if (event.kind === "ended") this.end(turn);
  }

  private note(turn: string, activity: string): void {
    this.running.set(turn, activity);
    this.changed();
  }

  private end(turn: string): void {
    if (this.running.delete(turn)) this.changed();
  }

  /** The server is gone, and its turns and sessions with it. */
  private forget(): void {
    this.session = undefined;
    this.running.clear();
    this.changed();
  }

  private changed(): void {
    void commands.executeCommand("setContext", "handrail.working", this.running.size > 0);
    this.emitter.fire();
  }
}

function contextOf({ document, selection }: TextEditor): TurnContext | undefined {
  if (document.uri.scheme !== "file" && document.uri.scheme !== "untitled") return undefined;
  const uri = document.uri.toString();
  if (selection.isEmpty) return { uri };
  return { uri, range: rangeOf(selection) };
}

function describe({ uri, range }: TurnContext): string {
  const name = path.posix.basename(Uri.parse(uri).path);
  return range === undefined ? name : l10n.t("{0}, {1}", name, linesOf(range));
}
