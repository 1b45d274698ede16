/**
 * A question to the person: all of it, and its answers, for as long as it is open.
 *
 * What a yes would allow stands there in full, with every character seen. No comes first, and nothing has the focus.
 */
import { makeExact, makeVisible } from "../src/characters";
import type { Approval, ChatQuestion } from "../src/protocol";
import { headingOf, NO, subjectOf, titleOf } from "../src/words";
import { button, type Child, cut, h } from "./dom";

const ONCE = "allow"; // the yes that reaches least far
const PAUSE_MS = 400; // before a yes can be given: a click that was meant for what stood there before is none
const SHORT = 60; // characters that stand in one line with their title
const LONGEST = 120; // characters of what a question was about, once it has ended

type Answer = (choice: string) => void;

/** What stands where a question was asked. */
export function questionOf({ id, approval, until, subject, end }: ChatQuestion, answer: (approval: string, choice: string) => void): HTMLElement {
  if (approval === undefined) {
    return h("p", { class: "remark" }, "A question about ", h("code", {}, cut(makeVisible(subject), LONGEST)), ` ${makeVisible(end ?? "has ended")}.`);
  }
  const heading = h("div", { role: "heading", "aria-level": "3", class: "heading", id: `heading ${id}` }, headingOf(approval));
  const choose = (choice: string) => {
    answer(approval.id, choice);
  };
  const answers = h("div", { class: "answers" }, ...answersOf(approval, choose));
  const parts = partsOf(approval);
  return h("section", { class: "question", role: "group", "aria-label": headingOf(approval), "data-question": approval.id }, heading, ...parts, answers, timeOf(until));
}

function timeOf(until: string | undefined): HTMLElement | undefined {
  if (until === undefined) return undefined;
  return h("div", { class: "quiet", "data-until": until }, leftOf(until));
}

/** How long a question still waits, in words. */
function leftOf(until: string): string {
  const end = new Date(until);
  const time = end.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const minutes = Math.max(0, Math.ceil((end.getTime() - Date.now()) / 60_000));
  return `${minutes} ${minutes === 1 ? "minute" : "minutes"} left. Without an answer by ${time} it counts as a no.`;
}

/** Tells the time that is left anew, at each open question. */
export function tellTimeLeft(): void {
  for (const each of document.querySelectorAll<HTMLElement>("[data-until]")) each.textContent = leftOf(each.dataset["until"] ?? "");
}

function partsOf(asked: Approval): Child[] {
  const { kind, detail, tool, folder, subject, diff, rules = [], choices } = asked;
  return [
    ...block(subjectOf(asked), subject),
    ...part("Why it is asked:", detail),
    ...part("The tool:", kind === "question" ? "" : tool),
    ...part("In the folder:", folder ?? ""),
    ...part("What would be written:", diff ?? ""),
    ...part("“Allow for this session” and “Always allow here” add:", choices.includes("session") ? rules.join("\n") : ""),
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
  const input = h("input", { type: "text", "aria-label": "An answer in your own words", "data-key": "words" });
  const send = button("Answer", "send", () => {
    if (input.value.trim() !== "") choose(input.value);
  });
  return [...buttons, input, send];
}
