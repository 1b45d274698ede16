/**
 * A question to the person: all of it, and its answers, for as long as it is open.
 *
 * What a yes would allow stands there in full, with every character seen. No comes first, and nothing has the focus.
 */
import { l10n } from "vscode";

import { makeExact, makeVisible } from "../src/characters";
import type { Approval, ChatQuestion } from "../src/protocol";
import { headingOf, isOwn, NO, rulesTitleOf, subjectOf, textTitleOf, titleOf, toolOf } from "../src/words";
import { button, type Child, cut, h } from "./dom";

const ONCE = "allow"; // the yes that reaches least far
const PAUSE_MS = 400; // before a yes can be given: a click that was meant for what stood there before is none
const SHORT = 60; // characters that stand in one line with their title
const LONGEST = 120; // characters of what a question was about, once it has ended

type Answer = (choice: string) => void;

/** What stands where a question was asked. */
export function questionOf({ id, approval, until, subject, end }: ChatQuestion, answer: (approval: string, choice: string) => void): HTMLElement {
  if (approval === undefined) {
    return h("p", { class: "remark" }, ...endedOf(h("code", {}, cut(makeVisible(subject), LONGEST)), end));
  }
  const heading = h("div", { role: "heading", "aria-level": "3", class: "heading", id: `heading ${id}` }, headingOf(approval));
  const choose = (choice: string) => {
    answer(approval.id, choice);
  };
  const answers = h("div", { class: "answers" }, ...answersOf(approval, choose));
  const parts = partsOf(approval);
  return h("section", { class: "question", role: "group", "aria-label": headingOf(approval), "data-question": approval.id }, heading, ...parts, answers, timeOf(until, isOwn(approval)));
}

/** What a question was about, and how it ended, in the order that the language has. */
function endedOf(subject: HTMLElement, end: string | undefined): Child[] {
  const text = end === undefined ? l10n.t("A question about {0} has ended.") : l10n.t("A question about {0} {1}.", "{0}", makeVisible(end));
  const [before = "", ...after] = text.split("{0}");
  return [before, subject, after.join("{0}")];
}

function timeOf(until: string | undefined, own: boolean): HTMLElement | undefined {
  if (until === undefined) return undefined;
  return h("div", { class: "quiet", "data-until": until, "data-own": String(own) }, leftOf(until, own));
}

/** How long a question still waits, and what then follows, in words; *own*: it is the model's own. */
function leftOf(until: string, own: boolean): string {
  const end = new Date(until);
  const time = end.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const minutes = Math.max(0, Math.ceil((end.getTime() - Date.now()) / 60_000));
  if (own) {
    return minutes === 1
      ? l10n.t("1 minute left. Without an answer by {0}, the turn continues without one.", time)
      : l10n.t("{0} minutes left. Without an answer by {1}, the turn continues without one.", minutes, time);
  }
  return minutes === 1
    ? l10n.t("1 minute left. Without an answer by {0}, the answer is no.", time)
    : l10n.t("{0} minutes left. Without an answer by {1}, the answer is no.", minutes, time);
}

/** Tells the time that is left anew, at each open question. */
export function tellTimeLeft(): void {
  for (const each of document.querySelectorAll<HTMLElement>("[data-until]")) {
    each.textContent = leftOf(each.dataset["until"] ?? "", each.dataset["own"] === "true");
  }
}

function partsOf(asked: Approval): Child[] {
  const { detail, folder, subject, diff, rules = [], choices } = asked;
  return [
    ...block(subjectOf(asked), subject),
    ...part(l10n.t("Reason for this question:"), detail),
    ...part(l10n.t("The tool:"), toolOf(asked)),
    ...part(l10n.t("In the folder:"), folder ?? ""),
    ...part(textTitleOf(asked), diff ?? ""),
    ...part(rulesTitleOf(asked), choices.includes("session") ? rules.join("\n") : ""),
  ];
}

function part(title: string, text: string): Child[] {
  if (text === "") return [];
  if (text.length <= SHORT && !text.includes("\n")) return [h("div", { class: "fact" }, h("span", { class: "quiet" }, title), " ", h("code", {}, makeExact(text)))];
  return block(title, text);
}

function block(title: string, text: string): Child[] {
  return [h("div", { class: "quiet" }, title), h("pre", { tabindex: "0", role: "group", "aria-label": title }, makeExact(text))];
}

function answersOf(asked: Approval, choose: Answer): Child[] {
  const buttons = asked.choices.map((choice) =>
    button(makeExact(titleOf(asked, choice)), `answer ${choice}`, () => {
      choose(choice);
    }, { class: choice === ONCE ? "primary" : "" }),
  );
  const others = buttons.filter((_, at) => asked.choices[at] !== NO);
  for (const each of others) each.disabled = true;
  setTimeout(() => {
    for (const each of others) each.disabled = false;
  }, PAUSE_MS);
  if (asked.takesText !== true) return buttons;
  const input = h("input", { type: "text", "aria-label": l10n.t("An answer in your own words"), "data-key": "words" });
  const send = button(l10n.t("Answer"), "send", () => {
    if (input.value.trim() !== "") choose(input.value);
  });
  return [...buttons, input, send];
}
