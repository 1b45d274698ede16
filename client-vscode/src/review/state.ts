/**
 * What is pending, as the server last said: the one state that everything in this folder shows.
 *
 * It is read anew only when the server says that something has changed, and then only of the documents that changed.
 * A keystroke costs nothing here: while there is typing, VS Code moves what it shows by itself.
 */
import { commands, type Disposable, EventEmitter, l10n, type LogOutputChannel, Uri } from "vscode";

import type { Connection } from "../connection";
import { messageOf } from "../messages";
import { CHECKPOINT_LIST, type Hunk, REVIEW_LIST } from "../protocol";

/** Context keys: whether anything is pending, and the paths of documents in which something is. */
const PENDING = "handrail.pending";
const PENDING_PATHS = "handrail.pendingPaths";

/** More documents than this that change at once are read with one request. */
const MOST_SINGLE = 3;

/** The documents that have changed, by `keyOf`; or all. */
export type Changed = ReadonlySet<string> | "all";

/** How documents are named here, however the server spells their URIs. */
export function keyOf(uri: Uri | string): string {
  return typeof uri === "string" ? Uri.parse(uri).toString() : uri.toString();
}

export class Pending implements Disposable {
  private readonly byDocument = new Map<string, readonly Hunk[]>();
  /** What turns are called, the first one first. */
  private readonly labels = new Map<string, string>();
  private readonly emitter = new EventEmitter<Changed>();
  private readonly subscriptions: Disposable[];
  /** What is to be read, and is not being read yet. */
  private wanted: Set<string> | "all" | undefined;
  private isReading = false;
  private paths = "";
  /** Why it is not known what is pending; empty if it is. */
  private why = "";

  /** Fires with the documents in which something has changed. */
  readonly onDidChange = this.emitter.event;

  constructor(
    private readonly connection: Connection,
    private readonly log: LogOutputChannel,
  ) {
    this.subscriptions = [
      connection.onReviewChanged(({ uris }) => {
        this.want(uris);
      }),
      connection.onDidChangeState((state) => {
        if (state === "running") this.want("all");
        else if (state === "stopped") {
          this.why = l10n.t("The server is not running.");
          this.take("all", []);
        }
      }),
    ];
  }

  /** All that is pending, by the documents' paths and then by place. */
  get all(): Hunk[] {
    const keys = [...this.byDocument.keys()].sort((one, other) => one.localeCompare(other));
    return keys.flatMap((key) => this.byDocument.get(key) ?? []);
  }

  /** Why it is not known what is pending; empty if it is. */
  get failure(): string {
    return this.why;
  }

  get count(): number {
    return [...this.byDocument.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** What is pending in a document, from its first row to its last. */
  of(uri: Uri | string): readonly Hunk[] {
    return this.byDocument.get(keyOf(uri)) ?? [];
  }

  /** The turns that have changes, the first one first. A change of several turns counts for the last of them. */
  get turns(): Map<string, Hunk[]> {
    const turns = new Map<string, Hunk[]>([...this.labels.keys()].map((turn) => [turn, []]));
    for (const hunk of this.all) {
      const turn = hunk.turns.at(-1) ?? "";
      turns.set(turn, [...(turns.get(turn) ?? []), hunk]);
    }
    return new Map([...turns].filter(([, hunks]) => hunks.length > 0));
  }

  /** What a turn is called. */
  labelOf(turn: string): string {
    return this.labels.get(turn) ?? "";
  }

  dispose(): void {
    this.emitter.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  private want(uris: readonly string[] | "all"): void {
    if (uris === "all" || this.wanted === "all") this.wanted = "all";
    else this.wanted = new Set([...(this.wanted ?? []), ...uris]);
    if (!this.isReading) void this.read();
  }

  /** Reads until nothing more is wanted; what is wanted while it reads is read in one go. */
  private async read(): Promise<void> {
    this.isReading = true;
    try {
      while (this.wanted !== undefined) {
        const wanted: Set<string> | "all" = this.wanted === "all" || this.wanted.size > MOST_SINGLE ? "all" : this.wanted;
        this.wanted = undefined;
        await this.readOf(wanted);
      }
    } catch (thrown) {
      this.log.warn("The pending changes could not be listed", thrown);
      this.why = l10n.t("The changes could not be listed: {0}", messageOf(thrown));
      this.emitter.fire(new Set());
    } finally {
      this.isReading = false;
    }
  }

  private async readOf(wanted: ReadonlySet<string> | "all"): Promise<void> {
    const lists = wanted === "all" ? [{}] : [...wanted].map((uri) => ({ uri }));
    const found = (await Promise.all(lists.map((params) => this.connection.request(REVIEW_LIST, params)))).flat();
    await this.learnLabels(found).catch((thrown: unknown) => {
      this.log.warn("What turns are about could not be read", thrown); // they are shown without it
    });
    this.why = "";
    this.take(wanted === "all" ? "all" : new Set([...wanted].map(keyOf)), found);
  }

  /** Checkpoints know what turns are about. */
  private async learnLabels(hunks: readonly Hunk[]): Promise<void> {
    if (hunks.every(({ turns }) => turns.every((turn) => this.labels.has(turn)))) return;
    const checkpoints = this.connection.offers(CHECKPOINT_LIST) ? await this.connection.request(CHECKPOINT_LIST, {}) : [];
    for (const { turn, label } of checkpoints.reverse()) this.labels.set(turn, label);
    for (const turn of hunks.flatMap(({ turns }) => turns)) if (!this.labels.has(turn)) this.labels.set(turn, "");
  }

  private take(of: Changed, hunks: readonly Hunk[]): void {
    if (of === "all") this.byDocument.clear();
    else for (const key of of) this.byDocument.delete(key);
    for (const hunk of hunks) {
      const key = keyOf(hunk.uri);
      this.byDocument.set(key, [...(this.byDocument.get(key) ?? []), hunk]);
    }
    this.tellKeys();
    this.emitter.fire(of);
  }

  private tellKeys(): void {
    const paths = [...this.byDocument.keys()].map((key) => Uri.parse(key).fsPath);
    const told = JSON.stringify(paths);
    if (told === this.paths) return;
    this.paths = told;
    void commands.executeCommand("setContext", PENDING, paths.length > 0);
    void commands.executeCommand("setContext", PENDING_PATHS, paths);
  }
}
