/**
 * The page of the chat view: shows the conversation as the extension tells it, and tells what the person does.
 *
 * Nothing is kept here but the draft. A page that was hidden or reloaded asks for the whole conversation again.
 */
import { l10n } from "vscode";

import type { Attempted, FromView, ServerState, ToView } from "../src/chat/messages";
import type { ChatChanged, ChatItem, ChatQuestion, ChatStatus } from "../src/protocol";
import { makeReadable } from "../src/characters";
import { headingOf } from "../src/words";
import { Composer, type Draft } from "./composer";
import { button, cut, h, replace } from "./dom";
import { Shown, type Surroundings } from "./items";
import { tellTimeLeft } from "./question";

declare function acquireVsCodeApi(): { postMessage(message: FromView): void; getState(): unknown; setState(state: Partial<Draft>): void };

const NEAR_PX = 40; // from the end: whoever is that near reads along
const FIRST = 200; // items that are shown at first; the others on demand
const TIME_MS = 15_000; // so often the time that a question has left is told anew
const SPOKEN = 500; // characters of an answer that are said to a screen reader
const api = acquireVsCodeApi();
let readsAlong = true;
let complaint: Attempted | undefined; // what the shown complaint is about

const send = (message: FromView) => {
  if (message.type !== "complete") complain("");
  if (message.type === "answer") readsAlong = true;
  api.postMessage(message);
};

const list = h("div", { id: "items", role: "log", "aria-live": "off", "aria-label": l10n.t("Conversation") });
const empty = h("p", { class: "remark empty" }, l10n.t("Ask about the workspace, or say what to change. You can keep or undo every change, and go back to before each turn."));
const log = h("main", { tabindex: "0", "aria-label": l10n.t("Conversation") }, empty, list);
const title = h("h1", {}, "");
const server = h("div", { class: "remark", role: "status" });
const failure = h("div", { class: "failure", role: "alert" });
const announcer = h("div", { class: "hidden", "aria-live": "polite" });
const composer = new Composer(send, (draft) => {
  api.setState(draft);
}, (text) => {
  complain(text);
});
const followButton = button(l10n.t("Follow"), "follow", () => {
  send({ type: "follow", isOn: followButton.getAttribute("aria-pressed") !== "true" });
}, { class: "toggle", title: l10n.t("Show each place in the editor as it is edited") });

let session = "";
let status: ChatStatus = { title: "", model: "", mode: "edit" };
let earlier: ChatItem[] = [];
const shown = new Map<string, Shown>();

const around = (): Surroundings => ({
  send,
  isRunning: status.running !== undefined,
  edit: (turn, text) => {
    composer.write(text, turn);
    composer.focus();
  },
  reuse: (text) => {
    composer.write(text);
    composer.focus();
  },
});

const earlierButton = button(l10n.t("Show earlier messages"), "earlier", () => {
  const items = earlier;
  earlier = [];
  const place = list.firstElementChild;
  for (const item of items) {
    const made = new Shown(item, around);
    shown.set(item.id, made);
    list.insertBefore(made.element, place);
  }
  earlierButton.hidden = true;
  log.focus();
}, { class: "earlier" });

function showWhole(now: Extract<ToView, { type: "whole" }>): void {
  const stays = session === now.session && !readsAlong;
  session = now.session;
  status = now.status;
  shown.clear();
  earlier = now.items.slice(0, -FIRST);
  earlierButton.hidden = earlier.length === 0;
  for (const item of now.items.slice(-FIRST)) shown.set(item.id, new Shown(item, around));
  list.replaceChildren(...[...shown.values()].map(({ element }) => element));
  announcer.textContent = "";
  for (const item of now.items) if (item.kind === "question" && item.approval !== undefined) announce(item);
  showStatus();
  if (!stays) scrollToEnd();
}

function showChange(change: ChatChanged): void {
  if (change.session !== session) return;
  const wasRunning = status.running !== undefined;
  status = change.status ?? status;
  showItems(change);
  if (wasRunning !== (status.running !== undefined)) turned(wasRunning);
  showStatus();
}

function showItems({ items = [], grown = [], removed = [], order }: ChatChanged): void {
  for (const id of removed) {
    shown.get(id)?.element.remove();
    shown.delete(id);
  }
  earlier = earlier.filter(({ id }) => !removed.includes(id));
  earlierButton.hidden = earlier.length === 0;
  items.forEach(showItem);
  for (const { id, text } of grown) shown.get(id)?.grow(text);
  if (order !== undefined) arrange(order);
}

function showItem(item: ChatItem): void {
  const known = shown.get(item.id);
  if (known === undefined && earlier.some(({ id }) => id === item.id)) {
    earlier = earlier.map((each) => (each.id === item.id ? item : each));
    return;
  }
  if (known === undefined) {
    const made = new Shown(item, around);
    shown.set(item.id, made);
    list.append(made.element);
  } else {
    const before = known.show(item);
    if (before !== undefined) replace(before, known.element);
  }
  if (item.kind === "question") announce(item);
}

/** Says that a question waits; one that has ended is said no more. */
function announce({ approval }: ChatQuestion): void {
  announcer.textContent = approval === undefined ? "" : l10n.t("Handrail is waiting for your answer. {0}", headingOf(approval));
}

function arrange(order: string[]): void {
  const wanted = order.flatMap((id) => shown.get(id)?.element ?? []);
  wanted.forEach((element, at) => {
    if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
  });
}

/** A turn has begun or ended: what can be done about messages is something else now. */
function turned(wasRunning: boolean): void {
  announcer.textContent = wasRunning ? l10n.t("The turn has ended. {0}", lastWords()) : "";
  for (const each of shown.values()) {
    if (each.kind !== "prompt") continue;
    const before = each.show(each.current);
    if (before !== undefined) replace(before, each.element);
  }
}

/** The beginning of what the model said last, to be spoken. */
function lastWords(): string {
  const words = [...shown.values()].flatMap(({ current }) => (current.kind === "words" ? [current.text] : []));
  return makeReadable(cut(words.at(-1) ?? "", SPOKEN));
}

/** Says what went wrong, until the person does something else, or what was attempted has succeeded. */
function complain(text: string, about: Attempted = "doing"): void {
  failure.textContent = text;
  failure.hidden = text === "";
  complaint = text === "" ? undefined : about;
}

/** Takes back what was said about an attempt, which has succeeded now. */
function withdraw(about: Attempted): void {
  if (complaint === about) complain("");
}

/** A completion that fails is worth less than whatever is already said, and leaves the message alone. */
function fail({ about, doing, text }: Extract<ToView, { type: "failed" }>): void {
  const isCompletion = about === "completing";
  if (isCompletion && complaint !== undefined && complaint !== about) return;
  complain(l10n.t("{0}: {1}", doing, text), about);
  if (!isCompletion) composer.failed(status);
}

function showFollow(isOn: boolean): void {
  followButton.setAttribute("aria-pressed", String(isOn));
}

function showStatus(): void {
  title.textContent = status.title === "" ? l10n.t("New conversation") : status.title;
  title.title = status.title;
  empty.hidden = shown.size > 0;
  list.setAttribute("aria-busy", String(status.running !== undefined));
  document.body.dataset["running"] = String(status.running !== undefined);
  composer.show(status);
}

function showServer(state: ServerState): void {
  const texts: Record<ServerState, string> = { starting: l10n.t("The server is starting."), stopped: l10n.t("The server is not running."), running: "" };
  server.textContent = texts[state];
  server.hidden = state === "running";
}

function scrollToEnd(): void {
  readsAlong = true;
  log.scrollTop = log.scrollHeight;
}

/**
 * Keeps whoever is at the end at the end, also when something above it turns out to be larger.
 *
 * Whoever scrolls up reads elsewhere. What becomes smaller moves the page up as well, and means nothing.
 */
function readAlong(): void {
  let top = 0;
  let height = 0;
  log.addEventListener("scroll", () => {
    const isNear = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PX;
    const isUp = log.scrollTop < top && log.scrollHeight >= height;
    if (isNear || isUp) readsAlong = isNear;
    top = log.scrollTop;
    height = log.scrollHeight;
  });
  const observer = new ResizeObserver(() => {
    if (readsAlong) scrollToEnd();
  });
  observer.observe(list);
  observer.observe(log);
}

function hear(message: ToView): void {
  switch (message.type) {
    case "whole":
      withdraw("reading");
      showWhole(message);
      break;
    case "change":
      showChange(message.change);
      break;
    case "server":
      showServer(message.state);
      break;
    case "said":
      composer.sent(message.text);
      scrollToEnd();
      break;
    case "offers":
      withdraw("completing");
      composer.completion.show(message.number, message.offers);
      break;
    case "follow":
      showFollow(message.isOn);
      break;
    case "mentioned":
      composer.insert(message.text);
      break;
    case "failed":
      fail(message);
      break;
  }
}

complain("");
showFollow(false);
server.hidden = true;
earlierButton.hidden = true;
document.getElementById("handrail-chat")?.append(h("header", {}, title, followButton, earlierButton), server, log, announcer, failure, composer.element);
const kept = api.getState() as Partial<Draft> | null | undefined;
if (typeof kept?.text === "string") composer.restore({ text: kept.text, pictures: kept.pictures ?? [] });
setInterval(tellTimeLeft, TIME_MS);
showStatus();
window.addEventListener("message", ({ data, origin }: MessageEvent<unknown>) => {
  const isOurs = origin === window.origin && typeof data === "object" && data !== null && "type" in data;
  if (isOurs) hear(data as ToView);
});
window.addEventListener("focus", () => {
  if (document.activeElement === document.body) composer.focus();
});
readAlong();
send({ type: "ready" });
