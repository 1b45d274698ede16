/**
 * The conversations of the workspace in a list: search one, go on with it, rename it or delete it.
 */
import type { Connection } from "../connection";
import { count, tell } from "../messages";
import { BACK, pick, pickOrDo } from "../pick";
import { type Choice, showInput } from "../present";
import { SESSION_DELETE, SESSION_LIST, SESSION_RENAME } from "../protocol";

/** What of a conversation is needed to speak of it. */
export interface Named {
  session: string;
  title: string;
}

interface Row extends Choice, Named {}

export class Sessions {
  constructor(
    private readonly connection: Connection,
    /** Makes sure that a conversation is not shown any more. */
    private readonly leave: (session: string) => Promise<void>,
  ) {}

  /** Lets the person choose one; undefined if they do not, or do something else with one. */
  async choose(): Promise<string | undefined> {
    const sessions = await this.connection.request(SESSION_LIST, {});
    if (sessions.length === 0) {
      tell("there is no conversation yet.");
      return undefined;
    }
    const rows = sessions.map(({ session, title, time, turns }): Row => {
      return { session, title, label: title, description: `${new Date(time).toLocaleString()}, ${count(turns, "turn")}` };
    });
    let done: Promise<void> | undefined;
    const then = (action: (row: Row) => Promise<void>) => (row: Row) => {
      done = action(row);
    };
    const chosen = await pickOrDo(rows, { title: "Handrail: Conversations", placeholder: "Continue a conversation" }, [
      { icon: "edit", title: "Rename", take: then((row) => this.rename(row)) },
      { icon: "trash", title: "Delete", take: then((row) => this.remove(row)) },
    ]);
    await done;
    return done === undefined ? chosen?.session : undefined;
  }

  /** Lets the person give a conversation another title. */
  async rename({ session, title }: Named): Promise<void> {
    const given = await showInput({ title: "Handrail: Rename Conversation", prompt: "The new title", value: title, ignoreFocusOut: true });
    if (given === undefined || given.trim() === "" || given === title) return;
    await this.connection.request(SESSION_RENAME, { session, title: given.trim() });
  }

  /** Deletes a conversation for good, if the person confirms that. */
  async remove({ session, title }: Named): Promise<void> {
    const placeholder = `Delete “${title || "New conversation"}” for good? Changes to files stay, and can still be restored.`;
    const answers = [{ label: "Keep it", isYes: false }, { label: "Delete", isYes: true }];
    const chosen = await pick(answers, { title: "Handrail: Delete Conversation", placeholder });
    if (chosen === undefined || chosen === BACK || !chosen.isYes) return;
    await this.leave(session);
    await this.connection.request(SESSION_DELETE, { session });
  }
}
