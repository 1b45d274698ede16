/**
 * The conversations of the workspace in a list: search one, go on with it, rename it or delete it.
 */
import { l10n } from "vscode";

import type { Connection } from "../connection";
import { counted, tell } from "../messages";
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
      tell(l10n.t("there is no conversation yet."));
      return undefined;
    }
    const rows = sessions.map(({ session, title, time, turns }): Row => {
      return { session, title, label: title, description: turnsSince(new Date(time).toLocaleString(), turns) };
    });
    let done: Promise<void> | undefined;
    const then = (action: (row: Row) => Promise<void>) => (row: Row) => {
      done = action(row);
    };
    const chosen = await pickOrDo(rows, { title: l10n.t("Handrail: Conversations"), placeholder: l10n.t("Continue a conversation") }, [
      { icon: "edit", title: l10n.t("Rename"), take: then((row) => this.rename(row)) },
      { icon: "trash", title: l10n.t("Delete"), take: then((row) => this.remove(row)) },
    ]);
    await done;
    return done === undefined ? chosen?.session : undefined;
  }

  /** Lets the person give a conversation another title. */
  async rename({ session, title }: Named): Promise<void> {
    const given = await showInput({ title: l10n.t("Handrail: Rename Conversation"), prompt: l10n.t("The new title"), value: title, ignoreFocusOut: true });
    if (given === undefined || given.trim() === "" || given === title) return;
    await this.connection.request(SESSION_RENAME, { session, title: given.trim() });
  }

  /** Deletes a conversation for good, if the person confirms that. */
  async remove({ session, title }: Named): Promise<void> {
    const placeholder = l10n.t("Delete “{0}” permanently? Its changes to files stay, and you can still undo them.", title || l10n.t("New conversation"));
    const answers = [{ label: l10n.t("Keep it"), isYes: false }, { label: l10n.t("Delete"), isYes: true }];
    const chosen = await pick(answers, { title: l10n.t("Handrail: Delete Conversation"), placeholder });
    if (chosen === undefined || chosen === BACK || !chosen.isYes) return;
    await this.leave(session);
    await this.connection.request(SESSION_DELETE, { session });
  }
}

function turnsSince(time: string, turns: number): string {
  return counted(turns, l10n.t("{0}, 1 turn", time), l10n.t("{0}, {1} turns", time, turns));
}
