/**
 * Where a change is in a document, and what it is called.
 */
import { basename } from "node:path/posix";
import { l10n, Range, type TextDocument, type Uri } from "vscode";

import { makeVisible } from "../characters";
import type { Hunk, Range as LineRange } from "../protocol";

/** Rows of a text, without their ends. */
export function rowsOf(text: string): string[] {
  const rows = text.split(/\r\n|\r|\n/);
  if (rows.at(-1) === "") rows.pop();
  return rows;
}

/** `+3 −1`, as everywhere that the server shows a change; empty where its rows are not what has changed, or it has none, as a file that is not text. */
export function sizeOf({ kind, before, after }: Hunk): string {
  return kind === "renamed" || before + after === "" ? "" : `+${rowsOf(after).length} −${rowsOf(before).length}`;
}

/** Whether a change has no rows of its own in the document that is shown for it. */
export function isShownWhole({ kind }: Hunk): boolean {
  return kind === "deleted" || kind === "whole";
}

/** What a list calls a change: its line, and the first of its rows that has a letter. */
export function titleOf(hunk: Hunk): string {
  const line = hunk.range.start.line + 1;
  if (hunk.kind === "created") return l10n.t("Created");
  if (hunk.kind === "deleted") return l10n.t("Deleted");
  if (hunk.kind === "renamed") return l10n.t("Moved from {0}", basename(hunk.renamedFrom ?? ""));
  if (hunk.kind === "whole") return l10n.t("Changed (not a text file)");
  const rows = rowsOf(hunk.after === "" ? hunk.before : hunk.after);
  const row = rows.find((each) => /\p{L}|\p{N}/u.test(each)) ?? rows[0] ?? "";
  return makeVisible(`${line}: ${row.trim()}`);
}

/** The first and the last line that a change is shown at: one that only removed is at the line after the gap. */
export function linesOf({ range }: Hunk, lineCount: number): [first: number, last: number] {
  const first = Math.min(range.start.line, Math.max(0, lineCount - 1));
  return [first, Math.max(first, Math.min(range.end.line, lineCount) - 1)];
}

/** The change that a line has a part of. */
export function hunkAt(hunks: readonly Hunk[], line: number, lineCount: number): Hunk | undefined {
  return hunks.find((hunk) => {
    if (isShownWhole(hunk)) return true;
    const [first, last] = linesOf(hunk, lineCount);
    return first <= line && line <= last;
  });
}

/** The lines of a change as a range of whole lines. */
export function rangeIn(document: TextDocument, hunk: Hunk): Range {
  const [first, last] = linesOf(hunk, document.lineCount);
  return new Range(first, 0, last, document.lineAt(last).text.length);
}

/** Whole lines, as the server names them, whatever the document holds by now. */
export function rangeOfLines({ start, end }: LineRange): Range {
  return new Range(start.line, 0, Math.max(start.line, end.line - 1), 0);
}

/** A file name. */
export function nameOf(uri: Uri): string {
  return basename(uri.path);
}
