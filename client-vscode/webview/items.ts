/** The parts of a conversation as elements: each is made from its item alone, and made anew when that changes. */
import { l10n } from "vscode";

import { makeReadable, makeVisible } from "../src/characters";
import type { FromView } from "../src/chat/messages";
import type { ChatItem, ChatPrompt, ChatRemark, ChatTold, ChatWords } from "../src/protocol";
import { callOf } from "./call";
import type { Ways } from "./code";
import { button, h } from "./dom";
import { Prose } from "./markdown";
import { questionOf } from "./question";

export type Send = (message: FromView) => void;

/** What an item can be made with. */
export interface Surroundings {
  send: Send;
  /** Whether a turn runs. */
  isRunning: boolean;
  /** The person wants to change an earlier message, and send it again. */
  edit: (turn: string, text: string) => void;
  /** The person wants to say something again that no turn has read. */
  reuse: (text: string) => void;
}

// A state that only a newer server knows is called as the server calls it.
const TOLD: Partial<Record<string, string>> = {
  waiting: l10n.t("You said this; the model reads it before its next step:"),
  unread: l10n.t("The model has not read this:"),
  queued: l10n.t("This is sent when the turn has finished:"),
};

// What the model has read, by its sender; an older server does not say who that is.
const READ: Partial<Record<string, string>> = {
  user: l10n.t("You sent this while the turn was running:"),
  handrail: l10n.t("Handrail told the model:"),
};

const ENDS: Partial<Record<string, string>> = {
  running: "",
  finished: "",
  stopped: l10n.t("The turn ended early."),
  cancelled: l10n.t("The turn was stopped."),
  failed: l10n.t("The turn failed."),
  broken: l10n.t("This turn did not finish."),
};

/** An item on the page: its element, and what made it. */
export class Shown {
  element: HTMLElement;
  private prose: Prose | undefined;

  constructor(
    private item: ChatItem,
    private readonly around: () => Surroundings,
  ) {
    this.element = this.whole();
    this.named();
  }

  get kind(): ChatItem["kind"] {
    return this.item.kind;
  }

  get current(): ChatItem {
    return this.item;
  }

  /** Shows another state of the item; returns the element that it had before, if it has another one now. */
  show(item: ChatItem): HTMLElement | undefined {
    const isSame = this.item.kind === "words" && item.kind === "words";
    this.item = item;
    if (isSame && this.prose !== undefined) {
      this.prose.show(item.text);
      return undefined;
    }
    const before = this.element;
    this.element = this.whole();
    this.named();
    return before;
  }

  /** Shows more of what the model says. */
  grow(text: string): void {
    if (this.item.kind === "words") this.show({ ...this.item, text: this.item.text + text });
  }

  private named(): void {
    this.element.dataset["item"] = this.item.id;
  }

  /** One that cannot be made, since another server tells of it otherwise, must not take the others away. */
  private whole(): HTMLElement {
    try {
      return this.made();
    } catch (thrown) {
      console.error(thrown);
      return unknown();
    }
  }

  private made(): HTMLElement {
    const { item } = this;
    const around = this.around();
    const { send } = around;
    this.prose = undefined;
    switch (item.kind) {
      case "prompt":
        return promptOf(item, around);
      case "words":
        return this.wordsOf(item, send);
      case "told":
        return toldOf(item, around);
      case "remark":
        return this.remarkOf(item, send);
      case "call":
        return callOf(item, send);
      case "question":
        return questionOf(item, (approval, choice) => {
          send({ type: "answer", approval, choice });
        });
      default: // of a server that is newer
        return unknown();
    }
  }

  private wordsOf({ text }: ChatWords, send: Send): HTMLElement {
    this.prose = new Prose(waysOf(send));
    this.prose.show(text);
    return h("section", { class: "words", role: "group", "aria-label": l10n.t("Handrail said") }, this.prose.element);
  }

  private remarkOf({ text, checkpoint, session }: ChatRemark, send: Send): HTMLElement {
    const prose = new Prose(waysOf(send));
    prose.show(text);
    const actions: HTMLElement[] = [];
    if (session !== undefined) {
      actions.push(
        button(l10n.t("Open this conversation"), "session", () => {
          send({ type: "session", session });
        }),
      );
    }
    if (checkpoint !== undefined) {
      actions.push(
        button(l10n.t("Undo these changes"), "undo", () => {
          send({ type: "undo", turn: checkpoint });
        }),
      );
    }
    return h("div", { class: "remark" }, prose.element, h("div", { class: "actions" }, ...actions));
  }
}

function unknown(): HTMLElement {
  return h("p", { class: "remark" }, l10n.t("This version of the extension cannot show this part of the conversation. Update the extension."));
}

function waysOf(send: Send): Ways {
  return {
    copy: (text) => {
      send({ type: "copy", text });
    },
    apply: (text, language) => {
      send({ type: "applyCode", text, language });
    },
    link: (address) => {
      send({ type: "link", address });
    },
  };
}

function promptOf({ turn, text, state, reason, resend, changes }: ChatPrompt, { edit, send, isRunning }: Surroundings): HTMLElement {
  const end = ENDS[state] ?? makeVisible(state);
  const actions: HTMLElement[] = [];
  if (resend === true && !isRunning) {
    actions.push(
      button(l10n.t("Edit and resend"), "edit", () => {
        edit(turn, text);
      }),
    );
  }
  if (resend === true && !isRunning) {
    actions.push(
      button(l10n.t("Fork here"), "fork", () => {
        send({ type: "fork", turn });
      }, { title: l10n.t("Start a new conversation with everything up to the end of this turn") }),
    );
  }
  if (changes === true) {
    actions.push(
      button(l10n.t("Undo its changes"), "undo", () => {
        send({ type: "undo", turn });
      }),
    );
  }
  return h(
    "section",
    { class: "prompt", role: "group", "aria-label": l10n.t("You said") },
    h("div", { role: "heading", "aria-level": "2", class: "hidden" }, l10n.t("You")),
    h("div", { class: "said" }, makeReadable(text)),
    h("div", { class: "actions" }, ...actions),
    end === "" ? undefined : h("p", { class: "remark" }, reason === undefined ? end : endOf(state, makeReadable(reason))),
  );
}

/** How a turn ended, with the reason. */
function endOf(state: string, reason: string): string {
  if (state === "failed") return l10n.t("The turn failed: {0}", reason);
  if (state === "broken") return l10n.t("This turn did not finish: {0}", reason);
  if (state === "stopped") return l10n.t("The turn ended early: {0}", reason);
  if (state === "cancelled") return l10n.t("The turn was stopped: {0}", reason);
  return l10n.t("{0}: {1}", makeVisible(state), reason);
}

function toldOf({ text, state, sender }: ChatTold, { reuse }: Surroundings): HTMLElement {
  const again = button(l10n.t("Copy to the message box"), "reuse", () => {
    reuse(text);
  });
  const read = READ[sender] ?? l10n.t("The model was told:");
  const title = state === "read" ? read : (TOLD[state] ?? `${makeVisible(state)}:`);
  return h(
    "section",
    { class: "told", role: "group", "aria-label": title },
    h("div", { class: "quiet" }, title),
    h("div", { class: "said" }, makeReadable(text)),
    state === "unread" ? h("div", { class: "actions" }, again) : undefined,
  );
}
