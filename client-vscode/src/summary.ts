/**
 * What a turn came to, in one or two sentences for a notification.
 */
import { l10n } from "vscode";

import { counted } from "./messages";
import type { Outcome, TurnReport } from "./protocol";

const LONGEST_ANSWER = 200; // characters; a notification shows about this much

const COMMANDS = "terminal"; // the tool whose outcomes are files that a command has changed

/** How the turn ended, what became of its edits, and how many files its commands have changed. */
export function summary(report: TurnReport): string {
  const changed = report.outcomes.filter(({ status, tool }) => status === "landed" && tool === COMMANDS);
  const edited = report.outcomes.filter((outcome) => !changed.includes(outcome));
  const became = [edited.length > 0 ? edits(edited) : "", changed.length > 0 ? changedBy(changed.length) : ""];
  const parts = [ending(report), ...(report.outcomes.length > 0 ? became : [beginning(report.answer)])];
  return `Handrail: ${parts.filter((part) => part !== "").join(" ")}`;
}

/** Why it ended; empty when it simply finished, or when the answer says it. */
function ending({ state, reason, answer }: TurnReport): string {
  if (state === "cancelled") return l10n.t("Stopped.");
  if (!reason) return state === "failed" ? l10n.t("The turn failed.") : "";
  return answer.startsWith(reason) ? "" : reason.replace(/[^.!?]$/, "$&.");
}

function edits(outcomes: Outcome[]): string {
  const landed = outcomes.filter(({ status }) => status === "landed");
  const failed = outcomes.filter(({ status }) => status === "failed").length;
  const denied = outcomes.filter(({ status }) => status === "denied").length;
  const documents = new Set(landed.map(({ uri }) => uri)).size;
  const tried = landed.length > 0 ? landedOf(landed.length, documents, failed) : failedOf(failed);
  if (denied > 0) return deniedOf(denied, tried);
  return tried !== "" ? l10n.t("{0}.", tried) : l10n.t("The documents already had these changes.");
}

function changedBy(files: number): string {
  return counted(files, l10n.t("Commands changed 1 file."), l10n.t("Commands changed {0} files.", files));
}

/** What landed, with what did not. */
function landedOf(edits: number, documents: number, failed: number): string {
  const where = documents === 1 ? l10n.t("{0} edits landed in 1 document", edits) : l10n.t("{0} edits landed in {1} documents", edits, documents);
  const landed = edits === 1 ? l10n.t("1 edit landed in 1 document") : where;
  return failed === 0 ? landed : l10n.t("{0}, {1} did not", landed, failed);
}

function failedOf(edits: number): string {
  return edits === 0 ? "" : counted(edits, l10n.t("1 edit did not land"), l10n.t("{0} edits did not land", edits));
}

function deniedOf(edits: number, tried: string): string {
  if (tried !== "") return l10n.t("{0}, {1} denied.", tried, edits);
  return counted(edits, l10n.t("1 edit denied."), l10n.t("{0} edits denied.", edits));
}

/** The answer's first paragraph, or its beginning: all of it is a click away. */
function beginning(answer: string): string {
  const [text = ""] = answer.trim().split(/\r?\n\s*\n/);
  return text.length <= LONGEST_ANSWER ? text : `${text.slice(0, LONGEST_ANSWER).trimEnd()}…`;
}
