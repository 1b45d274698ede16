/**
 * Shows what a restore would do, conflicts included, before anything is written; the person decides.
 */
import { l10n, QuickPickItemKind, Uri, workspace } from "vscode";

import { counted, documents } from "../messages";
import { BACK, pick } from "../pick";
import type { Choice } from "../present";
import type { RestoreReport } from "../protocol";

/** What the list offers: to go on, or to look at a document. */
interface Offer extends Choice {
  goes?: boolean;
  uri?: string;
}

/**
 * Lets the person look at what a restore would do.
 *
 * Returns whether to do it. Choosing a document shows it, and the list stays.
 */
export async function confirmed(title: string, report: RestoreReport, look: (uri: string) => Promise<void>): Promise<boolean> {
  const offers = offersOf(report);
  const effect = effectOf(report);
  const hasDocuments = offers.some(({ uri }) => uri !== undefined);
  const placeholder = hasDocuments ? l10n.t("{0} Nothing is changed yet; choose a document to see the difference.", effect) : effect;
  for (let active: Offer | undefined; ; ) {
    const chosen = await pick(offers, { title, placeholder, active });
    if (chosen === undefined || chosen === BACK) return false;
    if (chosen.uri === undefined) return chosen.goes === true;
    active = chosen;
    await look(chosen.uri);
  }
}

/** Whether a person should see what a restore would do before it is done, even if they did not ask for that. */
export function hasConflicts({ conflicts, partial }: RestoreReport): boolean {
  return conflicts.length + partial.length > 0;
}

function offersOf({ restored, deleted, conflicts, partial, conversation }: RestoreReport): Offer[] {
  const changes = restored.length + deleted.length + partial.length;
  const label = restoring(changes, conversation !== undefined);
  const offers: Offer[] = label === undefined ? [] : [{ icon: "check", label, goes: true }];
  const add = (heading: string, rows: Offer[]) => {
    if (rows.length > 0) offers.push({ label: heading, kind: QuickPickItemKind.Separator }, ...rows);
  };
  add(counted(conflicts.length, l10n.t("conflict: this stays as it is"), l10n.t("conflicts: these stay as they are")), conflicts.map(({ uri, reason }) => ({ ...row("warning", uri), detail: reason })));
  add(l10n.t("will be restored in part"), partial.map(({ uri, reason }) => ({ ...row("warning", uri), detail: reason })));
  add(l10n.t("will be restored"), restored.map((uri) => row("file", uri)));
  add(counted(deleted.length, l10n.t("will be deleted, because it did not exist before"), l10n.t("will be deleted, because they did not exist before")), deleted.map((uri) => row("trash", uri)));
  if (label === undefined) offers.push({ icon: "close", label: l10n.t("Close") });
  return offers;
}

/** What would be restored; undefined if that is nothing. */
function restoring(changes: number, hasConversation: boolean): string | undefined {
  if (changes === 0) return hasConversation ? l10n.t("Restore the conversation") : undefined;
  const what = documents(changes);
  return hasConversation ? l10n.t("Restore {0} and the conversation", what) : l10n.t("Restore {0}", what);
}

function effectOf({ restored, deleted, conflicts, partial, conversation }: RestoreReport): string {
  const changes = restored.length + deleted.length + partial.length;
  if (changes === 0 && conversation === undefined) return conflicts.length === 0 ? l10n.t("Nothing to restore: everything is already as it was then.") : l10n.t("Nothing can be restored.");
  return conflicts.length === 0 ? l10n.t("No conflicts.") : counted(conflicts.length, l10n.t("1 conflict."), l10n.t("{0} conflicts.", conflicts.length));
}

function row(icon: string, uri: string): Offer {
  return { icon, label: workspace.asRelativePath(Uri.parse(uri)), uri };
}
