/**
 * What the page has of VS Code's API: its strings in the person's language.
 *
 * The extension hands the page the translations, English by what they are in another language, in an attribute. Here they are
 * filled in as VS Code does it, so that code that runs on both sides says `l10n.t` alike.
 */
const bundle = read(document.documentElement.dataset["l10n"]);

export const l10n = {
  /** The string in the person's language, with its arguments in the places `{0}`, `{1}` and so on. */
  t(message: string, ...args: (string | number)[]): string {
    const text = bundle[message] ?? message;
    return args.length === 0 ? text : text.replace(/\{(\d+)\}/g, (place, at: string) => String(args[Number(at)] ?? place));
  },
};

function read(json = "{}"): Partial<Record<string, string>> {
  const found: unknown = JSON.parse(json);
  if (typeof found !== "object" || found === null) return {};
  return Object.fromEntries(Object.entries(found).filter(([, text]) => typeof text === "string"));
}
