/**
 * Keep and undo changes, go to them and compare them: what the menus, keys and views of the review do.
 *
 * A command comes from a row of the view, from the marks beside line numbers, from a key at the cursor, or from the palette.
 */
import { commands, l10n, type LogOutputChannel, Selection, TabInputCustom, TabInputText, type TextDocument, Uri, window, workspace } from "vscode";

import type { Connection } from "../connection";
import { announce, tell, UserError, type Way } from "../messages";
import { type Hunk, REVIEW_KEEP, REVIEW_LIST, REVIEW_NEXT, REVIEW_OPEN, REVIEW_PREVIOUS, REVIEW_UNDO } from "../protocol";
import type { ReviewConflict, ReviewKept, ReviewUndone } from "../protocol";
import { open, type Texts } from "../texts";
import { baseOf, BASE_SCHEME, ofBase } from "./base";
import { compare } from "./compare";
import { hunkAt, isShownWhole, linesOf, nameOf } from "./places";
import type { Pending } from "./state";
import { isNode, type Node } from "./tree";

/** So many conflicts are named; nobody reads more of a message. */
const SHOWN = 3;

const NOW = l10n.t("Now:");
const WITHOUT = l10n.t("Without the change:");

/** Which changes: of a document, of a turn, or by their ids. */
type Which = { hunks: string[]; typed?: boolean; turn?: string } | { uri: string } | { turn: string } | { all: true };

export class ReviewActions {
  constructor(
    private readonly connection: Connection,
    private readonly pending: Pending,
    private readonly texts: Texts,
    private readonly log: LogOutputChannel,
  ) {}

  /** All commands, by name. */
  get commands(): Record<string, (...values: unknown[]) => unknown> {
    return {
      "handrail.client.keepChange": async (...values) => this.keep(await this.meant(values)),
      "handrail.client.undoChange": async (...values) => this.undo(await this.meant(values)),
      "handrail.client.keepDocument": (...values) => this.keep(documentOf(values)),
      "handrail.client.undoDocument": (...values) => this.undo(documentOf(values)),
      "handrail.client.keepAll": () => this.keep({ all: true }),
      "handrail.client.undoAll": () => this.undo({ all: true }),
      "handrail.client.nextChange": () => this.step(REVIEW_NEXT),
      "handrail.client.previousChange": () => this.step(REVIEW_PREVIOUS),
      "handrail.client.keepListed": (node) => this.keep(listedIn(node)),
      "handrail.client.undoListed": (node) => this.undo(undoneIn(node)),
      "handrail.client.openChange": (node) => (isNode(node) ? Promise.all(node.hunks.slice(0, 1).map((hunk) => this.open(hunk))) : undefined),
      "handrail.client.compareListed": (node) => compare(this.pending, rowOf(node)),
      "handrail.client.compareChanges": () => compare(this.pending, undefined),
      "handrail.client.openReview": async () => open(Uri.parse((await this.connection.request(REVIEW_OPEN, {})).uri)),
    };
  }

  private keep(which: Which): Promise<ReviewKept> {
    return this.connection.request(REVIEW_KEEP, which);
  }

  /** Undoes, and says what was not undone, with both texts. */
  private async undo(which: Which): Promise<ReviewUndone> {
    const done = await this.connection.request(REVIEW_UNDO, which);
    if (done.conflicts.length > 0) await this.tellConflicts(done.conflicts, which);
    return done;
  }

  private async tellConflicts(conflicts: readonly ReviewConflict[], which: Which): Promise<void> {
    const listed = await this.connection.request(REVIEW_LIST, {});
    const hunks = conflicts.map(({ hunk }) => hunk);
    const typed = listed.filter(({ id, editedByUser, kind }) => hunks.includes(id) && editedByUser && kind === "changed");
    const said = conflicts.slice(0, SHOWN).map(({ uri, reason }) => l10n.t("A change in {0} was not undone. {1}", nameOf(Uri.parse(uri)), reason));
    const more = conflicts.length - SHOWN;
    if (more > 0) said.push(l10n.t("More changes that were not undone: {0}.", more));
    const texts = conflicts.map(({ uri, now, before }) => `${uri}\n\n${NOW}\n${now}\n${WITHOUT}\n${before}`).join("\n\n");
    const ways: Way[] = [[l10n.t("Show Both Texts"), () => this.texts.show(`${l10n.t("Not undone")}.txt`, texts)]];
    if (typed.length === hunks.length && conflicts.every(({ editedByUser }) => editedByUser)) {
      const ofTurn = "turn" in which ? { turn: which.turn } : {};
      ways.push([l10n.t("Undo My Edits Too"), () => this.undo({ hunks, typed: true, ...ofTurn })]);
    }
    announce(this.log, `Handrail: ${said.join(" ")}`, false, ways);
  }

  /** What a command means: the marks beside line numbers, or what is at the cursor. */
  private async meant([first, second, third]: unknown[]): Promise<Which> {
    if (first instanceof Uri && Array.isArray(second) && typeof third === "number") {
      return this.meantBeside(first, second as LineChange[], third);
    }
    const at = placeOf(first);
    const removed = this.removed(at.document.uri);
    const hunk = removed ?? hunkAt(await this.listed(at.document.uri), at.line, at.document.lineCount);
    if (hunk === undefined) throw new UserError(l10n.t("Nothing is pending at line {0} of {1}.", at.line + 1, nameOf(at.document.uri)));
    return { hunks: [hunk.id] };
  }

  /** VS Code's own comparison has found a difference; the changes in it are those that touch its lines. */
  private async meantBeside(uri: Uri, changes: readonly LineChange[], index: number): Promise<Which> {
    const change = changes[index];
    const document = await workspace.openTextDocument(uri.scheme === BASE_SCHEME ? ofBase(uri).uri : uri);
    const first = Math.max(0, (change?.modifiedStartLineNumber ?? 1) - 1);
    const last = Math.max(first, (change?.modifiedEndLineNumber ?? 1) - 1);
    const hunks = (await this.listed(document.uri)).filter((hunk) => {
      const [from, to] = linesOf(hunk, document.lineCount);
      const gap = hunk.range.start.line === hunk.range.end.line ? 1 : 0; // it may be told as after the row above
      return from - gap <= last && first <= to;
    });
    if (hunks.length === 0) throw new UserError(l10n.t("Nothing was done: these changes in {0} had already been kept or undone.", nameOf(document.uri)));
    return { hunks: hunks.map(({ id }) => id) };
  }

  /** What is pending in a document just now: places that are shown may be a moment old. */
  private listed(uri: Uri): Promise<readonly Hunk[]> {
    return this.connection.request(REVIEW_LIST, { uri: uri.toString() });
  }

  private async step(way: typeof REVIEW_NEXT | typeof REVIEW_PREVIOUS): Promise<void> {
    if (this.pending.count === 0) {
      tell(l10n.t("nothing is pending."));
      return;
    }
    await this.open(await this.connection.request(way, this.here() ?? {}));
  }

  /** Where the person is among the changes; a removed document is shown as it was. */
  private here(): { uri: string; line: number } | undefined {
    const shown = shownUri();
    if (shown === undefined) return undefined;
    const uri = shown.scheme === BASE_SCHEME ? ofBase(shown).uri : shown;
    if (!isReviewed(uri)) return undefined;
    const line = this.pending.of(uri).some(isShownWhole) ? 0 : window.activeTextEditor?.selection.active.line;
    return { uri: uri.toString(), line: line ?? 0 };
  }

  /** The removal of a document, if it is shown as it was before. */
  private removed(shown: Uri): Hunk | undefined {
    return shown.scheme === BASE_SCHEME ? this.pending.of(ofBase(shown).uri).find(({ kind }) => kind === "deleted") : undefined;
  }

  private async open(hunk: Hunk): Promise<void> {
    const uri = Uri.parse(hunk.uri);
    if (hunk.kind === "deleted") {
      await commands.executeCommand("vscode.open", baseOf(uri));
      return;
    }
    if (hunk.kind === "whole") {
      await commands.executeCommand("vscode.open", uri);
      return;
    }
    const document = await workspace.openTextDocument(uri);
    const [line] = linesOf(hunk, document.lineCount);
    await window.showTextDocument(document, { selection: new Selection(line, 0, line, 0) });
  }
}

/** A difference as VS Code's own comparison has it; lines count from 1. */
interface LineChange {
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

/** A line of a document: where a menu of line numbers was opened, or the cursor. */
function placeOf(value: unknown): { document: TextDocument; line: number } {
  const editor = window.activeTextEditor;
  if (editor === undefined) throw new UserError(l10n.t("Open a document and go to a change first."));
  const isPlace = typeof value === "object" && value !== null && "lineNumber" in value && typeof value.lineNumber === "number";
  return { document: editor.document, line: isPlace ? (value.lineNumber as number) - 1 : editor.selection.active.line };
}

/** The document in the active editor, which for a picture is not one of text. */
function shownUri(): Uri | undefined {
  const input = window.tabGroups.activeTabGroup.activeTab?.input;
  const other = input instanceof TabInputText || input instanceof TabInputCustom ? input.uri : undefined;
  return window.activeTextEditor?.document.uri ?? other;
}

/** A row of the view. VS Code gives none if the row was just replaced; nothing else is ever meant then. */
function rowOf(value: unknown): Node {
  if (!isNode(value)) throw new UserError(l10n.t("This row of the view has just changed. Check it, then try again."));
  return value;
}

/** The changes below a row of the view. */
function listedIn(value: unknown): { hunks: string[] } {
  return { hunks: rowOf(value).hunks.map(({ id }) => id) };
}

/** What undoing a row means: of a turn, or of its documents, only what that turn changed. */
function undoneIn(value: unknown): Which {
  const { kind, turn } = rowOf(value);
  return { ...listedIn(value), ...(kind === "change" || turn === "" ? {} : { turn }) };
}

/** A document: of a menu, or the active one. */
function documentOf([first]: unknown[]): Which {
  const uri = first instanceof Uri ? first : window.activeTextEditor?.document.uri;
  if (uri === undefined) throw new UserError(l10n.t("No document is active. First open the one whose changes you want to keep or undo."));
  return { uri: (uri.scheme === BASE_SCHEME ? ofBase(uri).uri : uri).toString() };
}

function isReviewed(uri: Uri): boolean {
  return uri.scheme === "file" || uri.scheme === "untitled";
}
