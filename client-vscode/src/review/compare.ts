/**
 * Shows what differs from the base: all documents of a turn in one editor, or one document only.
 */
import { commands, l10n, Uri } from "vscode";

import { makeVisible } from "../characters";
import { counted, tell } from "../messages";
import type { Hunk } from "../protocol";
import { baseOf } from "./base";
import { nameOf } from "./places";
import { keyOf, type Pending } from "./state";
import type { Node } from "./tree";

/** A document, with what it would be without its pending changes and what it is; a side that does not exist is missing. */
type Sides = [document: Uri, base: Uri | undefined, now: Uri | undefined];

/** Compares what is below a row of the view "To Review"; without one, all that is pending. */
export async function compare(pending: Pending, node: Node | undefined): Promise<void> {
  const hunks = node?.hunks ?? pending.all;
  const sides = sidesOf(hunks, node?.turn);
  const [only] = sides;
  if (only === undefined) {
    tell(hunks.length === 0 ? l10n.t("nothing is pending.") : counted(hunks.length, l10n.t("this file is not text, so there is nothing to compare."), l10n.t("these files are not text, so there is nothing to compare.")));
  } else if (node !== undefined && node.kind !== "turn") {
    await compareOne(only);
  } else {
    const label = node === undefined ? "" : makeVisible(pending.labelOf(node.turn));
    await commands.executeCommand("vscode.changes", titleOf(label, hunks.length), sides);
  }
}

function titleOf(label: string, changes: number): string {
  if (label !== "") return l10n.t("To review: {0}", label);
  return counted(changes, l10n.t("To review: 1 change"), l10n.t("To review: {0} changes", changes));
}

async function compareOne([document, base, now]: Sides): Promise<void> {
  if (base === undefined || now === undefined) await commands.executeCommand("vscode.open", base ?? now);
  else await commands.executeCommand("vscode.diff", base, now, l10n.t("{0} (to review)", makeVisible(nameOf(document))), { preview: true });
}

function sidesOf(hunks: readonly Hunk[], turn: string | undefined): Sides[] {
  const documents = new Map(hunks.filter(({ kind }) => kind !== "whole").map((hunk) => [keyOf(hunk.uri), hunk]));
  return [...documents.values()].map(({ uri: spelled, kind }) => {
    const uri = Uri.parse(spelled);
    return [uri, kind === "created" ? undefined : baseOf(uri, turn), kind === "deleted" ? undefined : uri];
  });
}
