/**
 * What the person reads of a question: all of it, as plain text, and what its answers are called.
 */
import { l10n } from "vscode";

import { makeExact, makeVisible } from "./characters";
import type { Approval } from "./protocol";

/** The command that shows an open question, and then takes an answer. */
export const ANSWER_COMMAND = "handrail.client.answer";

/** The choice that every question has, as its first. */
export const NO = "deny";

// Servers that are newer may ask in ways that are not named here.
const HEADINGS: Partial<Record<string, string>> = {
  command: l10n.t("May this command run?"),
  file: l10n.t("May this file be used?"),
  outside: l10n.t("May this file outside the workspace be used?"),
  tool: l10n.t("May this tool be used?"),
  question: l10n.t("The model asks:"),
  saving: l10n.t("May this document be saved?"),
  appeared: l10n.t("May this new file, which was moved away, be put back?"),
};
const HEADINGS_OF_SEVERAL: typeof HEADINGS = {
  ...HEADINGS,
  file: l10n.t("May these files be used?"),
  outside: l10n.t("May these files outside the workspace be used?"),
  saving: l10n.t("May these documents be saved?"),
  appeared: l10n.t("May these new files, which were moved away, be put back?"),
};

// Older servers do not say whether a tool changes the files.
const READS: Partial<Record<string, string>> = {
  file: l10n.t("May the agent read this file?"),
  outside: l10n.t("May the agent read this file outside the workspace?"),
};
const READS_OF_SEVERAL: typeof READS = {
  file: l10n.t("May the agent read these files?"),
  outside: l10n.t("May the agent read these files outside the workspace?"),
};
const CHANGES: Partial<Record<string, string>> = {
  file: l10n.t("May the agent change this file?"),
  outside: l10n.t("May the agent change this file outside the workspace?"),
};
const CHANGES_OF_SEVERAL: typeof CHANGES = {
  file: l10n.t("May the agent change these files?"),
  outside: l10n.t("May the agent change these files outside the workspace?"),
};

const SUBJECTS: Partial<Record<string, string>> = {
  command: l10n.t("The command:"),
  file: l10n.t("The file:"),
  outside: l10n.t("The file:"),
  tool: l10n.t("What would be done:"),
  question: l10n.t("The question:"),
  saving: l10n.t("The document:"),
  appeared: l10n.t("The file, which appeared while a command ran:"),
};
const SUBJECTS_OF_SEVERAL: typeof SUBJECTS = {
  ...SUBJECTS,
  file: l10n.t("The files:"),
  outside: l10n.t("The files:"),
  saving: l10n.t("The documents:"),
  appeared: l10n.t("The files, which appeared while a command ran:"),
};

/** Tools whose one path may be a folder, which is several files. */
const OF_FOLDERS: readonly string[] = ["list_files", "search"];

const TITLES: Record<string, string> = {
  deny: l10n.t("No"),
  allow: l10n.t("Allow once"),
  session: l10n.t("Allow in this conversation"),
  always: l10n.t("Always allow in this workspace"),
};
/** The yes of a question that offers no lasting one. */
const YES = l10n.t("Yes");

/** The tool of a question that handrail itself asks: whether the turn may continue. */
export const OURSELVES = "handrail";

const INDENT = "    ";

/** What is asked, in our own words alone. */
export function headingOf(asked: Approval): string {
  const { kind, tool } = asked;
  if (tool === OURSELVES) return l10n.t("May the turn continue?");
  return headingsFor(asked)[kind] ?? l10n.t("Handrail asks: {0}", makeVisible(tool));
}

function headingsFor(asked: Approval): typeof HEADINGS {
  const isOfSeveral = isAboutSeveral(asked);
  if (typeof asked.changesFiles !== "boolean") return isOfSeveral ? HEADINGS_OF_SEVERAL : HEADINGS;
  if (asked.changesFiles) return isOfSeveral ? CHANGES_OF_SEVERAL : CHANGES;
  return isOfSeveral ? READS_OF_SEVERAL : READS;
}

/** Whether the subject of a question about files is, or may be, more than one file. */
function isAboutSeveral({ subject, tool }: Approval): boolean {
  return subject.includes(", ") || subject.endsWith("/") || OF_FOLDERS.includes(tool);
}

/** What an answer is called; those to the model's own question are its text. */
export function titleOf(asked: Approval, choice: string): string {
  if (isOwn(asked)) return choice === NO ? l10n.t("No answer") : choice;
  const couldLast = asked.choices.some((each) => each === "session" || each === "always");
  return choice === "allow" && !couldLast ? YES : (TITLES[choice] ?? choice);
}

/** Whether it is the model's own question, which asks for no permission. */
export function isOwn({ kind }: Approval): boolean {
  return kind === "question";
}

/** What stands above the subject of a question. */
export function subjectOf(asked: Approval): string {
  if (asked.tool === OURSELVES) return l10n.t("What happened:");
  return (isAboutSeveral(asked) ? SUBJECTS_OF_SEVERAL : SUBJECTS)[asked.kind] ?? l10n.t("What would be done:");
}

/** The tool that asks; empty for what is not about a tool. */
export function toolOf({ kind, tool }: Approval): string {
  return kind === "question" || kind === "saving" || tool === OURSELVES ? "" : tool;
}

/** What stands above the text that a question is about. */
export function textTitleOf(asked: Approval): string {
  if (asked.kind !== "appeared") return l10n.t("What would be written:");
  return isAboutSeveral(asked) ? l10n.t("Their contents:") : l10n.t("Its contents:");
}

/** What stands above the rules that lasting answers add. */
export function rulesTitleOf({ choices }: Approval): string {
  return choices.includes("always") ? l10n.t("“Allow in this conversation” and “Always allow in this workspace” add:") : l10n.t("“Allow in this conversation” adds:");
}

/**
 * All of a question. What is not ours is indented, and nothing in it is left out.
 *
 * What it is about follows its reason, since a list of answers covers the first lines of an editor.
 */
export function textOf(question: Approval): string {
  const { subject, folder, detail, diff, rules = [], choices, kind } = question;
  const parts = [headingOf(question)];
  const add = (title: string, text: string | undefined) => {
    if (text !== undefined && text !== "") parts.push(title, quoted(text));
  };
  add(l10n.t("Reason for this question:"), detail);
  add(l10n.t("The tool:"), toolOf(question));
  add(l10n.t("In the folder:"), folder);
  add(subjectOf(question), subject);
  add(textTitleOf(question), diff);
  if (kind === "question") add(l10n.t("The answers:"), choices.slice(1).join("\n"));
  if (choices.includes("session")) add(rulesTitleOf(question), rules.join("\n"));
  return `${parts.join("\n\n")}\n`;
}

function quoted(text: string): string {
  return makeExact(text)
    .split("\n")
    .map((line) => INDENT + line)
    .join("\n");
}
