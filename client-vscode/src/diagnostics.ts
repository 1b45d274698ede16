/**
 * What other extensions report of documents, passed on to the server, which cannot see it by itself.
 *
 * VS Code does not say which version a report is of. What counts is that something was reported after the document got the
 * version that it has, and that no more has come for a moment.
 */
import {
  type Diagnostic,
  type DiagnosticChangeEvent,
  DiagnosticSeverity,
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

/** The sources of our own diagnostics: failed edits, and with `handrail.review.marks` the changes to review. */
// eslint-disable-next-line l10n/translated -- names of sources
const OWN: readonly (string | undefined)[] = ["handrail", "handrail review"];
/** A report of a part of the problems is followed by that of the rest. */
const QUIET_MS = 200;
/** So long a document is waited for in whose language nothing was ever reported. */
const UNKNOWN_MS = 500;
const LIMIT = 1_001;
/** A document on which nothing was reported for so long since it was opened has no problems, as far as is known. */
const SETTLED_MS = 3_000;
/** Of a document that was not asked for; with more the server ignores it. */
const LIMIT_OTHERS = 101;

/** The latest report on a document: of which version, when, and what we reported ourselves by then. */
interface Latest {
  version: number;
  time: number;
  own: string;
  others: string;
}

export class Diagnostics implements Disposable {
  private readonly latest = new Map<string, Latest>();
  /** When documents were opened; one that was open from the start is missing. */
  private readonly opened = new Map<string, number>();
  private reportedAt = 0;
  private readonly begun = Date.now();
  /** Languages in which something was reported. */
  private readonly watched = new Set<string>();
  private readonly reportEmitter = new EventEmitter<void>();
  private readonly listening: Disposable;

  constructor() {
    this.listening = Disposables.from(
      languages.onDidChangeDiagnostics((event) => {
        this.note(event);
      }),
      workspace.onDidOpenTextDocument(({ uri }) => this.opened.set(uri.toString(), Date.now())),
      workspace.onDidCloseTextDocument(({ uri }) => {
        this.latest.delete(uri.toString());
        this.opened.delete(uri.toString());
      }),
    );
  }

  /** Answers the server: waits for reports on the present text, and passes on what others than ourselves report. */
  async answer({ documents, waitMs, others }: DiagnosticsParams, client: LanguageClient): Promise<DiagnosticsResult> {
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
    if (!others || !(await this.isQuiet(deadline))) return { documents: found, unwatched };
    return { documents: found, unwatched, others: others.flatMap(({ uri }) => this.reportOnOther(uri, client)) };
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
      this.reportedAt = Date.now();
      this.latest.set(name, { version: document.version, time: this.reportedAt, own, others });
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

  /** Whether nothing was reported on any document for a moment before the deadline. */
  private async isQuiet(deadline: number): Promise<boolean> {
    for (;;) {
      const until = this.reportedAt + QUIET_MS;
      if (Date.now() >= until) return true;
      if (Date.now() >= deadline) return false;
      await this.nextReport(Math.min(until, deadline) - Date.now());
    }
  }

  /** The errors and warnings of a document that was not changed, if its present text is reported on. */
  private reportOnOther(uri: string, client: LanguageClient): DocumentDiagnostics[] {
    const name = client.protocol2CodeConverter.asUri(uri).toString();
    const document = workspace.textDocuments.find((open) => open.uri.toString() === name);
    if (document === undefined) return [];
    const latest = this.latest.get(name);
    const isOld = Date.now() - (this.opened.get(name) ?? this.begun) >= SETTLED_MS;
    if (latest === undefined ? !isOld : latest.version !== document.version) return [];
    const serious = languages.getDiagnostics(document.uri).filter(({ severity }) => severity <= DiagnosticSeverity.Warning);
    return [{ uri, version: document.version, diagnostics: passedOn(serious).slice(0, LIMIT_OTHERS) }];
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
  return OWN.includes(source);
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
