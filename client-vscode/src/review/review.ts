/**
 * The review of the agent's changes: keeps what the server says is pending, and joins all the places that show it.
 */
import type { Disposable, LogOutputChannel } from "vscode";

import type { Connection } from "../connection";
import type { Texts } from "../texts";
import { ReviewActions } from "./actions";
import { Bases } from "./base";
import { ReviewComments } from "./comments";
import { Decorations } from "./decorations";
import { Pending } from "./state";
import { ReviewTree } from "./tree";

export class Review implements Disposable {
  /** What is pending. */
  readonly pending: Pending;
  /** The commands of the review, by name. */
  readonly commands: Record<string, (...values: unknown[]) => unknown>;
  private readonly parts: { dispose(): void }[];

  constructor(connection: Connection, texts: Texts, log: LogOutputChannel) {
    this.pending = new Pending(connection, log);
    const threads = new ReviewComments(connection, this.pending, log);
    this.commands = {
      ...new ReviewActions(connection, this.pending, texts, log).commands,
      ...threads.commands,
    };
    this.parts = [threads, new Bases(connection, this.pending), new Decorations(this.pending), new ReviewTree(this.pending), this.pending];
  }

  dispose(): void {
    this.parts.forEach((part) => {
      part.dispose();
    });
  }
}
