/**
 * A list to choose from that can be one step of several: with a way back, and with what was chosen before.
 */
import { type Disposable, QuickInputButtons, ThemeIcon } from "vscode";

import { type Choice, createList } from "./present";

/** The person wants to choose again in the step before. */
export const BACK = Symbol("back");

/** How a list is shown: `step` counts from 1, and has a way back from 2 on. */
export interface Asking<T> {
  title: string;
  placeholder: string;
  step?: number;
  steps?: number;
  active?: T | undefined;
}

/** How a question is asked: `onEnd` takes the list away. */
export interface Question {
  title: string;
  placeholder: string;
  onEnd: (listener: () => void) => Disposable;
}

/** What else can be done with an item of a list: a button at its row. */
export interface ItemAction<T> {
  icon: string;
  title: string;
  take: (choice: T) => unknown;
}

/** Lets the person choose one of the items, or do something with one, which closes the list. */
export function pickOrDo<T extends Choice>(items: readonly T[], asking: Asking<T>, actions: readonly ItemAction<T>[]): Promise<T | undefined> {
  const buttons = actions.map(({ icon, title }) => ({ iconPath: new ThemeIcon(icon), tooltip: title }));
  const list = createList(items.map((item) => ({ ...item, buttons })), undefined);
  list.title = asking.title;
  list.placeholder = asking.placeholder;
  list.matchOnDescription = true;
  list.onDidTriggerItemButton(({ button, item }) => {
    list.hide();
    actions.find(({ title }) => title === button.tooltip)?.take(item.choice);
  });
  return choiceOf(list);
}

/** Lets the person choose one of the items; undefined when they do not want to. */
export function pick<T extends Choice>(items: readonly T[], asking: Asking<T>): Promise<T | typeof BACK | undefined> {
  const list = createList(items, asking.active);
  list.title = asking.title;
  list.placeholder = asking.placeholder;
  list.step = asking.step;
  list.totalSteps = asking.steps;
  list.matchOnDescription = true;
  list.matchOnDetail = true;
  if ((asking.step ?? 1) > 1) list.buttons = [QuickInputButtons.Back];
  let isBack = false;
  list.onDidTriggerButton(() => {
    isBack = true;
    list.hide();
  });
  return choiceOf(list).then((choice) => (isBack ? BACK : choice));
}

/**
 * Lets the person answer a question; undefined when they do not want to now.
 *
 * The first answer is the one that Enter gives, whatever was typed before: VS Code brings forward what matches in labels,
 * so the answers are descriptions, in which nothing is searched.
 */
export async function ask(answers: readonly Choice[], question: Question): Promise<number | undefined> {
  const rows = answers.map(({ label, ...more }, index) => ({ ...more, label: "", description: label, alwaysShow: true, index }));
  const list = createList(rows, rows[0]);
  list.title = question.title;
  list.placeholder = question.placeholder;
  list.ignoreFocusOut = true;
  const ended = question.onEnd(() => {
    list.hide();
  });
  try {
    return (await choiceOf(list))?.index;
  } finally {
    ended.dispose();
  }
}

/** Shows a list until something is chosen or it is hidden. */
function choiceOf<T extends Choice>(list: ReturnType<typeof createList<T>>): Promise<T | undefined> {
  return new Promise((resolve) => {
    list.onDidAccept(() => {
      resolve(list.selectedItems[0]?.choice);
      list.hide();
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.show();
  });
}
