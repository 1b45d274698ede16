/**
 * Tells a person who looks elsewhere that a turn has ended, in whichever conversation.
 *
 * Questions are told by `Questions`, which asks the chat view whether they are in sight: in a window without the focus none is.
 */
import { type Disposable, l10n, type LogOutputChannel, window } from "vscode";

import type { Connection } from "../connection";
import { showMessage } from "../present";
import { SESSION_LIST } from "../protocol";
import type { Turns } from "../turns";
import type { ChatView } from "./view";

const SHOW = l10n.t("Show");
const ENDED = l10n.t("Handrail: the turn has ended."); // as only a newer server ends turns
const ENDS: Partial<Record<string, string>> = {
  finished: l10n.t("Handrail: the turn has finished."),
  stopped: l10n.t("Handrail ended the turn early. Choose Show to see why."),
  cancelled: l10n.t("Handrail: the turn was stopped."),
  failed: l10n.t("Handrail: the turn has failed."),
};

export class Notices implements Disposable {
  private readonly subscription: Disposable;

  /** What `turns` has begun, it also reports. */
  constructor(
    private readonly connection: Connection,
    private readonly chat: ChatView,
    turns: Turns,
    log: LogOutputChannel,
  ) {
    this.subscription = connection.onTurnUpdate(({ session, turn, event }) => {
      if (event.kind !== "ended" || window.state.focused || turns.reports(turn)) return;
      this.tell(session, event.state).catch((thrown: unknown) => {
        log.warn("The end of a turn could not be told", thrown);
      });
    });
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private async tell(session: string, state: string): Promise<void> {
    const title = await this.titleOf(session);
    const text = (title === "" ? ENDS[state] : endIn(title)[state]) ?? ENDED;
    const isFine = state === "finished";
    if ((await showMessage(isFine ? "information" : "warning", text, SHOW)) === SHOW) await this.chat.showSession(session);
  }

  /** What the conversation is called; empty if it has no title, or the server does not say. */
  private async titleOf(session: string): Promise<string> {
    const sessions = this.connection.offers(SESSION_LIST) ? await this.connection.request(SESSION_LIST, {}) : [];
    return sessions.find((each) => each.session === session)?.title ?? "";
  }
}

/** How a turn ended, in a conversation that has a title. */
function endIn(title: string): Partial<Record<string, string>> {
  return {
    finished: l10n.t("Handrail: the turn in “{0}” has finished.", title),
    stopped: l10n.t("Handrail ended the turn in “{0}” early. Choose Show to see why.", title),
    cancelled: l10n.t("Handrail: the turn in “{0}” was stopped.", title),
    failed: l10n.t("Handrail: the turn in “{0}” has failed.", title),
  };
}
