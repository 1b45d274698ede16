/**
 * Names that are offered while a message is written: `@path` and the like, and `/command`.
 *
 * The server knows them; here it is asked when one may be meant, and an answer to an older question is dropped. The focus
 * stays in the message: the arrows choose, Enter and Tab take, Escape closes.
 */
import { l10n } from "vscode";

import { makeVisible } from "../src/characters";
import type { ChatOffer, ChatOffers } from "../src/protocol";
import { h } from "./dom";
import type { Send } from "./items";

const MAY_BE_MEANT = /(?:^|[\s(["'])@(?:"[^"\n]{0,200}|[^\s"@]{0,200})$|^\s*\/[\w:-]{0,60}$/;

export class Completion {
  readonly element = h("ul", { id: "offers", role: "listbox", "aria-label": l10n.t("Names") });
  private offers: ChatOffer[] = [];
  private typed = "";
  private active = 0;
  private asked = 0;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly send: Send,
    private readonly taken: () => void,
  ) {
    this.element.hidden = true;
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", "offers");
    input.addEventListener("blur", () => {
      this.hide();
    });
  }

  /** The message has changed: asks what may be meant, if anything may. */
  typing(): void {
    const { before } = this;
    if (!MAY_BE_MEANT.test(before)) {
      this.hide();
      return;
    }
    this.asked += 1;
    this.send({ type: "complete", before, number: this.asked });
  }

  /** Shows what is offered, if the message still ends so. */
  show(number: number, { typed, offers }: ChatOffers): void {
    if (number !== this.asked || offers.length === 0 || !this.before.endsWith(typed)) {
      if (number === this.asked) this.hide();
      return;
    }
    this.offers = offers;
    this.typed = typed;
    this.active = 0;
    this.element.replaceChildren(...offers.map((offer, at) => this.rowOf(offer, at)));
    this.element.hidden = false;
    this.mark();
  }

  /** Takes a key, if it is meant for the list. */
  pressed(key: string): boolean {
    if (!this.isOpen()) return false;
    const last = this.offers.length - 1;
    const actions: Record<string, () => void> = {
      ArrowDown: () => (this.active = this.active === last ? 0 : this.active + 1),
      ArrowUp: () => (this.active = this.active === 0 ? last : this.active - 1),
      Enter: () => {
        this.take(this.active);
      },
      Tab: () => {
        this.take(this.active);
      },
      Escape: () => {
        this.hide();
      },
    };
    const action = actions[key];
    action?.();
    if (this.isOpen()) this.mark();
    return action !== undefined;
  }

  private isOpen(): boolean {
    return !this.element.hidden;
  }

  private get before(): string {
    return this.input.value.slice(0, this.input.selectionStart);
  }

  private rowOf({ name, does }: ChatOffer, at: number): HTMLElement {
    const row = h("li", { id: `offer-${at}`, role: "option" }, makeVisible(name), does === undefined ? undefined : h("span", { class: "quiet" }, ` ${makeVisible(does)}`));
    row.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the message keeps the focus
      this.take(at);
    });
    return row;
  }

  private take(at: number): void {
    const offer = this.offers[at];
    const end = this.input.selectionStart;
    this.hide();
    if (offer === undefined || !this.before.endsWith(this.typed)) return;
    this.input.setRangeText(`${offer.name} `, end - this.typed.length, end, "end");
    this.taken();
  }

  private mark(): void {
    [...this.element.children].forEach((row, at) => {
      row.setAttribute("aria-selected", String(at === this.active));
    });
    this.element.children[this.active]?.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `offer-${this.active}`);
  }

  private hide(): void {
    this.element.hidden = true;
    this.offers = [];
    this.asked += 1;
    this.input.removeAttribute("aria-activedescendant");
  }
}
