/**
 * The conversation that the chat view shows, as the server tells it: read once, then kept true by its changes.
 *
 * A change that came before the answer to a reading is kept until then; one that is missing makes it be read again.
 */
import { type Disposable, EventEmitter, type Memento } from "vscode";

import type { Connection } from "../connection";
import { UserError } from "../messages";
import { CHAT_READ } from "../protocol";
import type { ChatChanged, ChatItem, ChatStatus, ChatTranscript } from "../protocol";

const LATEST = "handrail.chat.session"; // in the workspace's memory
const EMPTY: ChatStatus = { title: "", model: "", mode: "edit" };

export class Conversation implements Disposable {
  private session = "";
  private revision = -1;
  private items = new Map<string, ChatItem>();
  private now: ChatStatus = EMPTY;
  /** Changes that have come while it is being read. */
  private early: ChatChanged[] | undefined;
  private reading: Promise<void> | undefined;
  private opening: Promise<void> | undefined;
  private readonly wholes = new EventEmitter<void>();
  private readonly changes = new EventEmitter<ChatChanged>();
  private readonly subscription: Disposable;

  /** All of it is other than before. */
  readonly onDidRead = this.wholes.event;
  readonly onDidChange = this.changes.event;

  constructor(
    private readonly connection: Connection,
    private readonly memory: Memento,
  ) {
    this.subscription = connection.onChatChanged((change) => {
      this.take(change);
    });
  }

  /** Its session; empty before it was read. */
  get id(): string {
    return this.session;
  }

  get status(): ChatStatus {
    return this.now;
  }

  get all(): ChatItem[] {
    return [...this.items.values()];
  }

  /** A part of it. */
  item(id: string): ChatItem | undefined {
    return this.items.get(id);
  }

  /** Whether it is as the server has it. */
  get isKnown(): boolean {
    return this.revision >= 0;
  }

  /**
   * Reads the conversation of a session; without one, that which was shown last, or which is being read just now. Throws what
   * the server says.
   */
  open(session?: string): Promise<void> {
    if (session === undefined && this.opening !== undefined) return this.opening;
    const opening = (session === undefined ? this.readLatest() : this.read(session)).finally(() => {
      if (this.opening === opening) this.opening = undefined;
    });
    this.opening = opening;
    return opening;
  }

  /** Nothing is known any more: the server is gone. The session is kept, to be read from the next one. */
  forget(): void {
    this.revision = -1;
    this.early = undefined;
    if (this.now.running !== undefined) delete this.now.running;
  }

  dispose(): void {
    this.subscription.dispose();
    this.wholes.dispose();
    this.changes.dispose();
  }

  private async readLatest(): Promise<void> {
    const latest = this.session || this.memory.get<string>(LATEST);
    try {
      await this.read(latest);
    } catch (thrown) {
      if (latest === undefined || thrown instanceof UserError) throw thrown; // a server that is gone says nothing of it
      await this.read(undefined); // it is gone, or nothing was ever said in it
    }
  }

  private async read(session: string | undefined): Promise<void> {
    const early: ChatChanged[] = [];
    this.early = early;
    let found: ChatTranscript | undefined;
    try {
      found = await this.connection.request(CHAT_READ, session === undefined ? {} : { session });
    } finally {
      // Else it is read anew by now, or the server is gone. One that cannot be read leaves what is shown, which goes on.
      if (this.early === early) {
        this.early = undefined;
        if (found !== undefined) this.become(found);
        for (const change of early) this.take(change);
      }
    }
  }

  private become({ session, revision, status, items }: ChatTranscript): void {
    this.session = session;
    this.revision = revision;
    this.now = status;
    this.items = new Map(items.map((item) => [item.id, item]));
    void this.memory.update(LATEST, session);
    this.wholes.fire();
  }

  private take(change: ChatChanged): void {
    if (this.early !== undefined) {
      this.early.push(change);
      return;
    }
    if (change.session !== this.session || change.revision <= this.revision) return;
    if (change.revision > this.revision + 1) {
      this.reading ??= this.read(this.session).finally(() => (this.reading = undefined));
      this.reading.catch(() => undefined); // the connection tells of a server that is gone
      return;
    }
    this.revision = change.revision;
    this.now = change.status ?? this.now;
    this.items = changed(this.items, change);
    this.changes.fire(change);
  }
}

/** The items after a change. */
export function changed(items: Map<string, ChatItem>, { items: other, grown, removed, order }: ChatChanged): Map<string, ChatItem> {
  for (const id of removed ?? []) items.delete(id);
  for (const item of other ?? []) items.set(item.id, item);
  for (const { id, text } of grown ?? []) {
    const before = items.get(id);
    if (before?.kind === "words") items.set(id, { ...before, text: before.text + text });
  }
  if (order === undefined) return items;
  return new Map(order.flatMap((id) => (items.has(id) ? [[id, items.get(id)] as [string, ChatItem]] : [])));
}
