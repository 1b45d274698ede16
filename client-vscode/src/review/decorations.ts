/**
 * Marks what was added, changed and removed, in the editors that show documents with pending changes.
 *
 * Rows that were removed are not in the document; they stand behind the row where they were, and in its hover.
 */
import {
  type DecorationOptions,
  type Disposable,
  l10n,
  OverviewRulerLane,
  Range,
  TabInputTextDiff,
  type TextEditor,
  ThemeColor,
  window,
} from "vscode";

import { makeVisible } from "../characters";
import { counted } from "../messages";
import { codeHover } from "../present";
import type { Hunk } from "../protocol";
import { linesOf, rowsOf } from "./places";
import { keyOf, type Pending } from "./state";

const LONGEST_REMOVED = 100; // characters behind a row; the hover has more
const MOST_IN_HOVER = 60; // rows

type Kind = "added" | "changed" | "removed";

const RULER = { added: "editorOverviewRuler.addedForeground", changed: "editorOverviewRuler.modifiedForeground", removed: "editorOverviewRuler.deletedForeground" };

export class Decorations implements Disposable {
  private readonly rows = {
    added: decorationType("added", { backgroundColor: new ThemeColor("diffEditor.insertedLineBackground") }),
    changed: decorationType("changed", { backgroundColor: new ThemeColor("diffEditor.insertedLineBackground") }),
    removed: decorationType("removed", {
      borderColor: new ThemeColor("editorGutter.deletedBackground"),
      borderStyle: "dashed",
      borderWidth: "1px 0 0 0",
    }),
  };
  /** Editors that have marks. */
  private readonly marked = new WeakSet<TextEditor>();
  private readonly subscriptions: Disposable[];

  constructor(private readonly pending: Pending) {
    this.subscriptions = [
      pending.onDidChange((changed) => {
        for (const editor of window.visibleTextEditors) {
          if (changed === "all" || changed.has(keyOf(editor.document.uri))) this.show(editor);
        }
      }),
      window.onDidChangeVisibleTextEditors((editors) => {
        for (const editor of editors) this.show(editor);
      }),
    ];
  }

  dispose(): void {
    [...this.subscriptions, ...Object.values(this.rows)].forEach((each) => {
      each.dispose();
    });
  }

  private show(editor: TextEditor): void {
    const hunks = isDifference(editor) ? [] : this.pending.of(editor.document.uri).filter(hasRows);
    if (hunks.length === 0 && !this.marked.has(editor)) return;
    const found: Record<Kind, DecorationOptions[]> = { added: [], changed: [], removed: [] };
    for (const hunk of hunks) found[kindOf(hunk)].push(...optionsOf(hunk, editor.document.lineCount));
    for (const kind of ["added", "changed", "removed"] as const) editor.setDecorations(this.rows[kind], found[kind]);
    if (hunks.length === 0) this.marked.delete(editor);
    else this.marked.add(editor);
  }
}

function decorationType(kind: Kind, looks: object) {
  return window.createTextEditorDecorationType({
    ...looks,
    isWholeLine: true,
    overviewRulerColor: new ThemeColor(RULER[kind]),
    overviewRulerLane: OverviewRulerLane.Left,
  });
}

/** Whether an editor is a side of a difference, which has marks of its own; those without a column are parts of others. */
function isDifference({ viewColumn }: TextEditor): boolean {
  const group = window.tabGroups.all.find((each) => each.viewColumn === viewColumn);
  return viewColumn === undefined || group?.activeTab?.input instanceof TabInputTextDiff;
}

/** Whether a change is some rows of its document. What differs in a moved one, VS Code marks beside line numbers. */
function hasRows({ kind, before, after }: Hunk): boolean {
  return (kind === "changed" || kind === "created") && before + after !== "";
}

function kindOf({ before, after }: Hunk): Kind {
  if (after === "") return "removed";
  return before === "" ? "added" : "changed";
}

/** Its rows, and at the first of them what stood there before. */
function optionsOf(hunk: Hunk, lineCount: number): DecorationOptions[] {
  const [first, last] = linesOf(hunk, lineCount);
  const removed = rowsOf(hunk.before);
  if (removed.length === 0) return [{ range: new Range(first, 0, last, 0) }];
  const shown = makeVisible(removed.map((row) => row.trim()).join(" ⏎ "));
  const text = shown.length > LONGEST_REMOVED ? `${shown.slice(0, LONGEST_REMOVED - 1)}…` : shown;
  const more = removed.length - MOST_IN_HOVER;
  const hover = [...removed.slice(0, MOST_IN_HOVER), ...(more > 0 ? [counted(more, l10n.t("… and 1 more line"), l10n.t("… and {0} more lines", more))] : [])];
  const place: DecorationOptions = {
    range: new Range(first, 0, first, 0),
    hoverMessage: codeHover(hover.map((row) => `-${row}`).join("\n"), "diff"),
    renderOptions: {
      after: {
        contentText: `− ${text}`,
        color: new ThemeColor("gitDecoration.deletedResourceForeground"),
        fontStyle: "italic",
        margin: "0 0 0 3em",
      },
    },
  };
  return last > first ? [place, { range: new Range(first + 1, 0, last, 0) }] : [place];
}
