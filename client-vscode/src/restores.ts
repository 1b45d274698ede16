/**
 * Restore what a checkpoint has, or redo what a restore undid; show what would happen, say what came of it, and offer the ways on.
 */
import { type Disposable, EventEmitter, l10n, type LogOutputChannel, ProgressLocation, Uri, workspace } from "vscode";

import type { Connection } from "./connection";
import { confirmed, hasConflicts } from "./history/preview";
import type { Sides } from "./history/sides";
import { announce, counted, type Way } from "./messages";
import { showProgress } from "./present";
import { CHECKPOINT_REDO, CHECKPOINT_RESTORE } from "./protocol";
import type { CheckpointRestoreParams, RestoreReport } from "./protocol";
import type { Texts } from "./texts";

/** So many conflicts are named; nobody reads more of a message. */
const SHOWN = 5;

export class Restores implements Disposable {
  private readonly emitter = new EventEmitter<string>();
  private readonly restored = new EventEmitter<void>();

  /** Fires when checkpoints may be others than before. */
  readonly onDidRestore = this.restored.event;

  /** Fires with the session whose conversation went back, where the next prompt belongs. */
  readonly onDidGoBack = this.emitter.event;

  constructor(
    private readonly connection: Connection,
    private readonly texts: Texts,
    private readonly sides: Sides,
    private readonly log: LogOutputChannel,
  ) {}

  /**
   * Restores, and says what came back, offering to undo that and to show what was in the way. Conflicts are shown before
   * anything is written, and without any, too, if the restore `isPreviewed`; undefined if the person does not go on then.
   */
  async restore(params: CheckpointRestoreParams, { isPreviewed = false } = {}): Promise<RestoreReport | undefined> {
    const { checkpoint } = params;
    const act = (dryRun: boolean) => this.connection.request(CHECKPOINT_RESTORE, { ...params, dryRun });
    if (!(await this.goesOn(l10n.t("Handrail: Restore"), act, checkpoint, isPreviewed))) return undefined;
    return this.done(l10n.t("Handrail: restoring"), () => act(false), params.range !== undefined);
  }

  /** Takes a restore back, by the checkpoint that it made; without one, the newest restore that was not redone yet. */
  async redo(checkpoint?: string): Promise<RestoreReport | undefined> {
    const own = checkpoint === undefined ? {} : { checkpoint };
    const act = (dryRun: boolean) => this.connection.request(CHECKPOINT_REDO, { ...own, dryRun });
    if (!(await this.goesOn(l10n.t("Handrail: Undo Restore"), act, checkpoint, false))) return undefined;
    return this.done(l10n.t("Handrail: undoing the restore"), () => act(false), false);
  }

  dispose(): void {
    this.emitter.dispose();
    this.restored.dispose();
  }

  /** Whether to go on, after a look at what would happen where that is called for. An older server cannot tell. */
  private async goesOn(title: string, act: (dryRun: boolean) => Promise<RestoreReport>, checkpoint: string | undefined, isPreviewed: boolean): Promise<boolean> {
    await this.connection.start();
    if (!this.connection.offers(CHECKPOINT_REDO)) return true;
    const foreseen = await act(true);
    if (!isPreviewed && !hasConflicts(foreseen)) return true;
    return confirmed(title, foreseen, (uri) => this.look(foreseen, checkpoint, uri));
  }

  /** Shows how a document would differ. */
  private async look({ conflicts, partial }: RestoreReport, checkpoint: string | undefined, uri: string): Promise<void> {
    const diff = [...conflicts, ...partial].find((each) => each.uri === uri)?.diff;
    if (diff !== undefined) await this.texts.show(`${l10n.t("Difference")}.diff`, diff, true);
    else if (checkpoint !== undefined) await this.sides.compareNow(checkpoint, uri);
  }

  private async done(title: string, act: () => Promise<RestoreReport>, isOfLines: boolean): Promise<RestoreReport> {
    const report = await showProgress({ location: ProgressLocation.Window, title }, act);
    this.restored.fire();
    if (report.conversation !== undefined) this.emitter.fire(report.conversation.session);
    const nothing = isOfLines ? l10n.t("that checkpoint has no changes in these lines.") : l10n.t("nothing had to be restored: the documents already have these contents.");
    announce(this.log, `Handrail: ${summary(report) || nothing}`, report.conflicts.length + report.partial.length === 0, this.ways(report));
    return report;
  }

  private ways({ checkpoint, conflicts, partial }: RestoreReport): Way[] {
    const ways: Way[] = [];
    const difference = [...partial, ...conflicts].map(({ diff }) => diff ?? "").join("");
    if (difference !== "") ways.push([l10n.t("Show Difference"), () => this.texts.show(`${l10n.t("Difference")}.diff`, difference)]);
    if (checkpoint !== null) {
      ways.push([l10n.t("Undo Restore"), () => this.redo(checkpoint)]);
    }
    return ways;
  }
}

/** What became of it, in sentences; empty if nothing was to be done. */
function summary({ restored, deleted, partial, conflicts, conversation }: RestoreReport): string {
  const parts: string[] = [];
  if (restored.length > 0) parts.push(counted(restored.length, l10n.t("1 document restored."), l10n.t("{0} documents restored.", restored.length)));
  if (deleted.length > 0) parts.push(counted(deleted.length, l10n.t("1 document deleted."), l10n.t("{0} documents deleted.", deleted.length)));
  if (conversation !== undefined) {
    const turns = conversation.turns.reduce((sum, { copied }) => sum + (copied ?? 1), 0);
    parts.push(
      counted(
        turns,
        l10n.t("The conversation now has 1 turn. Your next message continues from there."),
        l10n.t("The conversation now has {0} turns. Your next message continues from there.", turns),
      ),
    );
  }
  for (const { uri, reason } of partial.slice(0, SHOWN)) parts.push(l10n.t("Only a part of {0} was restored: {1}", name(uri), reason.replace(/\.?$/, ".")));
  if (partial.length > SHOWN) {
    const more = partial.length - SHOWN;
    parts.push(l10n.t("More documents that were restored only in part: {0}.", more));
  }
  for (const { uri, reason } of conflicts.slice(0, SHOWN)) parts.push(l10n.t("{0} was not changed: {1}", name(uri), reason.replace(/\.?$/, ".")));
  if (conflicts.length > SHOWN) {
    const more = conflicts.length - SHOWN;
    parts.push(l10n.t("More documents that were not restored: {0}.", more));
  }
  return parts.join(" ");
}

function name(uri: string): string {
  return workspace.asRelativePath(Uri.parse(uri));
}
