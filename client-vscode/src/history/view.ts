/**
 * The checkpoints of the workspace in a view of their own: compare, restore, redo.
 */
import { commands, type Disposable, type LogOutputChannel } from "vscode";

import type { ChatView } from "../chat/view";
import { chooseHow } from "../checkpoints";
import type { Connection } from "../connection";
import { type RestoreReport } from "../protocol";
import type { Restores } from "../restores";
import type { Sides } from "./sides";
import { History } from "./state";
import { HistoryTree, isKept, type Kept, VIEW } from "./tree";

export class HistoryView implements Disposable {
  /** The commands of the view, by name. */
  readonly commands: Record<string, (...values: unknown[]) => unknown>;
  private readonly history: History;
  private readonly tree: HistoryTree;

  constructor(
    private readonly connection: Connection,
    chat: ChatView,
    private readonly restores: Restores,
    sides: Sides,
    log: LogOutputChannel,
  ) {
    this.history = new History(connection, chat, restores, log);
    this.tree = new HistoryTree(this.history);
    this.commands = {
      "handrail.client.showCheckpoints": () => commands.executeCommand(`${VIEW}.focus`),
      "handrail.client.compareCheckpoint": (row) => (isKept(row) ? sides.compare(row.id, row.checkpoint.name, row.paths) : undefined),
      "handrail.client.restoreListed": (row) => (isKept(row) ? this.restore(row) : undefined),
      "handrail.client.redoListed": (row) => (isKept(row) ? restores.redo(row.checkpoint.id) : undefined),
      "handrail.client.redo": () => restores.redo(),
    };
  }

  dispose(): void {
    this.tree.dispose();
    this.history.dispose();
  }

  /** A turn can be taken back in several ways, a step and a document in one. What would happen is shown first. */
  private async restore(row: Kept): Promise<RestoreReport | undefined> {
    if (row.kind === "turn") return chooseHow(this.connection, this.restores, row.checkpoint, this.history.newerThan(row.checkpoint));
    const uris = row.kind === "document" ? { uris: [row.path.uri] } : {};
    return this.restores.restore({ checkpoint: row.id, ...uris }, { isPreviewed: true });
  }
}
