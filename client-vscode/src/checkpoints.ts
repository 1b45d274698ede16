/**
 * Choose a checkpoint, and how much of it to take back.
 */
import * as path from "node:path";
import { l10n, QuickPickItemKind, Uri, window } from "vscode";

import { makeVisible } from "./characters";
import type { Connection } from "./connection";
import { counted, documents, listed, tell } from "./messages";
import { BACK, pick } from "./pick";
import type { Choice } from "./present";
import { CHECKPOINT_DIFF, CHECKPOINT_LIST } from "./protocol";
import type { Checkpoint, CheckpointPath, RestoreReport } from "./protocol";
import { linesOf, rangeOf } from "./ranges";
import type { Restores } from "./restores";
import { open } from "./texts";

const CHANGES: Partial<Record<string, string>> = {
  changed: l10n.t("changed"),
  created: l10n.t("created"),
  deleted: l10n.t("deleted"),
};

/** What a turn did with a file; what only a newer server knows is called as the server calls it. */
export function changeOf({ change }: CheckpointPath): string {
  return CHANGES[change] ?? makeVisible(change);
}

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Lets the person choose a checkpoint and what to do with it, and does that. */
export async function chooseAndRestore(connection: Connection, restores: Restores): Promise<RestoreReport | undefined> {
  const items = (await connection.request(CHECKPOINT_LIST, {})).map(detailed);
  if (items.length === 0) {
    tell(l10n.t("there are no checkpoints yet. A turn takes one before its first change."));
    return undefined;
  }
  const title = l10n.t("Handrail: Restore Checkpoint");
  let chosen: CheckpointItem | undefined;
  for (;;) {
    const placeholder = l10n.t("Choose a turn or another change: you can undo it, or go back to before it");
    const found = await pick(items, { title, placeholder, step: 1, steps: 2, active: chosen });
    if (found === undefined || found === BACK) return undefined;
    chosen = found;
    const { checkpoint } = chosen;
    const about = l10n.t("Choose an action for “{0}”", checkpoint.name);
    const action = await pick(actions(checkpoint, items.indexOf(chosen)), { title, placeholder: about, step: 2, steps: 2 });
    if (action !== BACK) return action?.take?.(connection, restores);
  }
}

/** Lets the person choose how much of a checkpoint to restore, and restores that after a look at what would happen. */
export async function chooseHow(
  connection: Connection,
  restores: Restores,
  checkpoint: Checkpoint,
  newer: number,
): Promise<RestoreReport | undefined> {
  const choices = actions(checkpoint, newer, { isPreviewed: true });
  const chosen = await pick(choices, { title: l10n.t("Handrail: Restore Checkpoint"), placeholder: l10n.t("Choose an action for “{0}”", checkpoint.name) });
  return chosen === BACK ? undefined : chosen?.take?.(connection, restores);
}

/** Lets the person choose a turn whose changes are taken back in the selected lines of the active document alone. */
export async function chooseAndRestoreLines(connection: Connection, restores: Restores): Promise<RestoreReport | undefined> {
  const editor = window.activeTextEditor;
  if (editor === undefined) {
    tell(l10n.t("there is no active document. Open one and select the lines to restore."));
    return undefined;
  }
  const uri = editor.document.uri.toString();
  const name = path.posix.basename(editor.document.uri.path);
  const found = await connection.request(CHECKPOINT_LIST, { uri });
  // What a turn made or deleted has no lines to go back to.
  const items = found.filter(({ paths }) => paths.every(({ change }) => change === "changed")).map(item);
  if (items.length === 0) {
    tell(l10n.t("there are no lines to restore: no turn with a checkpoint has changed lines of {0}. If a turn created or deleted it, undo that with “Handrail: Restore Checkpoint…”.", name));
    return undefined;
  }
  const chosen = await pick(items, {
    title: l10n.t("Handrail: Restore Selected Lines"),
    placeholder: l10n.t("Undo what was changed in {0} of {1}", linesOf(rangeOf(editor.selection)), name),
  });
  if (chosen === undefined || chosen === BACK) return undefined;
  return restores.restore({ checkpoint: chosen.checkpoint.id, uris: [uri], range: rangeOf(editor.selection) });
}

interface CheckpointItem extends Choice {
  checkpoint: Checkpoint;
}

function item(checkpoint: Checkpoint): CheckpointItem {
  return { checkpoint, icon: "history", label: checkpoint.name, description: ago(new Date(checkpoint.time)) };
}

function detailed(checkpoint: Checkpoint): CheckpointItem {
  return { ...item(checkpoint), detail: listed(checkpoint.paths.map(describe)) || l10n.t("no document") };
}

function describe(of: CheckpointPath): string {
  return of.change === "changed" ? of.path : l10n.t("{0} ({1})", of.path, changeOf(of));
}

/** What can be done with a checkpoint; separators do nothing. */
interface Action extends Choice {
  take?: (connection: Connection, restores: Restores) => Promise<RestoreReport | undefined>;
}

/** The most usual first; *newer* is the number of newer checkpoints. */
function actions(checkpoint: Checkpoint, newer: number, how = { isPreviewed: false }): Action[] {
  const { id, kind, session, paths } = checkpoint;
  const isTurn = kind === "turn"; // otherwise a quick fix, an undo or a restore
  const following = newer === 0 ? l10n.t("this is the newest checkpoint") : counted(newer, l10n.t("also undoes what was done since: 1 later checkpoint"), l10n.t("also undoes what was done since: {0} later checkpoints", newer));
  const these: Action = {
    icon: "discard",
    label: isTurn ? l10n.t("Undo this turn only") : l10n.t("Undo this change only"),
    description: newer === 0 ? documents(paths.length) : l10n.t("{0}; later changes stay", documents(paths.length)),
    take: (_, restores) => restores.restore({ checkpoint: id }, how),
  };
  const all: Action = {
    icon: "history",
    label: isTurn ? l10n.t("Go back to before this turn") : l10n.t("Go back to before this change"),
    description: following,
    take: (_, restores) => restores.restore({ checkpoint: id, following: true }, how),
  };
  const both: Action = {
    icon: "comment-discussion",
    label: isTurn ? l10n.t("Go back to before this turn, with the conversation") : l10n.t("Go back to before this change, with the conversation"),
    description: following,
    take: (_, restores) => restores.restore({ checkpoint: id, following: true, conversation: true }, how),
  };
  const words: Action = {
    icon: "comment",
    label: l10n.t("Rewind the conversation only"),
    description: l10n.t("the documents stay as they are"),
    take: (_, restores) => restores.restore({ checkpoint: id, files: false, conversation: true }, how),
  };
  const changes: Action = {
    icon: "diff",
    label: l10n.t("Show changes"),
    take: async (connection) => {
      const { uri } = await connection.request(CHECKPOINT_DIFF, { checkpoint: id });
      await open(Uri.parse(uri));
      return undefined;
    },
  };
  const spoken = session === "" ? [] : [both, words];
  if (paths.length === 0) return [...spoken.reverse(), all];
  return [these, all, ...spoken, changes, { label: l10n.t("one document only"), kind: QuickPickItemKind.Separator }, ...paths.map(alone(id, how))];
}

function alone(checkpoint: string, how: { isPreviewed: boolean }): (path: CheckpointPath) => Action {
  return (of) => ({
    icon: "file",
    label: of.path,
    ...(of.change === "changed" ? {} : { description: changeOf(of) }),
    take: (_, restores) => restores.restore({ checkpoint, uris: [of.uri] }, how),
  });
}

/** `5 minutes ago (21 Nov 2026, 11:05)` in the person's own language. */
function ago(time: Date): string {
  const seconds = (time.getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => -seconds >= length) ?? ["second", 1];
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.round(seconds / size), unit);
  return l10n.t("{0} ({1})", relative, time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));
}
