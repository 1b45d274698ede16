/**
 * What other extensions report of documents, passed on to the server, which cannot see it by itself.
 *
 * VS Code does not say which version a report is of. What counts is that something was reported after the document got the
 * version that it has, and that no more has come for a moment.
 */
import {
  type Diagnostic,
  type DiagnosticChangeEvent,
  type Disposable,
  Disposable as Disposables,
  EventEmitter,
  languages,
  type TextDocument,
  type Uri,
  workspace,
} from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { ClientDiagnostic, DiagnosticsParams, DiagnosticsResult, DocumentDiagnostics } from "./protocol";
import { rangeOf } from "./ranges";

const OWN = "handrail";
/** A report of a part of the problems is followed by that of the rest. */
const QUIET_MS = 200;
/** So long a document is waited for in whose language nothing was ever reported. */
const UNKNOWN_MS = 500;
const LIMIT = 1_001;

/** The latest report on a document: of which version, when, and what we reported ourselves by then. */
interface Latest {
  version: number;
  time: number;
  own: string;
  others: string;
}

export class Diagnostics implements Disposable {
  private readonly latest = new Map<string, Latest>();
  /** Languages in which something was reported. */
  private readonly watched = new Set<string>();
  private readonly reportEmitter = new EventEmitter<void>();
  private readonly listening: Disposable;

  constructor() {
    this.listening = Disposables.from(
      languages.onDidChangeDiagnostics((event) => {
        this.note(event);
      }),
      workspace.onDidCloseTextDocument(({ uri }) => this.latest.delete(uri.toString())),
    );
  }

  /** Answers the server: waits for reports on the present text, and passes on what others than ourselves report. */
  async answer({ documents, waitMs }: DiagnosticsParams, client: LanguageClient): Promise<DiagnosticsResult> {
    const spelled = (uri: Uri) => client.code2ProtocolConverter.asUri(uri);
    if (documents === null) {
      const real = languages.getDiagnostics().filter(([{ scheme }]) => scheme === "file" || scheme === "untitled");
      const all = real.map(([uri, found]) => ({ uri: spelled(uri), diagnostics: passedOn(found) }));
      return { documents: all.filter(({ diagnostics }) => diagnostics.length > 0) };
    }
    const deadline = Date.now() + waitMs;
    const found: DocumentDiagnostics[] = [];
    const unwatched: string[] = [];
    await Promise.all(
      documents.map(async ({ uri }) => {
        const name = client.protocol2CodeConverter.asUri(uri).toString();
        const document = workspace.textDocuments.find((open) => open.uri.toString() === name);
        if (document === undefined) unwatched.push(uri);
        else if (await this.isReported(document, deadline)) {
          found.push({ uri, version: document.version, diagnostics: passedOn(languages.getDiagnostics(document.uri)) });
        } else if (!this.watched.has(document.languageId)) unwatched.push(uri);
      }),
    );
    return { documents: found, unwatched };
  }

  dispose(): void {
    this.listening.dispose();
    this.reportEmitter.dispose();
  }

  /** Takes note of reports; those of which only our own part has changed are ours. */
  private note({ uris }: DiagnosticChangeEvent): void {
    for (const uri of uris) {
      const name = uri.toString();
      const document = workspace.textDocuments.find((open) => open.uri.toString() === name);
      if (document === undefined) continue;
      const all = languages.getDiagnostics(uri);
      const own = JSON.stringify(all.filter(isOwn));
      const others = JSON.stringify(all.filter((each) => !isOwn(each)));
      const before = this.latest.get(name) ?? { own: "[]", others: "[]", version: -1, time: 0 };
      if (own !== before.own && others === before.others) {
        this.latest.set(name, { ...before, own });
        continue;
      }
      this.watched.add(document.languageId);
      this.latest.set(name, { version: document.version, time: Date.now(), own, others });
    }
    this.reportEmitter.fire();
  }

  /** Whether something was reported on the present text before the deadline. */
  private async isReported(document: TextDocument, deadline: number): Promise<boolean> {
    const last = this.watched.has(document.languageId) ? deadline : Math.min(deadline, Date.now() + UNKNOWN_MS);
    for (;;) {
      const latest = this.latest.get(document.uri.toString());
      const isThere = latest?.version === document.version;
      const until = isThere ? Math.min(last, latest.time + QUIET_MS) : last;
      if (Date.now() >= until) return isThere;
      await this.nextReport(until - Date.now());
    }
  }

  /** Waits for the next report, but no longer than this. */
  private nextReport(longestMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        listening.dispose();
        resolve();
      };
      const timer = setTimeout(done, longestMs);
      const listening = this.reportEmitter.event(done);
    });
  }
}

function isOwn({ source }: Diagnostic): boolean {
  return source === OWN;
}

function passedOn(found: readonly Diagnostic[]): ClientDiagnostic[] {
  return found
    .filter((each) => !isOwn(each))
    .slice(0, LIMIT)
    .map(({ range, message, severity, source, code }) => ({
      range: rangeOf(range),
      message,
      severity: severity + 1,
      ...(source === undefined ? {} : { source }),
      ...(code === undefined ? {} : { code: String(typeof code === "object" ? code.value : code) }),
    }));
}
