/**
 * The view "Checkpoints": turns by conversation, with their steps and what each changed.
 */
import { type Disposable, EventEmitter, l10n, ThemeIcon, type TreeDataProvider, TreeItem, TreeItemCollapsibleState, type TreeView, Uri, window } from "vscode";

import { makeVisible } from "../characters";
import { changeOf } from "../checkpoints";
import { counted, documents } from "../messages";
import type { Checkpoint, CheckpointPath } from "../protocol";
import type { Group, History } from "./state";

export const VIEW = "handrail.client.checkpoints";

/** A row of the view. `id` is what is restored or compared at the row: a turn, or a step with what follows it. */
export type Row =
  | { kind: "group"; group: Group }
  | { kind: "turn"; id: string; checkpoint: Checkpoint; paths: readonly CheckpointPath[] }
  | { kind: "step"; id: string; checkpoint: Checkpoint; paths: readonly CheckpointPath[]; number: number }
  | { kind: "document"; id: string; checkpoint: Checkpoint; paths: readonly CheckpointPath[]; path: CheckpointPath };

/** A row that has something to restore. */
export type Kept = Exclude<Row, { kind: "group" }>;

/** What such a row looks like, whoever made it: arguments of commands come from anywhere. */
export function isKept(value: unknown): value is Kept {
  return typeof value === "object" && value !== null && "checkpoint" in value && "paths" in value && Array.isArray(value.paths);
}

const ICONS: Partial<Record<string, string>> = {
  turn: "comment",
  quickFix: "lightbulb",
  undo: "discard",
  restore: "history",
  redo: "redo",
};

export class HistoryTree implements TreeDataProvider<Row>, Disposable {
  private readonly emitter = new EventEmitter<void>();
  private readonly view: TreeView<Row>;
  private readonly subscriptions: Disposable[];
  private shown = "";

  readonly onDidChangeTreeData = this.emitter.event;

  constructor(private readonly history: History) {
    this.view = window.createTreeView<Row>(VIEW, { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [
      this.view.onDidChangeVisibility(({ visible }) => {
        history.look(visible);
      }),
      history.onDidChange(() => {
        const failure = makeVisible(history.failure); // in the place of "No checkpoints yet"
        if ((this.view.message ?? "") !== failure) this.view.message = failure; // rows are laid out anew then
        const shown = JSON.stringify(history.groups);
        if (shown === this.shown) return;
        this.shown = shown;
        this.emitter.fire();
      }),
    ];
    history.look(this.view.visible);
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) return this.history.groups.map((group) => ({ kind: "group", group }));
    if (row.kind === "group") return row.group.checkpoints.map((checkpoint) => ({ kind: "turn", id: checkpoint.id, checkpoint, paths: checkpoint.paths }));
    if (row.kind === "document") return [];
    const documents = row.paths.map((path): Row => ({ kind: "document", id: row.id, checkpoint: row.checkpoint, paths: [path], path }));
    return row.kind === "turn" ? [...documents, ...stepsOf(row.checkpoint)] : documents;
  }

  getTreeItem(row: Row): TreeItem {
    switch (row.kind) {
      case "group":
        return groupItem(row.group);
      case "turn":
        return turnItem(row.checkpoint);
      case "step":
        return stepItem(row);
      case "document":
        return documentItem(row);
    }
  }

  dispose(): void {
    this.emitter.dispose();
    this.view.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }
}

/** The steps of a turn that has several; each is taken back with those after it, so the first one is the whole turn. */
function stepsOf(checkpoint: Checkpoint): Row[] {
  return checkpoint.steps.slice(1).map(({ id }, at) => {
    const later = new Set(checkpoint.steps.slice(at + 1).flatMap(({ paths }) => paths));
    const paths = checkpoint.paths.filter(({ path }) => later.has(path));
    return { kind: "step", id, checkpoint, paths, number: at + 2 };
  });
}

function groupItem({ session, title, isShown, checkpoints }: Group): TreeItem {
  const checkpointCount = counted(checkpoints.length, l10n.t("1 checkpoint"), l10n.t("{0} checkpoints", checkpoints.length));
  const label = session === "" ? l10n.t("Quick fixes, and undos from a review") : makeVisible(title);
  const item = new TreeItem(label, isShown ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed);
  item.id = `group ${session}`;
  item.description = isShown ? l10n.t("this conversation") : checkpointCount;
  item.tooltip = `${label}\n${checkpointCount}`;
  item.contextValue = "group";
  return item;
}

function turnItem({ id, kind, name, time, paths }: Checkpoint): TreeItem {
  const item = new TreeItem(makeVisible(name), TreeItemCollapsibleState.Collapsed);
  const at = new Date(time);
  item.id = id;
  item.iconPath = new ThemeIcon(ICONS[kind] ?? "circle-small");
  item.description = `${clock(at)} · ${documents(paths.length)}`;
  const listed = paths.map((each) => l10n.t("{0}: {1}", changeOf(each), each.path)).join("\n");
  item.tooltip = makeVisible(`${name}\n${at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "medium" })}\n${listed}`);
  item.contextValue = kind === "restore" || kind === "redo" ? "restore" : "turn";
  return item;
}

function stepItem({ id, number, paths }: Extract<Row, { kind: "step" }>): TreeItem {
  const item = new TreeItem(l10n.t("From step {0} on", number), TreeItemCollapsibleState.Collapsed);
  item.id = id;
  item.iconPath = new ThemeIcon("debug-step-over");
  item.description = documents(paths.length);
  item.tooltip = l10n.t("The changes of step {0} and of all later steps. A step is one answer of the model, with the tool calls in it. Steps that changed nothing are not counted.", number);
  item.contextValue = "step";
  return item;
}

function documentItem(row: Extract<Row, { kind: "document" }>): TreeItem {
  const { id, path } = row;
  const item = new TreeItem(Uri.parse(path.uri), TreeItemCollapsibleState.None);
  item.id = `${id} ${path.uri}`;
  item.iconPath = ThemeIcon.File;
  const folder = path.path.split("/").slice(0, -1).join("/");
  item.description = makeVisible([folder, changeOf(path)].filter((part) => part !== "").join(" · "));
  item.tooltip = makeVisible(l10n.t("{0} ({1})", path.path, changeOf(path)));
  item.contextValue = "document";
  item.command = { title: l10n.t("Compare"), command: "handrail.client.compareCheckpoint", arguments: [row] };
  return item;
}

/** The person's own time: of today the hour alone, else with the day. */
function clock(time: Date): string {
  const isToday = time.toDateString() === new Date().toDateString();
  return time.toLocaleString(undefined, isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}
