/**
 * Ranges of the editor's as the protocol has them, and in words.
 */
import { l10n, type Range as EditorRange } from "vscode";

import type { Range } from "./protocol";

/** A selection; an empty one is a range without length. */
export function rangeOf({ start, end }: EditorRange): Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** `line 3` or `lines 3–5`: the lines that a range has anything of, counted from 1. */
export function linesOf({ start, end }: Range): string {
  const first = start.line + 1;
  const last = Math.max(first, end.character === 0 ? end.line : end.line + 1);
  return first === last ? l10n.t("line {0}", first) : l10n.t("lines {0}–{1}", first, last);
}
