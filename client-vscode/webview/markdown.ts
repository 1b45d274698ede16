/**
 * Markdown as elements: what models write, and nothing that runs or loads.
 *
 * HTML is text, a picture is its description and address, and a link is a button with its address beside it, which is opened
 * only if it leads to the web. While a text grows, only its last blocks are made anew.
 */
import { l10n } from "vscode";

import { makeReadable } from "../src/characters";
import { isWebAddress } from "../src/chat/messages";
import { Blocks, blocksOf, HEADING, QUOTE, RULE } from "./blocks";
import { Code, isCode, type Ways } from "./code";
import { button, type Child, h } from "./dom";

const DEEPEST = 6; // quotes in quotes, lists in lists, emphasis in emphasis
const LONGEST_INLINE = 20_000; // characters of one paragraph whose signs are read; more of them is no prose
const ENTRY = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

/** A text that is shown, and may grow. What is complete of it is made once; of the rest, only the last block is made anew. */
export class Prose {
  readonly element = h("div", { class: "prose" });
  private text = "";
  private blocks = new Blocks();
  /** Where the text's last line begins, which may still grow. */
  private at = 0;
  /** What shows the blocks that are not complete. */
  private tail: HTMLElement[] = [];
  private code: Code | undefined;

  constructor(private readonly ways: Ways) {}

  show(text: string): void {
    if (!text.startsWith(this.text)) this.clear();
    this.text = text;
    const end = text.lastIndexOf("\n") + 1;
    if (end > this.at) for (const line of makeReadable(text.slice(this.at, end)).slice(0, -1).split("\n")) this.blocks.take(line);
    this.at = Math.max(this.at, end);
    const rest = this.blocks.copy();
    if (end < text.length || text === "") rest.take(makeReadable(text.slice(end)));
    this.draw(this.blocks.taken(), rest.all());
  }

  private clear(): void {
    this.element.replaceChildren();
    this.blocks = new Blocks();
    this.at = 0;
    this.tail = [];
    this.code = undefined;
  }

  /** Adds the blocks that have become complete, and shows those that are open behind them. */
  private draw(complete: string[], open: string[]): void {
    const sources = [...complete, ...open];
    const before = this.tail;
    const first = sources[0];
    const grown = first !== undefined && this.code?.show(first.split("\n")) === true ? this.code : undefined;
    before.slice(grown === undefined ? 0 : 1).forEach((each) => {
      each.remove();
    });
    const elements = sources.map((source, at) => (at === 0 && grown !== undefined ? grown.element : this.made(source)));
    this.element.append(...elements.slice(grown === undefined ? 0 : 1));
    this.tail = elements.slice(complete.length);
    if (this.tail.length === 0 || this.tail[0] !== this.code?.element) this.code = undefined;
  }

  /** A block's element; one of code can grow later. */
  private made(source: string): HTMLElement {
    const lines = source.split("\n");
    if (!isCode(lines)) return blockOf(source, this.ways, 0);
    this.code = new Code(lines, this.ways);
    return this.code.element;
  }
}

function blockOf(source: string, ways: Ways, depth: number): HTMLElement {
  const lines = source.split("\n");
  const [first = ""] = lines;
  if (isCode(lines)) return new Code(lines, ways).element;
  if (HEADING.test(first)) return headingOf(first, ways);
  if (RULE.test(first)) return h("hr");
  if (QUOTE.test(first) && depth < DEEPEST) return quoteOf(lines, ways, depth);
  return isTable(lines) ? tableOf(lines, ways) : textOf(lines, ways, depth);
}

function headingOf(line: string, ways: Ways): HTMLElement {
  const [, marks = "", text = ""] = HEADING.exec(line) ?? [];
  const level = Math.min(marks.length + 2, 6); // those above are the page's own
  return h("div", { role: "heading", "aria-level": String(level), class: `heading h${level}` }, ...inline(text, ways, 0));
}

function quoteOf(lines: string[], ways: Ways, depth: number): HTMLElement {
  const inner = lines.map((line) => QUOTE.exec(line)?.[1] ?? line).join("\n");
  return h("blockquote", {}, ...blocksOf(inner).map((each) => blockOf(each, ways, depth + 1)));
}

/** A paragraph, a list, or one below the other. */
function textOf(lines: string[], ways: Ways, depth: number): HTMLElement {
  const at = lines.findIndex((line) => ENTRY.test(line));
  if (at === 0) return listOf(lines, ways, depth);
  const text = h("p", {}, ...inline(lines.slice(0, at < 0 ? undefined : at).join("\n"), ways, 0));
  return at < 0 ? text : h("div", {}, text, listOf(lines.slice(at), ways, depth));
}

function listOf(lines: string[], ways: Ways, depth: number): HTMLElement {
  const [, , mark = "-"] = ENTRY.exec(lines[0] ?? "") ?? [];
  const items = entriesOf(lines).map(({ text, inner }) => h("li", {}, ...inline(text.join("\n"), ways, 0), innerOf(inner, ways, depth)));
  if (!/^\d/.test(mark)) return h("ul", {}, ...items);
  return h("ol", { start: String(Number.parseInt(mark, 10)) }, ...items);
}

interface ListEntry {
  text: string[];
  /** The lines of a list within it. */
  inner: string[];
}

function entriesOf(lines: string[]): ListEntry[] {
  const outermost = depthOf(lines[0] ?? "") + 1;
  const entries: ListEntry[] = [];
  for (const line of lines) {
    const isEntry = ENTRY.test(line);
    const last = entries.at(-1);
    if (last === undefined || (isEntry && depthOf(line) <= outermost)) entries.push({ text: [line.replace(ENTRY, "$3")], inner: [] });
    else if (isEntry || last.inner.length > 0) last.inner.push(line);
    else last.text.push(line.trim());
  }
  return entries;
}

function depthOf(line: string): number {
  return line.length - line.trimStart().length;
}

function innerOf(lines: string[], ways: Ways, depth: number): HTMLElement | undefined {
  if (lines.length === 0) return undefined;
  return depth < DEEPEST ? listOf(lines, ways, depth + 1) : h("p", {}, lines.join("\n"));
}

function isTable([head = "", rule = ""]: string[]): boolean {
  return head.includes("|") && rule.includes("-") && /^[\s|:-]+$/.test(rule) && rule.includes("|");
}

function tableOf([head = "", , ...rows]: string[], ways: Ways): HTMLElement {
  const cells = (row: string) => row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
  const row = (tag: "th" | "td", text: string) => h("tr", {}, ...cells(text).map((cell) => h(tag, {}, ...inline(cell.trim(), ways, 0))));
  return h("table", {}, h("thead", {}, row("th", head)), h("tbody", {}, ...rows.map((each) => row("td", each))));
}

// Each sign's reach is bounded, so that no text takes long: what goes on longer is shown as it is written.
const SIGNS = new RegExp(
  [
    /\\(?<escaped>[!-/:-@[-`{-~])/,
    /(?<ticks>`{1,16})(?<code>[^`](?:.{0,1000}?[^`])?)\k<ticks>(?!`)/,
    /(?<picture>!?)\[(?<label>[^[\]\n]{0,500})\]\((?<address>[^\s()]{1,2000})(?:\s+"[^"\n]{0,200}")?\)/,
    /<(?<auto>https?:\/\/[^\s<>]{1,2000})>/,
    /(?<bare>https?:\/\/[^\s<>()[\]"'`]{1,2000}[^\s<>()[\]"'`.,;:!?*_~])/,
    /(?<strong>\*\*|__)(?=\S)(?<bold>.{1,1000}?\S?)\k<strong>/,
    /(?<![\w*])(?<soft>[*_])(?=[^\s*_])(?<italic>.{0,1000}?[^\s*_])\k<soft>(?![\w*])/,
    /~~(?=\S)(?<gone>.{1,1000}?)~~/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gsu",
);

/** A line of text, or several, with what its signs mean. */
export function inline(text: string, ways: Ways, depth: number): Child[] {
  if (depth > DEEPEST || text.length > LONGEST_INLINE) return [text];
  const found: Child[] = [];
  let at = 0;
  for (const match of text.matchAll(SIGNS)) {
    if (match.index > at) found.push(text.slice(at, match.index));
    found.push(...meaning(match.groups ?? {}, ways, depth + 1));
    at = match.index + match[0].length;
  }
  found.push(text.slice(at));
  return found;
}

type Groups = Record<string, string | undefined>;

function meaning(groups: Groups, ways: Ways, depth: number): Child[] {
  const { escaped, code, bold, italic, gone } = groups;
  if (escaped !== undefined) return [escaped];
  if (code !== undefined) return [h("code", {}, code)];
  if (bold !== undefined) return [h("strong", {}, ...inline(bold, ways, depth))];
  if (italic !== undefined) return [h("em", {}, ...inline(italic, ways, depth))];
  if (gone !== undefined) return [h("del", {}, ...inline(gone, ways, depth))];
  return reference(groups, ways);
}

/** A link or a picture. */
function reference({ picture, label = "", address, auto, bare }: Groups, ways: Ways): Child[] {
  if (address === undefined) return linkOf("", auto ?? bare ?? "", ways);
  return picture === "!" ? [l10n.t("[picture: {0}] ({1})", label, address)] : linkOf(label, address, ways);
}

/** A link says where it leads: what its text claims is the model's. */
function linkOf(label: string, address: string, ways: Ways): Child[] {
  if (!isWebAddress(address)) return [`${label} (${address})`];
  const link = button(label === "" ? address : label, `link ${address}`, () => {
    ways.link(address);
  });
  link.className = "link";
  link.title = address;
  return label === "" || label === address ? [link] : [link, h("span", { class: "quiet" }, ` (${address})`)];
}
