/**
 * How the extension speaks to the person: one way to say that something went wrong.
 */
import { type LogOutputChannel, window } from "vscode";

/** A problem that the person can do something about; `message` says what and how. */
export class UserError extends Error {}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Logs what was thrown and shows it once, with the way to the log. Does not wait for the person. */
export function showFailure(log: LogOutputChannel, doing: string, thrown: unknown): void {
  log.error(doing, thrown instanceof UserError ? thrown.message : thrown);
  void window.showErrorMessage(`Handrail: ${messageOf(thrown)}`, "Show Log").then((choice) => {
    if (choice !== undefined) log.show(true);
  });
}

/** `1 edit`, `2 edits`: a count with its noun. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
