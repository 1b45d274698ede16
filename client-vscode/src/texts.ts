/**
 * Texts that are only shown, as documents that cannot be changed.
 */
import { type Disposable, Uri, window, workspace } from "vscode";

/** The name of an answer's document: its language has no links (package.json), which Markdown's would make of commands, too. */
export const ANSWER = "Handrail Answer";

const SCHEME = "handrail-text";
const KEPT = 20; // texts; older ones can no longer be opened anew

export class Texts implements Disposable {
  private readonly texts = new Map<string, string>();
  private shown = 0;
  private readonly provider = workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.query) ?? "This text is no longer kept.",
  });

  /** Opens a text under a file name, whose ending says what language it is in. */
  async show(name: string, text: string): Promise<void> {
    this.shown += 1;
    this.texts.set(`${this.shown}`, text);
    for (const old of [...this.texts.keys()].slice(0, -KEPT)) this.texts.delete(old);
    await open(Uri.from({ scheme: SCHEME, path: name, query: `${this.shown}` }));
  }

  dispose(): void {
    this.provider.dispose();
  }
}

/** Opens a document to look at; the next one that is looked at takes its tab. */
export async function open(uri: Uri): Promise<void> {
  await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
}
