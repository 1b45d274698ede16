/**
 * The only way to VS Code's surfaces that interpret what they show: every text is escaped for the one that shows it.
 *
 * Notifications and prompts make links of `[text](target)`, `command:` targets included; labels make icons of
 * `$(name)`; logs make links of addresses; Markdown does all of that. What a model, a file or a command says must not
 * change what the person reads. ESLint refuses these functions of `window` everywhere else.
 */
import {
  type CancellationToken,
  type InputBoxOptions,
  type LogOutputChannel,
  MarkdownString,
  type MessageItem,
  type Progress,
  ProgressLocation,
  type ProgressOptions,
  type QuickPick,
  type QuickPickItem,
  window,
} from "vscode";

import { makeVisible } from "./characters";

export type Severity = "information" | "warning" | "error";

/** Escapes a text for a notification, which would make a link of `[text](target)`: a blank takes the two apart. */
export function escapeMessage(text: string): string {
  return makeVisible(text).replaceAll("](", "] (");
}

/** Escapes a text for a label, which would make an icon of `$(name)`; VS Code shows `\\$(name)` without its backslash. */
export function escapeLabel(text: string): string {
  return makeVisible(text).replace(/\$\((?=[A-Za-z0-9-]+(?:~[A-Za-z]+)?\))/g, "\\$(");
}

/** Keys that no log may show. */
const hidden = new Set<string>();

/** Keeps a key out of all logs from now on. */
export function hideInLogs(key: string): void {
  if (key !== "") hidden.add(key).add(JSON.stringify(key).slice(1, -1));
}

/** Escapes a text for a log, which would make a link of an address: what is put in has no width. Keys are left out. */
export function escapeLog(text: string): string {
  const keyless = [...hidden].reduce((rest, key) => rest.replaceAll(key, "[key]"), text);
  return makeVisible(keyless).replace(/(https?|file):(?=\/\/)/gi, "$1:\u2060");
}

/** Shows a notification; resolves to the button that was chosen, as it was given. */
export async function showMessage(severity: Severity, text: string, ...buttons: readonly string[]): Promise<string | undefined> {
  const items = buttons.map((button): MessageItem & { button: string } => ({ title: makeVisible(button), button }));
  const shown = escapeMessage(text);
  if (severity === "error") return (await window.showErrorMessage(shown, ...items))?.button;
  if (severity === "warning") return (await window.showWarningMessage(shown, ...items))?.button;
  return (await window.showInformationMessage(shown, ...items))?.button;
}

/** Shows progress while the task runs; what it reports is escaped. */
export function showProgress<T>(
  options: ProgressOptions & { title: string },
  task: (report: (message: string) => void, token: CancellationToken) => Thenable<T>,
): Thenable<T> {
  return window.withProgress({ ...options, title: escapeMessage(options.title) }, (progress: Progress<{ message: string }>, token) =>
    task((message) => {
      progress.report({ message: escapeMessage(message) });
    }, token),
  );
}

/** What a notification offers that stays until it is taken away: words of ours, and a command of ours as a link. */
export interface Waiting {
  text: string;
  link: string;
  command: string;
}

/** A hover that shows a text as code, whatever is in it: its fence is longer than any in the text, and it trusts nothing. */
export function codeHover(text: string, language: string): MarkdownString {
  return new MarkdownString().appendCodeblock(makeVisible(text), language);
}

/**
 * A text for a place that reads Markdown, in which nothing of it means anything: every sign is escaped, so pieces of a text
 * can be escaped one by one.
 */
export function plainMarkdown(text: string, isAtLineStart: boolean): MarkdownString {
  const shown = makeVisible(text)
    .replace(/[!-/:-@[-`{-~]/g, "\\$&")
    .replace(/(?<=[ \t\n])[ \t]/g, "\u00a0")
    .replace(/^[ \t]/, isAtLineStart ? "\u00a0" : "$&")
    .replaceAll("\n", "  \n");
  return new MarkdownString(shown);
}

/** Shows a notification until the promise is settled. It takes no keys, and nothing else takes it away for good. */
export function showWaiting({ text, link, command }: Waiting, until: Promise<unknown>): void {
  const title = `${escapeMessage(text)} [${link}](command:${command})`;
  void window.withProgress({ location: ProgressLocation.Notification, title }, () => until);
}

/** Asks for a line of text. */
export function showInput(options: InputBoxOptions & { prompt: string }): Thenable<string | undefined> {
  return window.showInputBox({ ...options, prompt: escapeLabel(escapeMessage(options.prompt)) });
}

/** An item of a list: its texts are shown as they are, and only `icon` is an icon. */
export interface Choice extends QuickPickItem {
  icon?: string;
}

/** What a list shows of a choice, which it holds. */
interface Row<T> extends QuickPickItem {
  choice: T;
}

/** Makes a list of choices, which is not shown yet; its selected items hold the choices. */
export function createList<T extends Choice>(choices: readonly T[], active: T | undefined): QuickPick<Row<T>> {
  const list = window.createQuickPick<Row<T>>();
  const rows = choices.map(rowOf);
  list.items = rows;
  const activeRow = rows.find(({ choice }) => choice === active);
  if (activeRow !== undefined) list.activeItems = [activeRow];
  return list;
}

function rowOf<T extends Choice>(choice: T): Row<T> {
  const { icon, label, description, detail, buttons } = choice;
  return {
    choice,
    label: icon === undefined ? escapeLabel(label) : `$(${icon}) ${escapeLabel(label)}`.trim(),
    ...(choice.kind === undefined ? {} : { kind: choice.kind }),
    ...(buttons === undefined ? {} : { buttons }),
    ...(choice.alwaysShow === undefined ? {} : { alwaysShow: choice.alwaysShow }),
    ...(description === undefined ? {} : { description: escapeLabel(description) }),
    ...(detail === undefined ? {} : { detail: escapeLabel(detail) }),
  };
}

/** Makes the log, whose lines are shown as they are. */
export function createLog(name: string): LogOutputChannel {
  const log = window.createOutputChannel(name, { log: true });
  const plain = (value: unknown): unknown => {
    if (value instanceof Error) return escapeLog(value.stack ?? value.message);
    return typeof value === "string" ? escapeLog(value) : value;
  };
  // A proxy, since the language client asks for the whole interface.
  return new Proxy(log, {
    get: (channel, property) => {
      const member: unknown = Reflect.get(channel, property);
      if (typeof member !== "function") return member;
      return (...values: unknown[]): unknown => Reflect.apply(member, channel, values.map(plain));
    },
  });
}
