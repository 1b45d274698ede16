/**
 * How the extension speaks to the person: what went wrong, what came of something, and the ways on.
 */
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
    "Show Log",
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

/** `1 edit`, `2 edits`: a count with its noun. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
