/**
 * Texts that are only shown, as documents that cannot be changed.
 */
import { randomUUID } from "node:crypto";
import { type Disposable, l10n, TabInputText, Uri, window, workspace } from "vscode";

/* eslint-disable l10n/translated -- package.json knows these names */
/** Names of documents whose language has no links (package.json); Markdown would make them of commands, too. */
export const ANSWER = "Handrail Answer";
export const QUESTION = "Handrail Question";
export const OUTPUT = "Handrail Output";
/* eslint-enable l10n/translated */

export const SCHEME = "handrail-text";
const KEPT = 20; // texts; older ones can no longer be opened anew

export class Texts implements Disposable {
  private readonly texts = new Map<string, string>();
  /** Those that are shown in passing, the oldest first. */
  private readonly passing: Uri[] = [];
  private added = 0;
  /** A tab that was kept from an earlier window shows none of this one's texts. */
  private readonly window = randomUUID();
  private readonly provider = workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.query) ?? l10n.t("This text is no longer available."),
  });

  /** Opens a text under a file name, whose ending says what language it is in. */
  async show(name: string, text: string, preserveFocus = false): Promise<void> {
    const uri = this.add(name, text);
    this.passing.push(uri);
    for (const old of this.passing.splice(0, Math.max(0, this.passing.length - KEPT))) this.remove(old);
    await open(uri, preserveFocus);
  }

  /** Keeps a text to be opened, until it is removed. */
  add(name: string, text: string): Uri {
    this.added += 1;
    const query = `${this.window}-${this.added}`;
    this.texts.set(query, text);
    return Uri.from({ scheme: SCHEME, path: name, query });
  }

  /** Forgets a text. */
  remove(uri: Uri): void {
    this.texts.delete(uri.query);
  }

  dispose(): void {
    this.provider.dispose();
  }
}

/** Opens a document to look at; the next one that is looked at takes its tab. */
export async function open(uri: Uri, preserveFocus = false): Promise<void> {
  await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true, preserveFocus });
}

/** Closes the tabs of a document. */
export async function close(uri: Uri): Promise<void> {
  const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
  const own = tabs.filter(({ input }) => input instanceof TabInputText && input.uri.toString() === uri.toString());
  if (own.length > 0) await window.tabGroups.close(own, true);
}
