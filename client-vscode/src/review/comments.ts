/**
 * Comments on changes, begun at their lines. The server writes them into the review document, where they can be
 * changed until they are sent; so a thread goes once its comment is there.
 */
import { CommentMode, comments, type CommentReply, type Disposable, type LogOutputChannel, Uri } from "vscode";

import type { Connection } from "../connection";
import { announce, count, UserError } from "../messages";
import { REVIEW_COMMENT, REVIEW_LIST, REVIEW_OPEN, REVIEW_SEND } from "../protocol";
import type { ReviewSent } from "../protocol";
import { open } from "../texts";
import { hunkAt, rangeIn } from "./places";
import type { Pending } from "./state";

export class ReviewComments implements Disposable {
  private readonly controller = comments.createCommentController("handrail.review", "Handrail Review");

  constructor(
    private readonly connection: Connection,
    pending: Pending,
    private readonly log: LogOutputChannel,
  ) {
    this.controller.options = { prompt: "Comment on this change", placeHolder: "What should the agent do differently?" };
    this.controller.commentingRangeProvider = {
      provideCommentingRanges: (document) => pending.of(document.uri).map((hunk) => rangeIn(document, hunk)),
    };
  }

  /** Has the server write a comment on the change at the thread. If that fails, its text stays in the thread. */
  async add({ thread, text }: CommentReply): Promise<void> {
    try {
      await this.write(thread.uri, thread.range.end.line, text);
    } catch (thrown) {
      const body = text; // a string is shown as it is
      thread.comments = [{ body, mode: CommentMode.Preview, author: { name: "You" }, label: "Not written" }];
      throw thrown;
    }
    thread.dispose();
    announce(this.log, "Handrail: your comment is in the review document. Send all comments when you have written them.", true, [
      ["Send All Comments", () => this.send()],
      ["Open Review Document", async () => open(Uri.parse((await this.connection.request(REVIEW_OPEN, {})).uri))],
    ]);
  }

  /** Sends all comments as one turn. */
  async send(): Promise<ReviewSent> {
    const sent = await this.connection.request(REVIEW_SEND, {});
    announce(this.log, `Handrail: ${count(sent.comments, "comment")} sent.`, true, []);
    return sent;
  }

  dispose(): void {
    this.controller.dispose();
  }

  private async write(uri: Uri, line: number, text: string): Promise<void> {
    const hunks = await this.connection.request(REVIEW_LIST, { uri: uri.toString() });
    const hunk = hunkAt(hunks, line, Number.MAX_SAFE_INTEGER);
    if (hunk === undefined) throw new UserError(`Nothing is pending at line ${line + 1} any more, so the comment was not written.`);
    await this.connection.request(REVIEW_COMMENT, { hunk: hunk.id, text });
  }
}

/** What VS Code gives the command of a thread. */
export function isReply(value: unknown): value is CommentReply {
  return typeof value === "object" && value !== null && "thread" in value && "text" in value && typeof value.text === "string";
}
