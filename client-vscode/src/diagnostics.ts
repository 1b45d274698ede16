/**
 * What other extensions report of documents, passed on to the server, which cannot see it by itself.
 *
 * VS Code does not say which version a report is of, nor whose it is. What counts is that another extension reported
 * something after the document got the version that it has, and that no more has come for a moment.
 *
 * Each time diagnostics are set, here or by another extension, VS Code may tell that twice, up to 50 ms late: for what this
 * process has set, and once the window has got that. So if what others report is the same as before, being told does not
 * mean that they have reported again. It counts if nothing else can be the reason. Our own diagnostics are held back while
 * reports are waited for, since they would be one.
 */
import {
  commands,
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
/** VS Code's timer for what was set: one of the same length that is started later ends later, also when all are late. */
const DELAY_MS = 50;
/** A document on which nothing was reported for so long since it was opened has no problems, as far as is known. */
const SETTLED_MS = 3_000;
/** Of a document that was not asked for; with more the server ignores it. */
const LIMIT_OTHERS = 101;

/** The latest report on a document: of which version, when, and what we and others have reported in all. */
interface Latest {
  version: number;
  time: number;
  own: string;
  others: readonly Diagnostic[];
}

/** The version of the latest report on a document of which only we have reported something. */
const NEVER = -1;
const NOTHING: Latest = { version: NEVER, time: 0, own: "[]", others: [] };

/** Is given what our server reports on a document, and what shows that. */
export type Publish = (uri: Uri, found: readonly Diagnostic[], show: () => void) => void;

export class Diagnostics implements Disposable {
  private readonly latest = new Map<string, Latest>();
  /** When documents were opened; one that was open from the start is missing. */
  private readonly opened = new Map<string, number>();
  /** How much of what was set on documents VS Code may not have told of yet. */
  private readonly untold = new Map<string, number>();
  /** How often reports on documents are waited for. */
  private readonly awaited = new Map<string, number>();
  /** What shows our own latest report on a document, where that is held back. */
  private readonly held = new Map<string, () => void>();
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
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) void this.noteChange(document.uri);
      }),
    );
  }

  /** Shows a report of our own, unless it is shown already; while those of others are waited for, later. */
  readonly publish: Publish = (uri, found, show) => {
    const name = uri.toString();
    if (this.awaited.has(name)) {
      this.held.set(name, () => {
        this.publish(uri, found, show);
      });
    } else if (contentOf(found) !== contentOf(languages.getDiagnostics(uri).filter(isOwn))) {
      show();
      void this.settle(name);
    }
  };

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
        else if (await this.holdingBack(name, () => this.isReported(document, deadline))) {
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

  /** Takes note of the reports of others. */
  private note({ uris }: DiagnosticChangeEvent): void {
    for (const uri of uris) {
      const name = uri.toString();
      const document = workspace.textDocuments.find((open) => open.uri.toString() === name);
      if (document === undefined) continue;
      const own = contentOf(languages.getDiagnostics(uri).filter(isOwn));
      const others = othersOn(uri);
      const before = this.latest.get(name) ?? NOTHING;
      const mayBeOld = isSame(others, before.others) && (own !== before.own || this.untold.has(name));
      void this.settle(name);
      if (mayBeOld) {
        this.latest.set(name, { ...before, own });
        continue;
      }
      this.watched.add(document.languageId);
      this.reportedAt = Date.now();
      this.latest.set(name, { version: document.version, time: this.reportedAt, own, others });
    }
    this.reportEmitter.fire();
  }

  /** Takes note of what was reported on a document before it changed, which VS Code may tell of only now. */
  private async noteChange(uri: Uri): Promise<void> {
    const name = uri.toString();
    this.latest.set(name, { ...(this.latest.get(name) ?? NOTHING), others: othersOn(uri) });
    count(this.untold, name, 1);
    await delay();
    count(this.untold, name, -1);
  }

  /** Waits until VS Code has told of all that is set on a document by now. */
  private async settle(name: string): Promise<void> {
    count(this.untold, name, 1);
    try {
      // What the window has to tell by then comes before its answers: with the second, at the latest.
      for (const each of [1, 2]) await commands.executeCommand("setContext", "handrail.settled", each);
      await delay();
    } catch {
      // VS Code ends: it tells nothing more
    } finally {
      count(this.untold, name, -1);
    }
  }

  /** Waits for reports of others on a document, and holds ours back meanwhile. */
  private async holdingBack<T>(name: string, wait: () => Promise<T>): Promise<T> {
    count(this.awaited, name, 1);
    try {
      return await wait();
    } finally {
      count(this.awaited, name, -1);
      if (!this.awaited.has(name)) {
        this.held.get(name)?.();
        this.held.delete(name);
      }
    }
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
    const reported = this.latest.get(name)?.version ?? NEVER;
    const isOld = Date.now() - (this.opened.get(name) ?? this.begun) >= SETTLED_MS;
    if (reported === NEVER ? !isOld : reported !== document.version) return [];
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

/** What others than ourselves have reported on a document. */
function othersOn(uri: Uri): readonly Diagnostic[] {
  return languages.getDiagnostics(uri).filter((each) => !isOwn(each));
}

function isSame(some: readonly Diagnostic[], others: readonly Diagnostic[]): boolean {
  return some.length === others.length && some.every((each, at) => each === others[at]);
}

/** All that is said by diagnostics; by themselves they are written without some of it. */
function contentOf(found: readonly Diagnostic[]): string {
  return JSON.stringify(found.map((each) => Object.entries(each)));
}

function delay(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, DELAY_MS));
}

/** Changes a count, which is missing at 0. */
function count(counts: Map<string, number>, name: string, change: number): void {
  const sum = (counts.get(name) ?? 0) + change;
  if (sum === 0) counts.delete(name);
  else counts.set(name, sum);
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
