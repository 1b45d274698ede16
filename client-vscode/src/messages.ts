/**
 * How the extension speaks to the person: what went wrong, what came of something, and the ways on.
 */
import { l10n } from "vscode";

import type { LogOutputChannel } from "vscode";

import { type Severity, showMessage } from "./present";

/** What a message offers: a button, and what it does. */
export type Way = readonly [label: string, take: () => unknown];

/** A problem that the person can do something about; `message` says what and how, and `ways` are buttons for it. */
export class UserError extends Error {
  constructor(
    message: string,
    readonly ways: readonly Way[] = [],
  ) {
    super(message);
  }
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Logs what was thrown and shows it once, with the ways on and the way to the log. Does not wait for the person. */
export function showFailure(log: LogOutputChannel, doing: string, thrown: unknown, ways: readonly Way[] = []): void {
  log.error(doing, thrown instanceof UserError ? thrown.message : thrown);
  const toLog: Way = [
    l10n.t("Show Log"),
    () => {
      log.show(true);
    },
  ];
  const own = thrown instanceof UserError ? thrown.ways : [];
  offer(log, "error", `Handrail: ${messageOf(thrown)}`, [...own, ...ways, toLog]);
}

/** Says what came of something, as a warning unless all is fine, with the ways on. Does not wait for the person. */
export function announce(log: LogOutputChannel, text: string, isFine: boolean, ways: readonly Way[]): void {
  offer(log, isFine ? "information" : "warning", text, ways);
}

/** Tells the person something that needs no answer. */
export function tell(text: string): void {
  void showMessage("information", `Handrail: ${text}`);
}

function offer(log: LogOutputChannel, severity: Severity, text: string, ways: readonly Way[]): void {
  showMessage(severity, text, ...ways.map(([label]) => label))
    .then(async (choice) => {
      await ways.find(([label]) => label === choice)?.[1]();
    })
    .catch((thrown: unknown) => {
      showFailure(log, "The action chosen in a message failed", thrown);
    });
}

/** One of two whole sentences, by a number: a translation cannot put an ending to a noun. */
export function counted(n: number, one: string, many: string): string {
  return n === 1 ? one : many;
}

/** `1 document`, `2 documents`. */
export function documents(n: number): string {
  return counted(n, l10n.t("1 document"), l10n.t("{0} documents", n));
}

/** A list as people write it: `a, b`. */
export function listed(parts: readonly string[]): string {
  return parts.reduce((list, part) => (list === "" ? part : l10n.t("{0}, {1}", list, part)), "");
}
