/**
 * A list to choose from that can be one step of several: with a way back, and with what was chosen before.
 */
import { QuickInputButtons, type QuickPickItem, window } from "vscode";

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
export function pick<T extends QuickPickItem>(items: readonly T[], asking: Asking<T>): Promise<T | typeof BACK | undefined> {
  const list = window.createQuickPick<T>();
  list.title = asking.title;
  list.placeholder = asking.placeholder;
  list.step = asking.step;
  list.totalSteps = asking.steps;
  list.matchOnDescription = true;
  list.matchOnDetail = true;
  list.items = items;
  if (asking.active !== undefined) list.activeItems = [asking.active];
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
      if (chosen !== undefined) end(chosen);
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.show();
  });
}
