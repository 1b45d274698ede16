/** Markdown's blocks, line by line: a text that grows is read once, and only its last line again. */
export const FENCE = /^\s*(`{3,}|~{3,})\s*([^`\s]*)/;
export const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
export const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
export const QUOTE = /^ {0,3}>\s?(.*)$/;

/** The blocks of a text, as they stand in it: each becomes one element. */
export function blocksOf(text: string): string[] {
  const blocks = new Blocks();
  for (const line of text.split("\n")) blocks.take(line);
  return blocks.all();
}

export class Blocks {
  private found: string[] = [];
  private open: string[] = [];
  private fence = "";

  take(line: string): void {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (this.fence !== "") this.takeCode(line, mark);
    else if (mark !== "") {
      this.close();
      this.open = [line];
      this.fence = mark;
    } else this.takeText(line);
  }

  /** All blocks; the last one ends here. */
  all(): string[] {
    this.close();
    return this.found;
  }

  /** The blocks that have become complete since the last call. */
  taken(): string[] {
    const found = this.found;
    this.found = [];
    return found;
  }

  /** What is open, to go on with a line that may still grow. */
  copy(): Blocks {
    const copy = new Blocks();
    copy.open = [...this.open];
    copy.fence = this.fence;
    return copy;
  }

  private takeCode(line: string, mark: string): void {
    this.open.push(line);
    if (!mark.startsWith(this.fence) || line.trim() !== mark) return;
    this.fence = "";
    this.close();
  }

  private takeText(line: string): void {
    const [first = line] = this.open;
    const standsAlone = HEADING.test(line) || RULE.test(line);
    if (line.trim() === "" || standsAlone || QUOTE.test(line) !== QUOTE.test(first)) this.close();
    if (line.trim() !== "") this.open.push(line);
    if (standsAlone) this.close();
  }

  private close(): void {
    if (this.open.length > 0) this.found.push(this.open.join("\n"));
    this.open = [];
  }
}
