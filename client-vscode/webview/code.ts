/**
 * A block of code that may grow, with what can be done with it.
 *
 * What comes is added to the last part of the code, since a browser lays out a whole part again when one character of it changes.
 */
import { l10n } from "vscode";

import { FENCE } from "./blocks";
import { button, h } from "./dom";

/** What can be done in a text. */
export interface Ways {
  copy: (text: string) => void;
  /** The person wants a block of code to be put where it belongs. */
  apply: (text: string, language: string) => void;
  link: (address: string) => void;
}

const PART = 8_000; // characters of one part

export function isCode([first = ""]: string[]): boolean {
  return FENCE.test(first);
}

export class Code {
  readonly element: HTMLElement;
  private readonly parts = h("code");
  private readonly apply: HTMLButtonElement;
  private readonly head: string;
  private code = "";

  constructor(lines: string[], ways: Ways) {
    const [, , language = ""] = FENCE.exec(lines[0] ?? "") ?? [];
    this.head = lines[0] ?? "";
    const copy = button(l10n.t("Copy"), "copy", () => {
      ways.copy(this.code);
    });
    this.apply = button(l10n.t("Apply"), "apply", () => {
      ways.apply(this.code, language);
    }, { title: l10n.t("Apply this code to the workspace") });
    this.element = h(
      "div",
      { class: "code" },
      h("div", { class: "code-bar" }, h("span", { class: "quiet" }, language), h("span", { class: "actions" }, copy, this.apply)),
      h("pre", { tabindex: "0", role: "group", "aria-label": language === "" ? l10n.t("Code") : l10n.t("Code, {0}", language) }, this.parts),
    );
    this.show(lines);
  }

  /** Shows more of the block, or its end. Returns false if it is another one. */
  show(lines: string[]): boolean {
    const [head = ""] = lines;
    const hasEnded = endsWith(lines, FENCE.exec(head)?.[1] ?? "");
    const code = lines.slice(1, hasEnded ? -1 : undefined).join("\n");
    if (head !== this.head) return false;
    if (this.code.startsWith(code)) this.shrink(this.code.length - code.length); // its end was taken for code
    else if (code.startsWith(this.code)) this.grow(code.slice(this.code.length));
    else return false;
    this.code = code;
    this.apply.disabled = !hasEnded; // the rest of it is still to come
    return true;
  }

  private grow(more: string): void {
    for (let rest = more; rest !== ""; ) {
      const last = this.lastPart();
      const isFull = last !== undefined && last.length >= PART && last.data.endsWith("\n");
      const part = last === undefined || isFull ? this.addPart() : last;
      const end = rest.indexOf("\n", Math.max(0, PART - part.length)) + 1;
      part.appendData(end === 0 ? rest : rest.slice(0, end));
      rest = end === 0 ? "" : rest.slice(end);
    }
  }

  private shrink(characters: number): void {
    for (let rest = characters, part = this.lastPart(); rest > 0 && part !== undefined; part = this.lastPart()) {
      const cut = Math.min(rest, part.length);
      part.deleteData(part.length - cut, cut);
      if (part.length === 0) part.parentElement?.remove();
      rest -= cut;
    }
  }

  private lastPart(): Text | undefined {
    const last = this.parts.lastElementChild?.firstChild;
    return last instanceof Text ? last : undefined;
  }

  private addPart(): Text {
    const text = document.createTextNode("");
    this.parts.append(h("span", { class: "part" }));
    this.parts.lastElementChild?.append(text);
    return text;
  }
}

/** Whether a fenced block has its end; one that is still growing has none. */
function endsWith(lines: string[], fence: string): boolean {
  const last = lines.at(-1)?.trim() ?? "";
  return lines.length > 1 && last.startsWith(fence) && last === fence.charAt(0).repeat(last.length);
}
