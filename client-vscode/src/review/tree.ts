/**
 * The view "To Review": what is pending, by turn and document, with the number of changes on the view's icon.
 */
import { type Command, type Disposable, EventEmitter, l10n, ThemeIcon, type TreeDataProvider, TreeItem, TreeItemCollapsibleState, type TreeView, Uri, window, workspace } from "vscode";

import { makeVisible } from "../characters";
import { counted } from "../messages";
import type { Hunk } from "../protocol";
import { sizeOf, titleOf } from "./places";
import { keyOf, type Pending } from "./state";

export const VIEW = "handrail.client.review";

/** A row of the view, with the changes that are below it. `turn` is the turn that it is shown under. */
export type Node =
  | { kind: "turn"; turn: string; hunks: readonly Hunk[] }
  | { kind: "document"; turn: string; uri: string; hunks: readonly Hunk[] }
  | { kind: "change"; turn: string; hunks: readonly [Hunk] };

/** What a list of nodes looks like, whoever made it: arguments of commands come from anywhere. */
export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "kind" in value && "hunks" in value && Array.isArray(value.hunks);
}

export class ReviewTree implements TreeDataProvider<Node>, Disposable {
  private readonly emitter = new EventEmitter<void>();
  private readonly view: TreeView<Node>;
  private readonly subscriptions: Disposable[];
  /** What the rows say. */
  private shown = "[]";

  readonly onDidChangeTreeData = this.emitter.event;

  constructor(private readonly pending: Pending) {
    this.view = window.createTreeView<Node>(VIEW, { treeDataProvider: this, showCollapseAll: true });
    const show = () => {
      const failure = makeVisible(pending.failure); // in the place of "Nothing to review"
      if ((this.view.message ?? "") !== failure) this.view.message = failure; // rows are laid out anew then
      const shown = JSON.stringify([...pending.turns].map(([turn, hunks]) => [turn, pending.labelOf(turn), hunks.map(rowTexts)]));
      if (shown === this.shown) return; // places have moved in the same lines, for example
      this.shown = shown;
      this.emitter.fire();
      this.showCount();
    };
    this.subscriptions = [pending.onDidChange(show), workspace.onDidChangeWorkspaceFolders(show)];
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) return [...this.pending.turns].map(([turn, hunks]) => ({ kind: "turn", turn, hunks }));
    if (node.kind === "turn") return documentsOf(node.turn, node.hunks);
    if (node.kind === "document") return node.hunks.map((hunk) => ({ kind: "change", turn: node.turn, hunks: [hunk] }));
    return [];
  }

  getTreeItem(node: Node): TreeItem {
    if (node.kind === "turn") return this.turnItem(node);
    return node.kind === "document" ? documentItem(node) : changeItem(node.hunks[0]);
  }

  dispose(): void {
    this.emitter.dispose();
    this.view.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  private turnItem({ turn, hunks }: Node): TreeItem {
    const label = makeVisible(this.pending.labelOf(turn)) || l10n.t("An earlier turn");
    const item = new TreeItem(label, TreeItemCollapsibleState.Expanded);
    item.id = turn;
    item.iconPath = new ThemeIcon("comment");
    item.description = changes(hunks.length);
    item.tooltip = `${label}\n${toReview(hunks.length)}`;
    item.contextValue = "turn";
    return item;
  }

  private showCount(): void {
    const value = this.pending.count;
    this.view.badge = value === 0 ? undefined : { value, tooltip: toReview(value) };
  }
}

function changes(n: number): string {
  return counted(n, l10n.t("1 change"), l10n.t("{0} changes", n));
}

function toReview(n: number): string {
  return counted(n, l10n.t("1 change to review"), l10n.t("{0} changes to review", n));
}

function documentsOf(turn: string, hunks: readonly Hunk[]): Node[] {
  const documents = new Map<string, Hunk[]>();
  for (const hunk of hunks) documents.set(hunk.uri, [...(documents.get(hunk.uri) ?? []), hunk]);
  return [...documents].map(([uri, own]) => ({ kind: "document", turn, uri, hunks: own }));
}

function documentItem({ turn, hunks }: Node): TreeItem {
  const uri = Uri.parse(hunks[0].uri);
  const item = new TreeItem(uri, TreeItemCollapsibleState.Expanded);
  item.id = `${turn} ${keyOf(uri)}`;
  item.iconPath = ThemeIcon.File;
  const folder = workspace.asRelativePath(uri).split("/").slice(0, -1).join("/");
  item.description = makeVisible([folder, changes(hunks.length)].filter((part) => part !== "").join(" · "));
  item.tooltip = makeVisible(workspace.asRelativePath(uri));
  item.contextValue = "document";
  return item;
}

function changeItem(hunk: Hunk): TreeItem {
  const item = new TreeItem(titleOf(hunk), TreeItemCollapsibleState.None);
  item.id = hunk.id;
  item.iconPath = new ThemeIcon(iconOf(hunk));
  item.description = sizeText(hunk);
  item.tooltip = [titleOf(hunk), item.description].filter((row) => row !== "").join("\n");
  item.contextValue = "change";
  const open: Command = { title: l10n.t("Open"), command: "handrail.client.openChange", arguments: [{ kind: "change", turn: "", hunks: [hunk] }] };
  item.command = open;
  return item;
}

function sizeText(hunk: Hunk): string {
  const size = sizeOf(hunk);
  if (!hunk.editedByUser) return size;
  return size === "" ? l10n.t("edited by you") : l10n.t("{0}, edited by you", size);
}

function rowTexts(hunk: Hunk): unknown[] {
  return [workspace.asRelativePath(Uri.parse(hunk.uri)), hunk.uri, hunk.id, titleOf(hunk), sizeOf(hunk), hunk.editedByUser];
}

function iconOf({ kind, before, after }: Hunk): string {
  if (kind === "created") return "diff-added";
  if (kind === "deleted") return "diff-removed";
  if (kind === "renamed") return "diff-renamed";
  if (after === "" && before !== "") return "remove";
  return before === "" && after !== "" ? "add" : "edit";
}
