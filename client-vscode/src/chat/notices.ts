/**
 * Tells a person who looks elsewhere that a turn has ended, in whichever conversation.
 *
 * Questions are told by `Questions`, which asks the chat view whether they are in sight: in a window without the focus none is.
 */
import { type Disposable, type LogOutputChannel, window } from "vscode";

import type { Connection } from "../connection";
import { showMessage } from "../present";
import { SESSION_LIST, type TurnState } from "../protocol";
import type { Turns } from "../turns";
import type { ChatView } from "./view";

const SHOW = "Show";
const ENDS: Record<TurnState, string> = {
  finished: "has finished",
  stopped: "has stopped",
  cancelled: "was stopped",
  failed: "has failed",
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

  private async tell(session: string, state: TurnState): Promise<void> {
    const sessions = await this.connection.request(SESSION_LIST, {});
    const title = sessions.find((each) => each.session === session)?.title ?? "";
    const text = `Handrail: the turn ${ENDS[state]}${title === "" ? "" : ` in “${title}”`}.`;
    const isFine = state === "finished";
    if ((await showMessage(isFine ? "information" : "warning", text, SHOW)) === SHOW) await this.chat.showSession(session);
  }
}
