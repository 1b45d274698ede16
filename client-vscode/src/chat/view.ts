/**
 * The chat view: a page beside the editor that shows a conversation and sends what the person does in it.
 *
 * It decides nothing. The page runs one script of ours and loads nothing else; what it shows are texts, never HTML. What it
 * sends is read strictly, and names things by ids that are looked up here: no address or command comes from a text.
 */
import { randomBytes } from "node:crypto";
import {
  commands,
  ConfigurationTarget,
  type Disposable,
  env,
  EventEmitter,
  type ExtensionContext,
  l10n,
  type LogOutputChannel,
  Selection,
  Uri,
  type Webview,
  type WebviewView,
  type WebviewViewProvider,
  window,
  workspace,
} from "vscode";

import type { Connection } from "../connection";
import { counted, messageOf, showFailure, UserError } from "../messages";
import { BACK, pick } from "../pick";
import * as protocol from "../protocol";
import type { Restores } from "../restores";
import { baseOf } from "../review/base";
import { OUTPUT, type Texts } from "../texts";
import { Conversation } from "./conversation";
import { applying, mentionsOf } from "./mentions";
import { type Attempted, type FromView, isWebAddress, readMessage, type ToView } from "./messages";
import { Sessions } from "./sessions";

export const VIEW = "handrail.client.chat";
const FOLLOW = "handrail.follow";

type Handlers = { [T in FromView["type"]]: (message: Extract<FromView, { type: T }>) => unknown };

export class ChatView implements WebviewViewProvider, Disposable {
  private view: WebviewView | undefined;
  private readonly sight = new EventEmitter<void>();

  /** What stands in front of the person may be something else now. */
  readonly onDidChangeSight = this.sight.event;

  private readonly conversation: Conversation;
  private readonly sessions: Sessions;
  /** Messages of which the page does not know yet that they were sent. */
  private readonly unheard: string[] = [];
  private readonly subscriptions: Disposable[];

  constructor(
    private readonly context: ExtensionContext,
    private readonly connection: Connection,
    private readonly restores: Restores,
    private readonly texts: Texts,
    private readonly log: LogOutputChannel,
  ) {
    this.conversation = new Conversation(connection, context.workspaceState);
    this.sessions = new Sessions(connection, (session) => this.leave(session));
    this.subscriptions = [
      this.conversation.onDidRead(() => {
        this.showWhole();
        this.sight.fire();
      }),
      this.conversation.onDidChange((change) => {
        void this.post({ type: "change", change });
        this.showBadge();
      }),
      window.onDidChangeWindowState(() => {
        this.sight.fire();
      }),
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(FOLLOW)) this.showFollow();
      }),
      connection.onDidChangeState((state) => {
        void this.post({ type: "server", state });
        if (state === "running" && this.view !== undefined) void this.attempt("reading", CANNOT_READ, () => this.conversation.open());
        else if (state !== "running") this.conversation.forget();
      }),
      window.registerWebviewViewProvider(VIEW, this),
    ];
  }

  resolveWebviewView(view: WebviewView): void {
    this.view = view;
    const own = Uri.joinPath(this.context.extensionUri, "out");
    view.webview.options = { enableScripts: true, enableCommandUris: false, localResourceRoots: [own] };
    view.webview.onDidReceiveMessage((value: unknown) => this.receive(value));
    view.onDidChangeVisibility(() => {
      this.sight.fire();
    });
    view.onDidDispose(() => {
      if (this.view === view) this.view = undefined;
      this.sight.fire();
    });
    view.webview.html = page(view.webview, own);
  }

  /** The session of the conversation that is shown; empty before one was read. */
  get session(): string {
    return this.conversation.id;
  }

  /** Whether a conversation is in front of the person. */
  shows(session: string): boolean {
    return this.view?.visible === true && window.state.focused && this.conversation.id === session;
  }

  /** Brings the view to the front. */
  async show(): Promise<void> {
    await commands.executeCommand(`${VIEW}.focus`);
  }

  /** The way in for others that have something said in the conversation. */
  readonly door = {
    session: async () => {
      if (!this.conversation.isKnown) await this.conversation.open();
      return this.conversation.id;
    },
    open: async (session: string) => {
      if (session !== this.conversation.id) await this.conversation.open(session);
    },
  };

  /** Begins another conversation. */
  async begin(): Promise<void> {
    await this.show();
    if (!this.conversation.isKnown) await this.conversation.open();
    const { session } = await this.connection.request(protocol.CHAT_SAY, { session: this.conversation.id, text: "/new" });
    await this.conversation.open(session);
  }

  /** Lets the person choose a conversation, and shows it; or rename or delete one. */
  async choose(): Promise<void> {
    const chosen = await this.sessions.choose();
    if (chosen === undefined) return;
    await this.showSession(chosen);
  }

  /** Brings a conversation to the front. */
  async showSession(session: string): Promise<void> {
    await this.show();
    await this.conversation.open(session);
  }

  /** Lets the person give the conversation that is shown another title. */
  async rename(): Promise<void> {
    if (!this.conversation.isKnown) await this.conversation.open();
    await this.sessions.rename({ session: this.conversation.id, title: this.conversation.status.title });
  }

  /** Deletes the conversation that is shown, if the person confirms that. */
  async remove(): Promise<void> {
    if (!this.conversation.isKnown) await this.conversation.open();
    await this.sessions.remove({ session: this.conversation.id, title: this.conversation.status.title });
  }

  /** Opens the same conversation as a document. */
  async openDocument(): Promise<void> {
    if (!this.conversation.isKnown) await this.conversation.open();
    const { uri, line } = await this.connection.request(protocol.CHAT_OPEN, { session: this.conversation.id });
    const document = await workspace.openTextDocument(Uri.parse(uri));
    await window.showTextDocument(document, { selection: new Selection(line, 0, line, 0), preview: false });
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
    this.conversation.dispose();
    this.sight.dispose();
  }

  /** What is done for each message. */
  private readonly handlers: Handlers = {
    ready: () => this.greet(),
    say: ({ text, queue, pictures }) => this.say(text, { queue, ...(pictures.length === 0 ? {} : { images: pictures }) }),
    applyCode: ({ text, language }) => this.connection.request(protocol.CHAT_SAY, { session: this.conversation.id, text: applying(text, language), mode: "edit" }),
    mention: ({ uris }) => {
      void this.post({ type: "mentioned", text: mentionsOf(uris) });
    },
    follow: ({ isOn }) => workspace.getConfiguration().update(FOLLOW, isOn, ConfigurationTarget.Global),
    fork: ({ turn }) => this.fork(turn),
    complete: async ({ before, number }) => {
      void this.post({ type: "offers", number, offers: await this.connection.request(protocol.CHAT_COMPLETE, { before }) });
    },
    plan: () => this.say(this.conversation.status.plan ?? "", { mode: "edit" }),
    stop: () => this.stop(),
    models: () => this.chooseModel(),
    mode: ({ mode }) => this.connection.request(protocol.CHAT_CHOOSE, { session: this.conversation.id, mode }),
    answer: ({ approval, choice }) => this.connection.request(protocol.APPROVAL_ANSWER, { approval, choice }),
    output: async ({ call }) => {
      const { text } = await this.connection.request(protocol.OUTPUT_SHOW, { call });
      await this.texts.show(OUTPUT, text);
    },
    interrupt: ({ call }) => this.connection.request(protocol.COMMAND_INTERRUPT, { session: this.conversation.id, call }),
    session: ({ session }) => this.conversation.open(session),
    end: ({ command }) => this.connection.request(protocol.COMMAND_STOP, { command }),
    place: ({ item }) => openPlace(this.callOf(item)),
    hunk: ({ item, hunk }) => openPlace(this.callOf(item)?.hunks?.find(({ id }) => id === hunk)),
    keep: ({ hunk }) => this.connection.request(protocol.REVIEW_KEEP, { hunks: [hunk] }),
    revert: ({ hunk }) => this.undo(hunk),
    link: ({ address }) => (isWebAddress(address) ? env.openExternal(Uri.parse(address, true)) : undefined),
    copy: ({ text }) => env.clipboard.writeText(text),
    resend: ({ turn, text }) => this.resend(turn, text),
    undo: ({ turn }) => this.restores.restore({ checkpoint: turn }),
    apply: ({ failure, candidate }) => this.connection.request(protocol.FAILURE_APPLY, { failure, candidate }),
    compare: async ({ failure }) => {
      const { text } = await this.connection.request(protocol.FAILURE_DIFF, { failure });
      await this.texts.show(`${l10n.t("edit")}.diff`, text);
    },
    dismiss: ({ failure }) => this.connection.request(protocol.FAILURE_DISMISS, { failure }),
  };

  private async receive(value: unknown): Promise<void> {
    const message = readMessage(value);
    if (message === undefined) {
      this.log.warn("The chat view sent something that is not a message");
      return;
    }
    const handle = this.handlers[message.type] as (message: FromView) => unknown;
    const about = ABOUT[message.type] ?? "doing";
    await this.attempt(about, FAILED[message.type] ?? l10n.t("That could not be done"), () => handle(message));
  }

  /** Does something, and has the view say what went wrong. */
  private async attempt(about: Attempted, doing: string, action: () => unknown): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      this.log.warn(doing, thrown);
      const text = messageOf(thrown);
      if (!(await this.post({ type: "failed", about, doing, text }))) showFailure(this.log, doing, new UserError(l10n.t("{0}: {1}", doing, text)));
    }
  }

  private async greet(): Promise<void> {
    void this.post({ type: "server", state: this.connection.isRunning ? "running" : "starting" });
    this.showFollow();
    for (const text of this.unheard.splice(0)) void this.post({ type: "said", text });
    if (this.conversation.isKnown) this.showWhole();
    else await this.conversation.open();
  }

  private async say(text: string, more: Omit<protocol.ChatSayParams, "session" | "text">): Promise<void> {
    const { session } = await this.connection.request(protocol.CHAT_SAY, { session: this.conversation.id, text, ...more });
    void this.told(text);
    if (session !== this.conversation.id) await this.conversation.open(session);
  }

  private async stop(): Promise<void> {
    const { running } = this.conversation.status;
    if (running !== undefined) await this.connection.request(protocol.TURN_CANCEL, { turn: running });
  }

  private async chooseModel(): Promise<void> {
    const models = await this.connection.request(protocol.MODEL_LIST, {});
    const items = models.map(({ model, title, current }) => {
      return { model, current, label: title ?? model, ...(title === undefined ? {} : { description: model }) };
    });
    const active = items.find(({ current }) => current);
    const chosen = await pick(items, { title: l10n.t("Handrail: Model"), placeholder: l10n.t("The model that answers from the next turn on"), active });
    if (chosen === undefined || chosen === BACK) return;
    await this.connection.request(protocol.CHAT_CHOOSE, { session: this.conversation.id, model: chosen.model });
  }

  private callOf(item: string): protocol.ChatCall | undefined {
    const found = this.conversation.item(item);
    return found?.kind === "call" ? found : undefined;
  }

  private async undo(hunk: string): Promise<void> {
    const { conflicts } = await this.connection.request(protocol.REVIEW_UNDO, { hunks: [hunk] });
    if (conflicts.length > 0) throw new UserError(conflicts.map(({ reason }) => reason).join(" "));
  }

  private async fork(turn: string): Promise<void> {
    const { session } = await this.connection.request(protocol.SESSION_FORK, { session: this.conversation.id, turn });
    await this.conversation.open(session);
  }

  /** Shows another conversation, if this one is to be deleted. */
  private async leave(session: string): Promise<void> {
    if (this.conversation.id === session) await this.begin();
  }

  private async resend(turn: string, text: string): Promise<void> {
    const { session } = await this.connection.request(protocol.CHAT_RESEND, { session: this.conversation.id, turn, text });
    void this.told(text);
    await this.conversation.open(session);
  }

  private showWhole(): void {
    const { id, status, all } = this.conversation;
    void this.post({ type: "whole", session: id, status, items: all });
    this.showBadge();
  }

  private showFollow(): void {
    void this.post({ type: "follow", isOn: workspace.getConfiguration().get<boolean>(FOLLOW) === true });
  }

  /** The view's icon tells of questions that wait in it. */
  private showBadge(): void {
    if (this.view === undefined) return;
    const waiting = this.conversation.all.filter((item) => item.kind === "question" && item.approval !== undefined).length;
    this.view.badge = waiting === 0 ? undefined : { value: waiting, tooltip: counted(waiting, l10n.t("1 question to answer"), l10n.t("{0} questions to answer", waiting)) };
  }

  /** Tells the page that a message was sent; one that is not there is told when it is: it has kept the message as a draft. */
  private async told(text: string): Promise<void> {
    if (!(await this.post({ type: "said", text }))) this.unheard.push(text);
  }

  /** Returns whether the page is there. One that is hidden is not. */
  private async post(message: ToView): Promise<boolean> {
    return (await this.view?.webview.postMessage(message)) ?? false;
  }
}

/** Opens a place in whatever editor the file has: it may not be text. A document that a turn deleted is shown as it was. */
async function openPlace(place: { uri?: string; line?: number; kind?: string } | undefined): Promise<void> {
  if (place?.uri === undefined) return;
  const [uri, line] = [Uri.parse(place.uri), place.line ?? 0];
  await commands.executeCommand("vscode.open", place.kind === "deleted" ? baseOf(uri) : uri, { selection: new Selection(line, 0, line, 0) });
}

const CANNOT_READ = l10n.t("The conversation cannot be read");

/** What is complained about only until it succeeds. */
const ABOUT: Partial<Record<FromView["type"], Attempted>> = { ready: "reading", session: "reading", complete: "completing" };

/** What could not be done, where a text of the person's depends on it. */
const FAILED: Partial<Record<FromView["type"], string>> = {
  ready: CANNOT_READ,
  session: CANNOT_READ,
  say: l10n.t("Your message was not sent"),
  applyCode: l10n.t("The code was not applied"),
  mention: l10n.t("The files cannot be mentioned"),
  fork: l10n.t("The conversation was not forked"),
  resend: l10n.t("Your message was not sent"),
  answer: l10n.t("The question was not answered"),
  revert: l10n.t("The change was not undone"),
};

/** The page. It may run the one script that carries the nonce; images, fonts, frames and connections have no source. */
function page(webview: Webview, own: Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const address = (name: string) => webview.asWebviewUri(Uri.joinPath(own, name)).toString();
  // eslint-disable-next-line l10n/translated -- directives
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; form-action 'none'; base-uri 'none'`;
  // eslint-disable-next-line l10n/translated -- a page without words
  return `<!DOCTYPE html>
<html lang="${languageOf()}" data-l10n="${attribute(JSON.stringify(l10n.bundle ?? {}))}">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Handrail</title>
<link rel="stylesheet" href="${address("chat.css")}">
</head>
<body>
<div id="handrail-chat"></div>
<script nonce="${nonce}" src="${address("chat.js")}"></script>
</body>
</html>`;
}

/** The language of our words: English, unless there is a translation. */
function languageOf(): string {
  return l10n.bundle === undefined ? "en" : attribute(env.language);
}

/** A text as the value of an attribute. */
function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
