/**
 * Shows what a restore would do, conflicts included, before anything is written; the person decides.
 */
import { QuickPickItemKind, Uri, workspace } from "vscode";

import { count } from "../messages";
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
  const placeholder = `${effectOf(report)} Nothing is changed yet; choose a document to see the difference.`;
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
  const parts = [...(changes > 0 ? [count(changes, "document")] : []), ...(conversation === undefined ? [] : ["the conversation"])];
  const offers: Offer[] = parts.length === 0 ? [] : [{ icon: "check", label: `Restore ${parts.join(" and ")}`, goes: true }];
  const add = (heading: string, rows: Offer[]) => {
    if (rows.length > 0) offers.push({ label: heading, kind: QuickPickItemKind.Separator }, ...rows);
  };
  add("conflicts: these stay as they are", conflicts.map(({ uri, reason }) => ({ ...row("warning", uri), detail: reason })));
  add("restored in part", partial.map(({ uri, reason }) => ({ ...row("warning", uri), detail: reason })));
  add("restored", restored.map((uri) => row("file", uri)));
  add("deleted, because they did not exist before", deleted.map((uri) => row("trash", uri)));
  if (parts.length === 0) offers.push({ icon: "close", label: "Close" });
  return offers;
}

function effectOf({ restored, deleted, conflicts, partial, conversation }: RestoreReport): string {
  const changes = restored.length + deleted.length + partial.length;
  if (changes === 0 && conversation === undefined) return conflicts.length === 0 ? "Everything is as it was then." : "Nothing can be restored.";
  return conflicts.length === 0 ? "No conflicts." : `${count(conflicts.length, "conflict")}.`;
}

function row(icon: string, uri: string): Offer {
  return { icon, label: workspace.asRelativePath(Uri.parse(uri)), uri };
}
