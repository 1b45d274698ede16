/**
 * Comments on changes, at their lines. The server has them, in the review document, until they are sent: the threads here
 * show what it says, so a window that is loaded anew and a server that is started again lose none.
 */
import {
  type Comment,
  CommentMode,
  type CommentReply,
  comments,
  type CommentThread,
  CommentThreadCollapsibleState,
  type Disposable,
  l10n,
  type LogOutputChannel,
  type Range,
  Uri,
} from "vscode";

import { makeVisible } from "../characters";
import type { Connection } from "../connection";
import { announce, counted, UserError } from "../messages";
import { REVIEW_COMMENT, REVIEW_COMMENTS, REVIEW_EDIT, REVIEW_LIST, REVIEW_OPEN, REVIEW_SEND } from "../protocol";
import type { ReviewComment, ReviewSent } from "../protocol";
import { open } from "../texts";
import { hunkAt, rangeIn, rangeOfLines } from "./places";
import type { Pending } from "./state";

/** A comment that was not sent yet, as VS Code shows it. Its body is what the person types while it is edited. */
class Draft implements Comment {
  readonly author = { name: l10n.t("You") };
  readonly label = l10n.t("Not sent yet");
  readonly contextValue = "draft";
  body: string;

  constructor(
    readonly said: ReviewComment,
    readonly mode: CommentMode,
  ) {
    this.body = mode === CommentMode.Editing ? said.text : makeVisible(said.text); // a string is shown as it is
  }
}

interface Shown {
  thread: CommentThread;
  draft: Draft;
}

export class ReviewComments implements Disposable {
  private readonly controller = comments.createCommentController("handrail.review", "Handrail Review");
  private readonly shown = new Map<string, Shown>();
  private readonly subscriptions: Disposable[];
  private isStale = false;
  private isReading = false;
  /** Where comments can be begun, as VS Code was last told. */
  private places = "[]";

  constructor(
    private readonly connection: Connection,
    private readonly pending: Pending,
    private readonly log: LogOutputChannel,
  ) {
    this.controller.options = { prompt: l10n.t("Comment on this change"), placeHolder: l10n.t("What should the agent do differently?") };
    this.renew();
    this.subscriptions = [
      pending.onDidChange(() => {
        this.offer();
      }),
      connection.onReviewChanged(({ comments: written }) => {
        if (written > 0 || this.shown.size > 0) void this.read();
      }),
      connection.onDidChangeState((state) => {
        if (state === "running") void this.read();
      }),
    ];
  }

  /** All commands, by name. */
  get commands(): Record<string, (...values: unknown[]) => unknown> {
    return {
      "handrail.client.addComment": (reply) => (isReply(reply) ? this.add(reply) : undefined),
      "handrail.client.sendComments": () => this.send(),
      "handrail.client.editComment": (draft) => {
        if (draft instanceof Draft) this.turn(draft, CommentMode.Editing);
      },
      "handrail.client.cancelComment": (draft) => {
        if (draft instanceof Draft) this.turn(draft, CommentMode.Preview);
      },
      "handrail.client.saveComment": (draft) => (draft instanceof Draft ? this.change(draft, draft.body) : undefined),
      "handrail.client.deleteComment": (draft) => (draft instanceof Draft ? this.change(draft, "") : undefined),
    };
  }

  dispose(): void {
    this.controller.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  /** Has VS Code ask again where comments can be begun, if that has changed. */
  private offer(): void {
    const places = JSON.stringify(this.pending.all.map(({ uri, range }) => [uri, range]));
    if (places === this.places) return;
    this.places = places;
    this.renew();
  }

  /**
   * Has VS Code ask where comments can be begun, and draw the threads anew, in every editor that it shows. It asks only once for
   * an editor, and again when the provider is new.
   */
  private renew(): void {
    this.controller.commentingRangeProvider = {
      provideCommentingRanges: (document) => this.pending.of(document.uri).map((hunk) => rangeIn(document, hunk)),
    };
  }

  /** Has the server write a comment on the change at the thread. If that fails, its text stays in the thread. */
  private async add({ thread, text }: CommentReply): Promise<void> {
    try {
      await this.write(thread.uri, thread.range, text);
    } catch (thrown) {
      const body = text; // a string is shown as it is
      thread.comments = [{ body, mode: CommentMode.Preview, author: { name: l10n.t("You") }, label: l10n.t("Not saved") }];
      throw thrown;
    }
    thread.dispose();
    await this.read();
    announce(this.log, l10n.t("Handrail: your comment is in the review document. Send all comments when you have written them."), true, [
      [l10n.t("Send All Comments"), () => this.send()],
      [l10n.t("Open Review Document"), async () => open(Uri.parse((await this.connection.request(REVIEW_OPEN, {})).uri))],
    ]);
  }

  /** Sends all comments as one turn. */
  private async send(): Promise<ReviewSent> {
    const sent = await this.connection.request(REVIEW_SEND, {});
    announce(this.log, counted(sent.comments, l10n.t("Handrail: 1 comment sent."), l10n.t("Handrail: {0} comments sent.", sent.comments)), true, []);
    await this.read();
    return sent;
  }

  /** Changes a comment, or deletes it. If that fails, what was typed stays in its editor. */
  private async change({ said }: Draft, text: string): Promise<void> {
    await this.connection.request(REVIEW_EDIT, { comment: said.id, text, was: said.text });
    this.forget(said.id); // it is not edited any more
    await this.read();
  }

  /** Shows a comment, or an editor for it. */
  private turn({ said }: Draft, mode: CommentMode): void {
    const shown = this.shown.get(said.id);
    if (shown === undefined) return;
    shown.draft = new Draft(said, mode);
    shown.thread.comments = [shown.draft];
  }

  private async write(uri: Uri, range: Range, text: string): Promise<void> {
    const line = range.end.line;
    const hunks = await this.connection.request(REVIEW_LIST, { uri: uri.toString() });
    const hunk = hunkAt(hunks, line, Number.MAX_SAFE_INTEGER);
    if (hunk === undefined) throw new UserError(l10n.t("Nothing is pending at line {0} now, so the comment was not written.", line + 1));
    await this.connection.request(REVIEW_COMMENT, { hunk: hunk.id, text });
  }

  /** Reads until nothing has changed since; what changes while it reads is read in one go. An older server has no list. */
  private async read(): Promise<void> {
    this.isStale = true;
    if (this.isReading) return;
    this.isReading = true;
    try {
      while (this.isStale && this.connection.isRunning && this.connection.offers(REVIEW_COMMENTS)) {
        this.isStale = false;
        this.show(await this.connection.request(REVIEW_COMMENTS, {}));
      }
    } catch (thrown) {
      this.log.warn("The comments could not be listed", thrown);
    } finally {
      this.isReading = false;
    }
  }

  /**
   * Shows the comments, and no others. An editor that is being opened draws the threads that were there when VS Code began to
   * ask where comments can be begun in it, and forgets one that was created since: so it is asked to begin anew.
   */
  private show(said: readonly ReviewComment[]): void {
    const ids = new Set(said.map(({ id }) => id));
    for (const id of [...this.shown.keys()].filter((each) => !ids.has(each))) this.forget(id);
    const created = said.filter((each) => this.showOne(each));
    if (created.length > 0) this.renew();
  }

  /**
   * Shows a comment; returns whether it got a new thread. One that is being edited stays as the person has it. One about no
   * lines is in the review document alone.
   */
  private showOne(said: ReviewComment): boolean {
    if (said.uri === undefined || said.range === undefined) return false;
    const before = this.shown.get(said.id);
    if (before?.draft.mode === CommentMode.Editing) return false;
    const range = rangeOfLines(said.range);
    if (before?.draft.said.uri !== said.uri) {
      this.forget(said.id);
      const draft = new Draft(said, CommentMode.Preview);
      const thread = this.controller.createCommentThread(Uri.parse(said.uri), range, [draft]);
      thread.canReply = false;
      thread.label = said.hunk === undefined ? l10n.t("Your comment") : l10n.t("Your comment on this change");
      thread.collapsibleState = CommentThreadCollapsibleState.Expanded;
      this.shown.set(said.id, { thread, draft });
      return true;
    }
    if (JSON.stringify(before.draft.said) === JSON.stringify(said)) return false;
    before.thread.range = range;
    before.draft = new Draft(said, CommentMode.Preview);
    before.thread.comments = [before.draft];
    return false;
  }

  private forget(id: string): void {
    this.shown.get(id)?.thread.dispose();
    this.shown.delete(id);
  }
}

/** What VS Code gives the command of a thread. */
function isReply(value: unknown): value is CommentReply {
  return typeof value === "object" && value !== null && "thread" in value && "text" in value && typeof value.text === "string";
}
