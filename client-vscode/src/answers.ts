/**
 * The model's answers as read-only documents.
 */
import { type Disposable, Uri, window, workspace } from "vscode";

import type { TurnReport } from "./protocol";

const SCHEME = "handrail-answer";
const KEPT = 20; // answers; older ones can no longer be opened anew

export class Answers implements Disposable {
  private readonly texts = new Map<string, string>();
  private readonly provider = workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.query) ?? "This answer is no longer kept.",
  });

  /** Opens the answer of a turn. */
  async show({ turn, answer }: TurnReport): Promise<void> {
    this.texts.set(turn, answer);
    for (const old of [...this.texts.keys()].slice(0, -KEPT)) this.texts.delete(old);
    const uri = Uri.from({ scheme: SCHEME, path: "Answer.md", query: turn });
    await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
  }

  dispose(): void {
    this.provider.dispose();
  }
}
