/**
 * What the person reads of a question: all of it, as plain text, and what its answers are called.
 */
import { makeExact } from "./characters";
import type { Approval, ApprovalKind } from "./protocol";

/** The command that shows an open question, and then takes an answer. */
export const ANSWER_COMMAND = "handrail.client.answer";

/** The choice that every question has, as its first. */
export const NO = "deny";

const HEADINGS: Record<ApprovalKind, string> = {
  command: "May this command run?",
  file: "May these files be used?",
  outside: "May these files outside the workspace be used?",
  tool: "May this be done?",
  question: "The model asks:",
  saving: "May these documents be saved?",
  appeared: "May these files stay?",
};

const SUBJECTS: Record<ApprovalKind, string> = {
  command: "The command:",
  file: "The files:",
  outside: "The files:",
  tool: "What would be done:",
  question: "The question:",
  saving: "The documents:",
  appeared: "The files, which appeared while a command ran:",
};

const TITLES: Record<string, string> = {
  deny: "No",
  allow: "Allow once",
  session: "Allow for this session",
  always: "Always allow here",
};

const INDENT = "    ";

/** What is asked, in our own words alone. */
export function headingOf({ kind }: Approval): string {
  return HEADINGS[kind];
}

/** What an answer is called; those to the model's own question are its text. */
export function titleOf({ kind }: Approval, choice: string): string {
  if (kind !== "question") return TITLES[choice] ?? choice;
  return choice === NO ? "No answer" : choice;
}

/** What stands above the subject of a question. */
export function subjectOf({ kind }: Approval): string {
  return SUBJECTS[kind];
}

/**
 * All of a question. What is not ours is indented, and nothing in it is left out.
 *
 * What it is about follows its reason, since a list of answers covers the first lines of an editor.
 */
export function textOf(question: Approval): string {
  const { tool, subject, folder, detail, diff, rules = [], choices, kind } = question;
  const parts = [headingOf(question)];
  const add = (title: string, text: string | undefined) => {
    if (text !== undefined && text !== "") parts.push(title, quoted(text));
  };
  add("Why it is asked:", detail);
  if (kind !== "question") add("The tool:", tool);
  add("In the folder:", folder);
  add(SUBJECTS[kind], subject);
  add("What would be written:", diff);
  if (kind === "question") add("The answers:", choices.slice(1).join("\n"));
  if (choices.includes("session")) add("“Allow for this session” and “Always allow here” add:", rules.join("\n"));
  return `${parts.join("\n\n")}\n`;
}

function quoted(text: string): string {
  return makeExact(text)
    .split("\n")
    .map((line) => INDENT + line)
    .join("\n");
}
