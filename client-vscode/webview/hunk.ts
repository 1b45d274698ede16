/** A change of a call that is neither kept nor undone: what goes, what comes, and what can be done with it. */
import { l10n } from "vscode";

import { makeReadable, makeVisible } from "../src/characters";
import type { ChatHunk } from "../src/protocol";
import { button, h } from "./dom";
import type { Send } from "./items";

const KINDS: Partial<Record<ChatHunk["kind"], string>> = { changed: "", created: l10n.t("created"), deleted: l10n.t("deleted"), renamed: l10n.t("renamed"), whole: l10n.t("changed (not a text file)") };

/** The change, in the card of the item that made it. */
export function hunkOf(item: string, { id, path, line, diff, kind }: ChatHunk, send: Send): HTMLElement {
  const place = `${makeVisible(path)}:${line + 1}`;
  const open = button(l10n.t("Open"), `hunk ${id}`, () => {
    send({ type: "hunk", item, hunk: id });
  }, { "aria-label": l10n.t("Open {0}", place) });
  const keep = button(l10n.t("Keep"), `keep ${id}`, () => {
    send({ type: "keep", hunk: id });
  }, { "aria-label": l10n.t("Keep the change at {0}", place) });
  const undo = button(l10n.t("Undo"), `undo ${id}`, () => {
    send({ type: "revert", hunk: id });
  }, { "aria-label": l10n.t("Undo the change at {0}", place) });
  const bar = h("div", { class: "code-bar" }, h("span", {}, h("code", {}, place), ` ${KINDS[kind] ?? ""}`), h("span", { class: "actions" }, keep, undo, open));
  return h("div", { class: "hunk", "data-hunk": id }, bar, diff === "" ? undefined : diffOf(diff, place));
}

function diffOf(diff: string, place: string): HTMLElement {
  const rows = makeReadable(diff)
    .split("\n")
    .map((row) => h("span", { class: row.startsWith("+") ? "row added" : row.startsWith("-") ? "row removed" : "row" }, `${row}\n`));
  return h("pre", { tabindex: "0", role: "group", "aria-label": l10n.t("Change at {0}", place) }, ...rows);
}
