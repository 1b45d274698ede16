/** One card a tool call: what it does, what came of it, and what can be done about that. Its output folds. */
import { l10n } from "vscode";

import { makeReadable, makeVisible } from "../src/characters";
import type { ChatCall, ChatTodo, Failure } from "../src/protocol";
import { button, type Child, cut, h } from "./dom";
import { hunkOf } from "./hunk";
import type { Send } from "./items";

// What only a newer server knows is called as the server calls it.
const MARKS: Partial<Record<string, string>> = { running: "●", done: "✓", failed: "✗", lost: "–" };
const STATES: Partial<Record<string, string>> = { running: l10n.t("Running"), done: l10n.t("Done"), failed: l10n.t("Failed"), lost: l10n.t("No result") };
const TODO_MARKS: Partial<Record<string, string>> = { open: "○", active: "◐", done: "✓" };
const TODO_STATES: Partial<Record<string, string>> = { open: l10n.t("To do"), active: l10n.t("In progress"), done: l10n.t("Done") };
const OTHER_MARK = "•";
const LONGEST_TITLE = 160; // characters
const LONGEST_SUMMARY = 300;
const COMMAND = "terminal"; // the tool whose output can be shown whole

/** The card of a call. */
export function callOf(call: ChatCall, send: Send): HTMLElement {
  const { state, todos, command, hunks } = call;
  const head = headOf(call);
  const body = bodyOf(call, send);
  const card = { class: `call ${state}`, "data-call": call.call };
  if (body.length === 0) return h("div", card, h("div", { class: "head" }, ...head));
  const isOpen = state !== "done" || [todos, command, hunks].some((each) => each !== undefined);
  return h("div", card, h("details", { open: isOpen, "data-key": "fold" }, h("summary", { class: "head", "data-key": "head" }, ...head), ...body));
}

function bodyOf(call: ChatCall, send: Send): HTMLElement[] {
  const { id, tool, todos, failures = [], hunks = [] } = call;
  const edits = [...failures.map((each) => failureOf(each, send)), ...hunks.map((each) => hunkOf(id, each, send))];
  const output = tool === COMMAND || edits.length === 0 ? outputOf(call) : []; // of an edit it tells the model the same
  const actions = actionsOf(call, send);
  const rest = actions.length > 0 ? [h("div", { class: "actions" }, ...actions)] : [];
  return [...(todos === undefined ? [] : [listOf(todos)]), ...output, ...edits, ...rest];
}

/** The failures of its edits are told in full below, so the head does not repeat them. */
function headOf({ state, title, code, summary = "", failures = [] }: ChatCall): Child[] {
  const told = failures.length > 0 ? "" : summary;
  return [
    h("span", { class: `mark ${state}`, "aria-hidden": "true" }, MARKS[state] ?? OTHER_MARK),
    h("span", { class: "hidden" }, l10n.t("{0}: ", STATES[state] ?? makeVisible(state))),
    h("code", { class: "title" }, cut(makeVisible(title), LONGEST_TITLE)),
    code === undefined ? undefined : h("strong", { class: "failed" }, ` ${code}`),
    told === "" ? undefined : h("span", { class: "quiet summary" }, ` ${cut(makeVisible(told), LONGEST_SUMMARY)}`),
  ];
}

function actionsOf({ id, call, tool, uri, state, command, awaited, hunks = [] }: ChatCall, send: Send): HTMLElement[] {
  const found: HTMLElement[] = [];
  const add = (title: string, key: string, message: Parameters<Send>[0]) => {
    found.push(
      button(title, key, () => {
        send(message);
      }),
    );
  };
  if (uri !== undefined && hunks.length === 0) add(l10n.t("Open"), "open", { type: "place", item: id });
  if (tool === COMMAND && (state === "done" || state === "failed")) add(l10n.t("Show all output"), "output", { type: "output", call });
  if (command !== undefined) add(l10n.t("Stop this command"), "end", { type: "end", command });
  if (awaited === true) add(l10n.t("Stop this command"), "interrupt", { type: "interrupt", call });
  return found;
}

function outputOf({ output = "", hidden = 0, state, tool }: ChatCall): HTMLElement[] {
  if (output === "") return [];
  const text = makeReadable(output);
  const isEnd = state === "running" || tool === COMMAND;
  const note = hidden > 0 ? h("div", { class: "quiet" }, hiddenOf(hidden.toLocaleString(), isEnd)) : undefined;
  const shown = h("pre", { tabindex: "0", role: "group", "aria-label": l10n.t("Output"), "data-key": "output" }, text);
  return [isEnd ? h("div", {}, note, shown) : h("div", {}, shown, note)];
}

function hiddenOf(characters: string, isEnd: boolean): string {
  return isEnd ? l10n.t("… {0} characters before these", characters) : l10n.t("… {0} characters more", characters);
}

function listOf(todos: ChatTodo[]): HTMLElement {
  const items = todos.map(({ text, state }) =>
    h(
      "li",
      { class: `todo ${state}` },
      h("span", { "aria-hidden": "true", class: "mark" }, TODO_MARKS[state] ?? OTHER_MARK),
      h("span", { class: "hidden" }, l10n.t("{0}: ", TODO_STATES[state] ?? makeVisible(state))),
      makeVisible(text),
    ),
  );
  return h("ul", { class: "todos" }, ...items);
}

/** An edit that did not land, with the places where it could. */
function failureOf({ id, message, candidates }: Failure, send: Send): HTMLElement {
  const places = candidates.map(({ range }, candidate) =>
    button(l10n.t("Apply at line {0}", range.start.line + 1), `apply ${id} ${candidate}`, () => {
      send({ type: "apply", failure: id, candidate });
    }),
  );
  const ways = [
    ...places,
    ...(places.length > 0 ? [button(l10n.t("Show the change"), `compare ${id}`, () => { send({ type: "compare", failure: id }); })] : []),
    button(l10n.t("Dismiss"), `dismiss ${id}`, () => {
      send({ type: "dismiss", failure: id });
    }),
  ];
  return h(
    "div",
    { class: "failure", role: "group", "aria-label": l10n.t("An edit that did not land") },
    h("div", {}, makeVisible(message)),
    h("div", { class: "actions" }, ...ways),
  );
}
