/**
 * Characters that people cannot see, or that only look like others, written by their numbers.
 *
 * Nothing here knows VS Code: the chat view, which is a page of its own, uses it as well.
 */

/**
 * Characters that are not seen, or that change the order in which others are: controls, marks of direction, blanks without
 * width, tags, selectors, separators of lines. Tabs and line ends are not among them.
 */
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Blanks that look like another one. */
const BLANKS = /(?! )\p{Zs}|\u2800/gu;

/** Writes characters by their numbers that are not seen or that reorder others: U+202E becomes `\\u202e`. */
export function makeVisible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSEEN, numbered);
}

/** Does the same, also with returns and with blanks that only look like one: for a text that a yes is given to. */
export function makeExact(text: string): string {
  return text.replace(UNSEEN, numbered).replace(BLANKS, numbered);
}

/**
 * Characters that hide text or change the order of others. Those that build one sign of several, as in emoji and in many
 * scripts, are not among them.
 */
const HIDING = /(?![\t\n])[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Does the least of it: for prose, in which nothing is agreed to. */
export function makeReadable(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HIDING, numbered);
}

function numbered(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code < 0x80) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
