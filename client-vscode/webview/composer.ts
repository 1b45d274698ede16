/** Where the person writes: the message, what sends it, and what the next turn is asked with. */
import { l10n } from "vscode";

import type { Picture } from "../src/chat/messages";
import { makeVisible } from "../src/characters";
import type { ChatStatus, Mode } from "../src/protocol";
import { Attachments } from "./attachments";
import { Completion } from "./completion";
import { button, h } from "./dom";
import type { Send } from "./items";

const MODES: Record<Mode, string> = { edit: l10n.t("Edit"), ask: l10n.t("Ask"), plan: l10n.t("Plan") };
const HIGHEST_PX = 240;

/** What is written and not sent. */
export interface Draft {
  text: string;
  pictures: Picture[];
}

export class Composer {
  readonly element: HTMLElement;
  readonly completion: Completion;
  private readonly attachments: Attachments;
  private readonly input = h("textarea", { "aria-label": l10n.t("Your message"), "data-key": "message" });
  private readonly note = h("div", { class: "editing" });
  private readonly sendButton = button(l10n.t("Send"), "send", () => {
    this.submit(false);
  }, { class: "primary" });
  private readonly queueButton = button(l10n.t("Queue"), "queue", () => {
    this.submit(true);
  }, { title: l10n.t("Send when this turn has finished (Ctrl+Enter)") });
  private readonly stopButton = button(l10n.t("Stop"), "stop", () => {
    this.send({ type: "stop" });
  });
  private readonly planButton = button(l10n.t("Carry out this plan"), "plan", () => {
    this.send({ type: "plan" });
  }, { class: "primary" });
  private readonly modes = h("select", { "aria-label": l10n.t("Mode"), "data-key": "mode" });
  private readonly model = button("", "model", () => {
    this.send({ type: "models" });
  }, { class: "quiet" });
  private readonly usage = h("span", { class: "quiet usage" });
  /** The turn whose message is changed; else it is a new one. */
  private turn: string | undefined;
  /** What was sent, until it is known what became of it. */
  private sending = "";
  private isRunning = false;

  constructor(
    private readonly send: Send,
    private readonly keep: (draft: Draft) => void,
    complain: (text: string) => void,
  ) {
    this.input.rows = 2;
    this.modes.append(...Object.entries(MODES).map(([value, title]) => new Option(title, value)));
    this.completion = new Completion(this.input, send, () => {
      this.changed();
    });
    this.input.addEventListener("input", () => {
      this.changed();
      this.completion.typing();
    });
    this.input.addEventListener("keydown", (event) => {
      this.pressed(event);
    });
    this.modes.addEventListener("change", () => {
      send({ type: "mode", mode: this.modes.value as Mode });
    });
    const buttons = h("div", { class: "buttons" }, this.modes, this.model, h("span", { class: "space" }), this.stopButton, this.queueButton, this.sendButton);
    this.element = h("footer", {}, h("div", { class: "actions" }, this.planButton), this.note, this.completion.element, this.input);
    this.attachments = new Attachments(this.input, document.body, send, complain, () => {
      this.changed();
    });
    this.element.append(this.attachments.element, buttons, this.usage);
    this.note.hidden = true;
  }

  /** Shows what the next turn is asked with, and what this conversation has used. */
  show(status: ChatStatus): void {
    this.isRunning = status.running !== undefined;
    this.stopButton.hidden = !this.isRunning;
    this.queueButton.hidden = !this.isRunning || this.turn !== undefined;
    this.planButton.hidden = status.plan === undefined;
    this.sendButton.title = this.isRunning && this.turn === undefined ? l10n.t("Send to the running turn (Enter)") : l10n.t("Send (Enter)");
    this.input.placeholder = this.isRunning ? l10n.t("Add something to the running turn") : l10n.t("Ask, or say what you want done. Write @path to mention a file.");
    this.showMode(status.mode);
    this.model.textContent = status.model === "" ? l10n.t("Model") : status.model;
    this.model.setAttribute("aria-label", l10n.t("Model: {0}. Choose another one", status.model));
    this.usage.textContent = usageOf(status);
  }

  /** Writes a draft; *turn* if it is to be sent in the place of that turn's message. */
  write(text: string, turn?: string): void {
    this.turn = turn;
    this.input.value = text;
    this.note.hidden = turn === undefined;
    const cancel = button(l10n.t("Cancel"), "cancel", () => {
      this.write("");
    });
    this.note.replaceChildren(...(turn === undefined ? [] : [l10n.t("This is a new version of an earlier message. Sending it starts a new conversation, with a copy of everything before that message."), cancel]));
    this.queueButton.hidden = !this.isRunning || turn !== undefined;
    this.changed();
  }

  /** Takes up again what was written before. */
  restore({ text, pictures }: Draft): void {
    this.write(text);
    this.attachments.put(pictures);
  }

  /** Puts names where the person writes. */
  insert(text: string): void {
    const { selectionStart: start, selectionEnd: end, value } = this.input;
    const before = start > 0 && !/\s/.test(value.charAt(start - 1)) ? " " : "";
    this.input.setRangeText(`${before}${text} `, start, end, "end");
    this.changed();
    this.focus();
  }

  focus(): void {
    this.input.focus();
  }

  /** What was sent is no draft any more, unless something else stands there by now. */
  sent(text: string): void {
    if (this.sending.trim() === text.trim()) this.sending = "";
    if (this.input.value.trim() !== text.trim()) return;
    const isNew = this.turn === undefined; // else the pictures beside it belong to another message
    this.write("");
    if (isNew) this.attachments.put([]);
  }

  /** Something could not be done: what was sent may be sent again, and what was chosen does not hold. */
  failed(status: ChatStatus): void {
    this.sending = "";
    this.show(status);
  }

  private submit(queue: boolean): void {
    const text = this.input.value;
    if (text.trim() === "" || text === this.sending) return;
    this.sending = text;
    if (this.turn === undefined) this.send({ type: "say", text, queue, pictures: this.attachments.all });
    else this.send({ type: "resend", turn: this.turn, text });
  }

  /** A mode that only a newer server knows is called as the server calls it. */
  private showMode(mode: string): void {
    const known = Object.keys(MODES);
    for (const option of [...this.modes.options].slice(known.length)) option.remove();
    if (!known.includes(mode)) this.modes.append(new Option(makeVisible(mode), mode));
    this.modes.value = mode;
  }

  private changed(): void {
    this.grow();
    this.keep({ text: this.turn === undefined ? this.input.value : "", pictures: this.attachments.all });
  }

  private pressed(event: KeyboardEvent): void {
    const isForList = !event.shiftKey && !event.ctrlKey && !event.isComposing && this.completion.pressed(event.key);
    if (isForList) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.submit(this.isRunning && (event.ctrlKey || event.metaKey));
  }

  private grow(): void {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight + 2, HIGHEST_PX)}px`;
  }
}

/** What the conversation has used, as people read it. */
function usageOf({ contextPercent, inputTokens = 0, outputTokens = 0, costUsd }: ChatStatus): string {
  const tokens = inputTokens + outputTokens;
  const parts = [
    contextPercent === undefined ? "" : l10n.t("{0} % of the context", contextPercent),
    tokens === 0 ? "" : l10n.t("{0} tokens", tokens.toLocaleString(document.documentElement.lang)),
    costUsd === undefined ? "" : `$${costUsd.toFixed(2)}`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
