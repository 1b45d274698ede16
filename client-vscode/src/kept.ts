/**
 * Tells VS Code which documents checkpoints have, so that the editor's menu offers to restore lines of those alone.
 */
import { commands, type Disposable, type LogOutputChannel, Uri } from "vscode";

import type { Connection } from "./connection";
import { CHECKPOINT_LIST } from "./protocol";

export class Kept implements Disposable {
  /** Paths, as `when` clauses know documents: on another machine their URIs are not those of the server. */
  private readonly paths = new Set<string>();
  private readonly subscriptions: Disposable[];

  constructor(
    private readonly connection: Connection,
    log: LogOutputChannel,
  ) {
    this.subscriptions = [
      connection.onDidChangeState((state) => {
        if (state !== "running") return;
        this.learn().catch((thrown: unknown) => {
          log.warn("The checkpoints could not be listed", thrown);
        });
      }),
      connection.onTurnUpdate(({ event }) => {
        if (event.kind === "outcome" && event.status === "landed" && event.uncovered === undefined) this.add([event.uri]);
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  private async learn(): Promise<void> {
    const checkpoints = await this.connection.request(CHECKPOINT_LIST, {});
    this.add(checkpoints.flatMap(({ paths }) => paths.filter(({ change }) => change === "changed").map(({ uri }) => uri)));
  }

  private add(uris: readonly string[]): void {
    const known = this.paths.size;
    for (const uri of uris) this.paths.add(Uri.parse(uri).fsPath);
    if (this.paths.size > known) void commands.executeCommand("setContext", "handrail.kept", [...this.paths]);
  }
}
