/**
 * The other side of a difference: documents without their pending changes, as the server gives them; and the marks beside
 * line numbers that VS Code makes of that, apart from git's.
 */
import { type Disposable, EventEmitter, type QuickDiffProvider, scm, type SourceControl, Uri, workspace } from "vscode";

import type { Connection } from "../connection";
import { REVIEW_BASE } from "../protocol";
import { keyOf, type Pending } from "./state";

export const BASE_SCHEME = "handrail-base";

/** The document that holds what another one would hold without its pending changes, or without those of a turn. */
export function baseOf(uri: Uri, turn?: string): Uri {
  return Uri.from({ scheme: BASE_SCHEME, path: uri.path, query: JSON.stringify([uri.toString(), turn ?? null]) });
}

/** The document that another one is the base of. */
export function ofBase(base: Uri): { uri: Uri; turn: string | undefined } {
  const [uri, turn] = JSON.parse(base.query) as [string, string | null];
  return { uri: Uri.parse(uri), turn: turn ?? undefined };
}

export class Bases implements Disposable {
  private readonly emitter = new EventEmitter<Uri>();
  private readonly subscriptions: Disposable[];
  private source: SourceControl | undefined;
  private known = "";

  constructor(
    private readonly connection: Connection,
    private readonly pending: Pending,
  ) {
    this.subscriptions = [
      workspace.registerTextDocumentContentProvider(BASE_SCHEME, {
        onDidChange: this.emitter.event,
        provideTextDocumentContent: (uri) => this.text(uri),
      }),
      pending.onDidChange((changed) => {
        this.offer();
        for (const { uri } of workspace.textDocuments) {
          if (uri.scheme === BASE_SCHEME && (changed === "all" || changed.has(keyOf(ofBase(uri).uri)))) this.emitter.fire(uri);
        }
      }),
    ];
  }

  dispose(): void {
    this.emitter.dispose();
    this.source?.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  /** Where nothing is pending, a document does not differ from its base. */
  private async text(base: Uri): Promise<string> {
    const { uri, turn } = ofBase(base);
    if (this.isOtherThanText(uri)) return ""; // VS Code would keep a document that is read here open for minutes, and it could not be undone
    const isPending = this.pending.of(uri).some(({ turns }) => turn === undefined || turns.includes(turn));
    if (!isPending) return textNow(uri);
    const params = { uri: uri.toString(), ...(turn === undefined ? {} : { turn }) };
    try {
      return (await this.connection.request(REVIEW_BASE, params)).text;
    } catch {
      return textNow(uri); // what was pending has gone
    }
  }

  /** Whether a file that is not text is pending: it is compared with nothing. */
  private isOtherThanText(uri: Uri): boolean {
    return this.pending.of(uri).some(({ kind }) => kind === "whole");
  }

  /**
   * Has VS Code mark what differs. It asks once which document another one is compared with, and again when a provider is
   * new, so it gets a new one whenever something is pending in other documents than before.
   */
  private offer(): void {
    const documents = [...new Set(this.pending.all.map(({ uri }) => keyOf(uri)))];
    const known = documents.join("\n");
    if (known === this.known) return;
    this.known = known;
    if (documents.length === 0) {
      this.source?.dispose();
      this.source = undefined;
      return;
    }
    this.source ??= createSource();
    const source: { quickDiffProvider?: QuickDiffProvider | undefined } = this.source;
    source.quickDiffProvider = undefined;
    source.quickDiffProvider = {
      provideOriginalResource: (uri) => (this.pending.of(uri).length > 0 && !this.isOtherThanText(uri) ? baseOf(uri) : undefined),
    };
  }
}

/** The stable way to such marks is a source control; this one has nothing to show of its own. */
function createSource(): SourceControl {
  const source = scm.createSourceControl("handrail", "Handrail");
  source.inputBox.visible = false;
  source.count = 0; // the view "To Review" counts
  return source;
}

async function textNow(uri: Uri): Promise<string> {
  try {
    return (await workspace.openTextDocument(uri)).getText();
  } catch {
    return ""; // it was removed
  }
}
