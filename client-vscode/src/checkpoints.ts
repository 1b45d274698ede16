/**
 * Go back to a checkpoint: choose one, restore it, say what came back.
 */
import { ProgressLocation, type QuickPickItem, Uri, window, workspace } from "vscode";

import type { Connection } from "./connection";
import { count } from "./messages";
import { CHECKPOINT_LIST, CHECKPOINT_RESTORE } from "./protocol";
import type { Checkpoint, CheckpointPath, RestoreReport } from "./protocol";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Lets the person choose a checkpoint and restores it. */
export async function chooseAndRestore(connection: Connection): Promise<RestoreReport | undefined> {
  const checkpoints = await connection.request(CHECKPOINT_LIST, {});
  if (checkpoints.length === 0) {
    void window.showInformationMessage("Handrail: there are no checkpoints yet. Each turn takes one before its first edit.");
    return undefined;
  }
  const chosen = await window.showQuickPick(checkpoints.map(item), {
    title: "Handrail: Restore Checkpoint",
    placeHolder: "Bring these documents back to how they were before the turn",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return chosen && restore(connection, chosen.checkpoint);
}

/** Restores a checkpoint and says what came back, offering to undo it. */
export async function restore(connection: Connection, checkpoint: string): Promise<RestoreReport> {
  const report = await window.withProgress(
    { location: ProgressLocation.Window, title: "Handrail: restoring" },
    () => connection.request(CHECKPOINT_RESTORE, { checkpoint }),
  );
  announce(connection, report);
  return report;
}

interface CheckpointItem extends QuickPickItem {
  checkpoint: string;
}

function item({ id, label, time, paths }: Checkpoint): CheckpointItem {
  return { checkpoint: id, label: `$(history) ${label}`, description: ago(new Date(time)), detail: paths.map(describe).join(", ") };
}

function describe({ path, change }: CheckpointPath): string {
  return change === "changed" ? path : `${path} (${change})`;
}

/** `5 minutes ago (21 Nov 2026, 11:05)` in the person's own language. */
function ago(time: Date): string {
  const seconds = (time.getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => -seconds >= length) ?? ["second", 1];
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.round(seconds / size), unit);
  return `${relative} (${time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })})`;
}

/** Does not wait for the person. */
function announce(connection: Connection, report: RestoreReport): void {
  const { checkpoint } = report;
  const undo = "Undo Restore";
  const offers = checkpoint === null ? [] : [undo];
  const text = `Handrail: ${summary(report)}`;
  const shown = report.conflicts.length > 0 ? window.showWarningMessage(text, ...offers) : window.showInformationMessage(text, ...offers);
  void shown.then((choice) => (choice === undo && checkpoint !== null ? restore(connection, checkpoint) : undefined));
}

function summary({ restored, deleted, conflicts }: RestoreReport): string {
  const parts: string[] = [];
  if (restored.length > 0) parts.push(`${count(restored.length, "document")} restored.`);
  if (deleted.length > 0) parts.push(`${count(deleted.length, "document")} removed.`);
  for (const { uri, reason } of conflicts) parts.push(`${name(uri)} was left alone: ${reason.replace(/\.?$/, ".")}`);
  return parts.length > 0 ? parts.join(" ") : "everything was already as it was then.";
}

function name(uri: string): string {
  return workspace.asRelativePath(Uri.parse(uri));
}
