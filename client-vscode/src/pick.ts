/**
 * A list to choose from that can be one step of several: with a way back, and with what was chosen before.
 */
import { QuickInputButtons } from "vscode";

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
  return new Promise((resolve) => {
    const end = (choice: T | typeof BACK) => {
      resolve(choice);
      list.hide();
    };
    list.onDidTriggerButton(() => {
      end(BACK);
    });
    list.onDidAccept(() => {
      const [chosen] = list.selectedItems;
      if (chosen !== undefined) end(chosen.choice);
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.show();
  });
}
