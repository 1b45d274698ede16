/**
 * Choose a checkpoint, and how much of it to take back.
 */
import * as path from "node:path";
import { QuickPickItemKind, Uri, window } from "vscode";

import type { Connection } from "./connection";
import { count, tell } from "./messages";
import { BACK, pick } from "./pick";
import type { Choice } from "./present";
import { CHECKPOINT_DIFF, CHECKPOINT_LIST } from "./protocol";
import type { Checkpoint, CheckpointPath, RestoreReport } from "./protocol";
import { linesOf, rangeOf } from "./ranges";
import type { Restores } from "./restores";
import { open } from "./texts";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Lets the person choose a checkpoint and what to do with it, and does that. */
export async function chooseAndRestore(connection: Connection, restores: Restores): Promise<RestoreReport | undefined> {
  const items = (await connection.request(CHECKPOINT_LIST, {})).map(detailed);
  if (items.length === 0) {
    tell("there are no checkpoints yet. Each turn takes one before its first edit.");
    return undefined;
  }
  const title = "Handrail: Restore Checkpoint";
  let chosen: CheckpointItem | undefined;
  for (;;) {
    const placeholder = "Bring documents back to how they were before a turn";
    const found = await pick(items, { title, placeholder, step: 1, steps: 2, active: chosen });
    if (found === undefined || found === BACK) return undefined;
    chosen = found;
    const { checkpoint } = chosen;
    const about = `Choose an action for “${checkpoint.label}”`;
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
  const chosen = await pick(choices, { title: "Handrail: Restore Checkpoint", placeholder: `Choose an action for “${checkpoint.label}”` });
  return chosen === BACK ? undefined : chosen?.take?.(connection, restores);
}

/** Lets the person choose a turn whose changes are taken back in the selected lines of the active document alone. */
export async function chooseAndRestoreLines(connection: Connection, restores: Restores): Promise<RestoreReport | undefined> {
  const editor = window.activeTextEditor;
  if (editor === undefined) {
    tell("there is no active document. Open one and select the lines to restore.");
    return undefined;
  }
  const uri = editor.document.uri.toString();
  const name = path.posix.basename(editor.document.uri.path);
  const found = await connection.request(CHECKPOINT_LIST, { uri });
  // What a turn made or deleted has no lines to go back to.
  const items = found.filter(({ paths }) => paths.every(({ change }) => change === "changed")).map(item);
  if (items.length === 0) {
    tell(`no checkpoint has lines of ${name}. Each turn takes one of what it edits.`);
    return undefined;
  }
  const chosen = await pick(items, {
    title: "Handrail: Restore Selected Lines",
    placeholder: `Undo what a turn changed in ${linesOf(rangeOf(editor.selection))} of ${name}`,
  });
  if (chosen === undefined || chosen === BACK) return undefined;
  return restores.restore({ checkpoint: chosen.checkpoint.id, uris: [uri], range: rangeOf(editor.selection) });
}

interface CheckpointItem extends Choice {
  checkpoint: Checkpoint;
}

function item(checkpoint: Checkpoint): CheckpointItem {
  return { checkpoint, icon: "history", label: checkpoint.label, description: ago(new Date(checkpoint.time)) };
}

function detailed(checkpoint: Checkpoint): CheckpointItem {
  return { ...item(checkpoint), detail: checkpoint.paths.map(describe).join(", ") || "no document" };
}

function describe({ path, change }: CheckpointPath): string {
  return change === "changed" ? path : `${path} (${change})`;
}

/** What can be done with a checkpoint; separators do nothing. */
interface Action extends Choice {
  take?: (connection: Connection, restores: Restores) => Promise<RestoreReport | undefined>;
}

/** The most usual first; *newer* is the number of newer checkpoints. */
function actions(checkpoint: Checkpoint, newer: number, how = { isPreviewed: false }): Action[] {
  const { id, session, paths } = checkpoint;
  const following = newer === 0 ? "there is no newer checkpoint" : `also takes ${count(newer, "newer checkpoint")} back`;
  const these: Action = {
    icon: "discard",
    label: "Restore these documents",
    description: count(paths.length, "document"),
    take: (_, restores) => restores.restore({ checkpoint: id }, how),
  };
  const all: Action = {
    icon: "history",
    label: "Go back to before this",
    description: following,
    take: (_, restores) => restores.restore({ checkpoint: id, following: true }, how),
  };
  const both: Action = {
    icon: "comment-discussion",
    label: "Go back to before this, with the conversation",
    description: following,
    take: (_, restores) => restores.restore({ checkpoint: id, following: true, conversation: true }, how),
  };
  const words: Action = {
    icon: "comment",
    label: "Go back in the conversation alone",
    description: "no document changes",
    take: (_, restores) => restores.restore({ checkpoint: id, files: false, conversation: true }, how),
  };
  const changes: Action = {
    icon: "diff",
    label: "Show changes",
    take: async (connection) => {
      const { uri } = await connection.request(CHECKPOINT_DIFF, { checkpoint: id });
      await open(Uri.parse(uri));
      return undefined;
    },
  };
  const spoken = session === "" ? [] : [both, words];
  if (paths.length === 0) return [...spoken.reverse(), all];
  return [these, all, ...spoken, changes, { label: "one document alone", kind: QuickPickItemKind.Separator }, ...paths.map(alone(id, how))];
}

function alone(checkpoint: string, how: { isPreviewed: boolean }): (path: CheckpointPath) => Action {
  return ({ uri, path, change }) => ({
    icon: "file",
    label: path,
    ...(change === "changed" ? {} : { description: change }),
    take: (_, restores) => restores.restore({ checkpoint, uris: [uri] }, how),
  });
}

/** `5 minutes ago (21 Nov 2026, 11:05)` in the person's own language. */
function ago(time: Date): string {
  const seconds = (time.getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => -seconds >= length) ?? ["second", 1];
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.round(seconds / size), unit);
  return `${relative} (${time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })})`;
}
