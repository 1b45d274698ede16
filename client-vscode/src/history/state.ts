/**
 * The checkpoints of the workspace, by conversation, as the server last listed them. They are read only while the view that
 * shows them is in sight.
 */
import { type Disposable, EventEmitter, l10n, type LogOutputChannel } from "vscode";

import type { ChatView } from "../chat/view";
import type { Connection } from "../connection";
import { messageOf } from "../messages";
import { type Checkpoint, CHECKPOINT_LIST, SESSION_LIST } from "../protocol";
import type { Restores } from "../restores";

/** The checkpoints of a conversation, the newest first; those of none have no session. */
export interface Group {
  session: string;
  title: string;
  isShown: boolean;
  checkpoints: readonly Checkpoint[];
}

export class History implements Disposable {
  private readonly emitter = new EventEmitter<void>();
  private readonly subscriptions: Disposable[];
  private checkpoints: readonly Checkpoint[] = [];
  private titles = new Map<string, string>();
  private isInSight = false;
  private isStale = true;
  private isReading = false;
  /** Why they could not be listed; empty if they were. */
  failure = "";

  readonly onDidChange = this.emitter.event;

  constructor(
    private readonly connection: Connection,
    private readonly chat: ChatView,
    restores: Restores,
    private readonly log: LogOutputChannel,
  ) {
    const changed = () => {
      this.isStale = true;
      void this.read();
    };
    this.subscriptions = [
      connection.onDidChangeState((state) => {
        if (state === "running") changed();
      }),
      connection.onTurnUpdate(({ event }) => {
        if (event.kind === "outcome" || event.kind === "ended") changed();
      }),
      connection.onReviewChanged(changed), // an undo there has a checkpoint, too
      restores.onDidRestore(changed),
      chat.onDidChangeSight(() => {
        this.emitter.fire(); // another conversation may be the first one
      }),
    ];
  }

  /** All groups: the conversation that the chat view shows, or the latest one; then the others; then what belongs to none. */
  get groups(): Group[] {
    const bySession = new Map<string, Checkpoint[]>();
    for (const checkpoint of this.checkpoints) {
      bySession.set(checkpoint.session, [...(bySession.get(checkpoint.session) ?? []), checkpoint]);
    }
    const sessions = [...bySession.keys()].filter((session) => session !== "");
    const shown = sessions.find((session) => session === this.chat.session) ?? sessions[0];
    const groups = [...bySession].map(([session, checkpoints]) => ({
      session,
      title: this.titles.get(session) ?? checkpoints.at(-1)?.name ?? "",
      isShown: session === shown,
      checkpoints,
    }));
    const rank = ({ isShown, session }: Group) => (isShown ? 0 : session === "" ? 2 : 1);
    return groups.sort((one, other) => rank(one) - rank(other));
  }

  /** How many checkpoints are newer than one, in all conversations. */
  newerThan(checkpoint: Checkpoint): number {
    return Math.max(0, this.checkpoints.findIndex(({ id }) => id === checkpoint.id));
  }

  /** The view is in sight, or is not any more. */
  look(isInSight: boolean): void {
    this.isInSight = isInSight;
    void this.read();
  }

  dispose(): void {
    this.emitter.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  /** Reads until nothing has changed since; what changes while it reads is read in one go. */
  private async read(): Promise<void> {
    if (this.isReading) return;
    this.isReading = true;
    try {
      while (this.isStale && this.isInSight && this.connection.isRunning) {
        this.isStale = false;
        const [checkpoints, sessions] = await Promise.all([
          this.connection.request(CHECKPOINT_LIST, {}),
          this.connection.offers(SESSION_LIST) ? this.connection.request(SESSION_LIST, {}) : [],
        ]);
        this.checkpoints = checkpoints;
        this.failure = "";
        this.titles = new Map(sessions.map(({ session, title }) => [session, title]));
        this.emitter.fire();
      }
    } catch (thrown) {
      this.log.warn("The checkpoints could not be listed", thrown);
      this.failure = l10n.t("The checkpoints could not be listed: {0}", messageOf(thrown));
      this.emitter.fire();
    } finally {
      this.isReading = false;
    }
  }
}
