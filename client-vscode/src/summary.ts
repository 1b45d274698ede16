/**
 * What a turn came to, in one or two sentences for a notification.
 */
import { count } from "./messages";
import type { Outcome, TurnReport } from "./protocol";

const LONGEST_ANSWER = 200; // characters; a notification shows about this much

/** How the turn ended, and what became of its edits. */
export function summary(report: TurnReport): string {
  const parts = [ending(report), report.outcomes.length > 0 ? edits(report.outcomes) : beginning(report.answer)];
  return `Handrail: ${parts.filter((part) => part !== "").join(" ")}`;
}

/** Why it ended; empty when it simply finished, or when the answer says it. */
function ending({ state, reason, answer }: TurnReport): string {
  if (state === "cancelled") return "Stopped.";
  if (!reason) return state === "failed" ? "The turn failed." : "";
  return answer.startsWith(reason) ? "" : reason.replace(/[^.!?]$/, "$&.");
}

function edits(outcomes: Outcome[]): string {
  const landed = outcomes.filter(({ status }) => status === "landed");
  const failed = outcomes.filter(({ status }) => status === "failed").length;
  const denied = outcomes.filter(({ status }) => status === "denied").length;
  const documents = new Set(landed.map(({ uri }) => uri)).size;
  const parts: string[] = [];
  if (landed.length > 0) parts.push(`${count(landed.length, "edit")} landed in ${count(documents, "document")}`);
  if (failed > 0) parts.push(landed.length > 0 ? `${failed} did not` : `${count(failed, "edit")} did not land`);
  if (denied > 0) parts.push(`${parts.length > 0 ? String(denied) : count(denied, "edit")} denied`);
  return parts.length > 0 ? `${parts.join(", ")}.` : "Everything was already there.";
}

/** The answer's first paragraph, or its beginning: all of it is a click away. */
function beginning(answer: string): string {
  const [text = ""] = answer.trim().split(/\r?\n\s*\n/);
  return text.length <= LONGEST_ANSWER ? text : `${text.slice(0, LONGEST_ANSWER).trimEnd()}…`;
}
