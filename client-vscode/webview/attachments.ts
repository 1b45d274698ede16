/**
 * What is dropped or pasted into a message: files of the workspace become `@path`, pictures go along with it.
 *
 * The extension knows the workspace, so it is asked what a file is called. A picture is only read here, never shown: the page
 * loads nothing.
 */
import { l10n } from "vscode";

import { makeVisible } from "../src/characters";
import { MOST_PICTURE_CHARS, MOST_PICTURES, type Picture } from "../src/chat/messages";
import { button, cut, h } from "./dom";
import type { Send } from "./items";

const LISTS = ["application/vnd.code.uri-list", "text/uri-list"]; // VS Code's own, and everybody's
const LONGEST_NAME = 40; // characters

export class Attachments {
  readonly element = h("ul", { id: "pictures", "aria-label": l10n.t("Attached pictures") });
  private pictures: Picture[] = [];

  constructor(
    input: HTMLElement,
    area: HTMLElement,
    private readonly send: Send,
    private readonly complain: (text: string) => void,
    private readonly changed: () => void,
  ) {
    this.element.hidden = true;
    input.addEventListener("paste", (event) => {
      if (this.takes(event.clipboardData)) event.preventDefault();
    });
    area.addEventListener("dragover", (event) => {
      event.preventDefault();
    });
    area.addEventListener("drop", (event) => {
      const isTaken = this.takes(event.dataTransfer);
      if (isTaken || event.target !== input) event.preventDefault(); // else the page would leave for the file
    });
  }

  get all(): Picture[] {
    return this.pictures;
  }

  /** Shows these pictures instead of those that were there. */
  put(pictures: Picture[]): void {
    this.pictures = pictures;
    this.element.hidden = pictures.length === 0;
    this.element.replaceChildren(...pictures.map((picture) => this.rowOf(picture)));
    this.changed();
  }

  /** Takes what is more than text; false if nothing is. */
  private takes(data: DataTransfer | null): boolean {
    const list = LISTS.map((name) => data?.getData(name) ?? "").find((text) => text.includes("://")) ?? "";
    const files = [...(data?.files ?? [])];
    const isOfFiles = list !== "" && !/^https?:/im.test(list);
    if (isOfFiles) this.send({ type: "mention", uris: list });
    else for (const file of files) void this.add(file);
    return isOfFiles || files.length > 0;
  }

  private async add(file: File): Promise<void> {
    const name = makeVisible(cut(file.name, LONGEST_NAME));
    if (!file.type.startsWith("image/")) {
      this.complain(l10n.t("{0} is not a picture. To show a file to the model, drag it here from the Explorer with Shift held down, or write @ and its path.", name));
      return;
    }
    const data = await base64Of(file).catch((thrown: unknown) => {
      this.complain(l10n.t("{0} could not be read. {1}", name, thrown instanceof Error ? thrown.message : String(thrown)));
    });
    if (data === undefined) return;
    if (data.length > MOST_PICTURE_CHARS) this.complain(l10n.t("{0} is too large: a picture can have at most 3.5 MB.", name));
    else if (this.pictures.length >= MOST_PICTURES) this.complain(l10n.t("A message can have at most {0} pictures.", MOST_PICTURES));
    else this.put([...this.pictures, { name: file.name || "picture", data }]);
  }

  private rowOf(picture: Picture): HTMLElement {
    const name = makeVisible(cut(picture.name, LONGEST_NAME));
    const remove = button("×", `remove ${name}`, () => {
      this.put(this.pictures.filter((each) => each !== picture));
    }, { "aria-label": l10n.t("Remove {0}", name), title: l10n.t("Remove") });
    return h("li", {}, name, " ", remove);
  }
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const address = typeof reader.result === "string" ? reader.result : "";
      resolve(address.slice(address.indexOf(",") + 1));
    };
    reader.onerror = () => {
      reject(reader.error ?? new Error(l10n.t("The file could not be read.")));
    };
    reader.readAsDataURL(file);
  });
}
