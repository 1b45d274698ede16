/**
 * Tells a person who looks elsewhere that a turn has ended.
 *
 * Questions are told by `Questions`, which asks the chat view whether they are in sight: in a window without the focus none is.
 */
import { type Disposable, window } from "vscode";

import { showMessage } from "../present";
import type { ChatPrompt } from "../protocol";
import type { Conversation } from "./conversation";

const SHOW = "Show";
const ENDS: Record<ChatPrompt["state"], string> = {
  running: "has finished",
  finished: "has finished",
  stopped: "has stopped",
  cancelled: "was stopped",
  failed: "has failed",
  broken: "did not come to its end",
};

export class Notices implements Disposable {
  private running: string | undefined;
  private readonly subscriptions: Disposable[];

  constructor(
    private readonly conversation: Conversation,
    private readonly show: () => Promise<void>,
  ) {
    const look = () => {
      this.look();
    };
    this.subscriptions = [conversation.onDidChange(look), conversation.onDidRead(look)];
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  private look(): void {
    const { running } = this.conversation.status;
    const ended = running === undefined ? this.running : undefined;
    this.running = running;
    const prompt = ended === undefined ? undefined : this.conversation.item(ended);
    if (prompt?.kind === "prompt" && !window.state.focused) void this.tell(prompt);
  }

  private async tell({ state }: ChatPrompt): Promise<void> {
    const text = `Handrail: the turn ${ENDS[state]} in “${this.conversation.status.title}”.`;
    const isFine = state === "finished";
    if ((await showMessage(isFine ? "information" : "warning", text, SHOW)) === SHOW) await this.show();
  }
}
