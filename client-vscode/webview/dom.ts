/**
 * Elements of the page. A text becomes a text node and nothing else: there is no way from a text to HTML.
 */

export type Child = Node | string | undefined;

/** What may be set on an element, by names that are ours. */
export interface Attributes {
  [name: `aria-${string}` | `data-${string}`]: string;
  class?: string;
  id?: string;
  title?: string;
  role?: string;
  type?: string;
  tabindex?: string;
  lang?: string;
  start?: string;
  open?: boolean;
  disabled?: boolean;
  onClick?: () => void;
}

/** Makes an element. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes) as [string, string | boolean | (() => void) | undefined][]) {
    if (typeof value === "function") element.addEventListener("click", value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** A button; its key lets it keep the focus when what it stands in is made anew. */
export function button(text: string, key: string, onClick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return h("button", { type: "button", "data-key": key, onClick, ...attributes }, text);
}

/** A text in one line, of at most so many characters. */
export function cut(text: string, limit: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}

/** Puts an element in the place of another one, which keeps what is folded out in it, and the focus. */
export function replace(old: HTMLElement, now: HTMLElement): void {
  for (const before of old.querySelectorAll<HTMLDetailsElement>("details[data-key]")) {
    const after = keyed(now, before.dataset["key"]);
    if (after instanceof HTMLDetailsElement) after.open = before.open;
  }
  const focused = document.activeElement instanceof HTMLElement && old.contains(document.activeElement) ? document.activeElement : undefined;
  const key = focused?.dataset["key"];
  old.replaceWith(now);
  if (focused === undefined) return;
  const target = keyed(now, key) ?? now;
  if (target === now) now.tabIndex = -1;
  target.focus({ preventScroll: true });
}

function keyed(element: HTMLElement, key: string | undefined): HTMLElement | undefined {
  return [...element.querySelectorAll<HTMLElement>("[data-key]")].find((each) => each.dataset["key"] === key && key !== undefined);
}
