/**
 * The texts that checkpoints keep, as documents to compare: what a document held before a turn or step, and what the turn left.
 */
import { commands, type Disposable, l10n, Uri, workspace } from "vscode";

import { makeVisible } from "../characters";
import type { Connection } from "../connection";
import { tell } from "../messages";
import { CHECKPOINT_READ, type CheckpointPath } from "../protocol";

const SCHEME = "handrail-checkpoint";
const NOT_TEXT = l10n.t("This file is not text.");

type Side = "before" | "after";

export class Sides implements Disposable {
  private readonly provider: Disposable;

  constructor(private readonly connection: Connection) {
    this.provider = workspace.registerTextDocumentContentProvider(SCHEME, { provideTextDocumentContent: (uri) => this.text(uri) });
  }

  /** Shows what a turn, or a step and what follows it, changed: in one document, or in all of them in one editor. */
  async compare(checkpoint: string, label: string, paths: readonly CheckpointPath[]): Promise<void> {
    const [only] = paths;
    const title = makeVisible(label);
    if (only === undefined) tell(l10n.t("this checkpoint contains no documents."));
    else if (paths.length > 1) {
      const sides = paths.map((path) => [Uri.parse(path.uri), beforeOf(checkpoint, path), afterOf(checkpoint, path)]);
      await commands.executeCommand("vscode.changes", title, sides);
    } else {
      const [before, after] = [sideOf(checkpoint, only.uri, "before"), sideOf(checkpoint, only.uri, "after")];
      await commands.executeCommand("vscode.diff", before, after, l10n.t("{0} ({1})", makeVisible(only.path), title), { preview: true });
    }
  }

  /** Shows a document as it is now beside what a checkpoint has of it. The list that asks for it keeps the focus. */
  async compareNow(checkpoint: string, uri: string): Promise<void> {
    const [now, before] = [Uri.parse(uri), sideOf(checkpoint, uri, "before")];
    const title = l10n.t("{0} (now ↔ checkpoint)", makeVisible(workspace.asRelativePath(now)));
    const exists = await workspace.fs.stat(now).then(() => true, () => false);
    if (exists) await commands.executeCommand("vscode.diff", now, before, title, { preview: true, preserveFocus: true });
    else await commands.executeCommand("vscode.open", before, { preview: true, preserveFocus: true });
  }

  dispose(): void {
    this.provider.dispose();
  }

  private async text(uri: Uri): Promise<string> {
    const [checkpoint, document, side] = JSON.parse(uri.query) as [string, string, Side];
    const { text, exists } = await this.connection.request(CHECKPOINT_READ, { checkpoint, uri: document, after: side === "after" });
    return text ?? (exists ? `${NOT_TEXT}\n` : "");
  }
}

/** A side that did not exist is missing. */
function beforeOf(checkpoint: string, { uri, change }: CheckpointPath): Uri | undefined {
  return change === "created" ? undefined : sideOf(checkpoint, uri, "before");
}

function afterOf(checkpoint: string, { uri, change }: CheckpointPath): Uri | undefined {
  return change === "deleted" ? undefined : sideOf(checkpoint, uri, "after");
}

function sideOf(checkpoint: string, uri: string, side: Side): Uri {
  return Uri.from({ scheme: SCHEME, path: Uri.parse(uri).path, query: JSON.stringify([checkpoint, uri, side]) });
}
