/**
 * Restore what a checkpoint has, say what came of it, and offer the ways on.
 */
import { type Disposable, EventEmitter, type LogOutputChannel, ProgressLocation, Uri, workspace } from "vscode";

import type { Connection } from "./connection";
import { announce, count, type Way } from "./messages";
import { showProgress } from "./present";
import { CHECKPOINT_RESTORE } from "./protocol";
import type { CheckpointRestoreParams, RestoreReport } from "./protocol";
import type { Texts } from "./texts";

/** So many conflicts are named; nobody reads more of a message. */
const SHOWN = 5;

export class Restores implements Disposable {
  private readonly emitter = new EventEmitter<string>();

  /** Fires with the session whose conversation went back, where the next prompt belongs. */
  readonly onDidGoBack = this.emitter.event;

  constructor(
    private readonly connection: Connection,
    private readonly texts: Texts,
    private readonly log: LogOutputChannel,
  ) {}

  /** Restores, and says what came back, offering to undo it and to show what was in the way. */
  async restore(params: CheckpointRestoreParams): Promise<RestoreReport> {
    const report = await showProgress(
      { location: ProgressLocation.Window, title: "Handrail: restoring" },
      () => this.connection.request(CHECKPOINT_RESTORE, params),
    );
    if (report.conversation !== undefined) this.emitter.fire(report.conversation.session);
    const nothing = params.range === undefined ? "everything was already as it was then." : "that turn left nothing in these lines.";
    announce(this.log, `Handrail: ${summary(report) || nothing}`, report.conflicts.length + report.partial.length === 0, this.ways(report));
    return report;
  }

  dispose(): void {
    this.emitter.dispose();
  }

  private ways({ checkpoint, conflicts, partial, conversation }: RestoreReport): Way[] {
    const ways: Way[] = [];
    const difference = [...partial, ...conflicts].map(({ diff }) => diff ?? "").join("");
    if (difference !== "") ways.push(["Show Difference", () => this.texts.show("Difference.diff", difference)]);
    if (checkpoint !== null) {
      ways.push(["Undo Restore", () => this.restore({ checkpoint, conversation: conversation !== undefined })]);
    }
    return ways;
  }
}

/** What became of it, in sentences; empty if nothing was to be done. */
function summary({ restored, deleted, partial, conflicts, conversation }: RestoreReport): string {
  const parts: string[] = [];
  if (restored.length > 0) parts.push(`${count(restored.length, "document")} restored.`);
  if (deleted.length > 0) parts.push(`${count(deleted.length, "document")} removed.`);
  if (conversation !== undefined) {
    parts.push(`The conversation has ${count(conversation.turns.length, "turn")} now; the next prompt goes on from there.`);
  }
  for (const { uri, reason } of partial.slice(0, SHOWN)) parts.push(`Only a part of ${name(uri)} was restored: ${reason.replace(/\.?$/, ".")}`);
  if (partial.length > SHOWN) parts.push(`So it is with ${partial.length - SHOWN} more.`);
  for (const { uri, reason } of conflicts.slice(0, SHOWN)) parts.push(`${name(uri)} was left alone: ${reason.replace(/\.?$/, ".")}`);
  if (conflicts.length > SHOWN) parts.push(`So were ${conflicts.length - SHOWN} more.`);
  return parts.join(" ");
}

function name(uri: string): string {
  return workspace.asRelativePath(Uri.parse(uri));
}
