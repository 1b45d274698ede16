/**
 * Saves after a turn what it changed, if the person has chosen that.
 *
 * Only documents that had no unsaved text when the turn began: others hold what the person has not saved yet. A turn whose
 * beginning was not seen, because the window was reloaded, saves nothing.
 */
import { type Disposable, l10n, type LogOutputChannel, Uri, workspace } from "vscode";

import type { Connection } from "./connection";
import { announce, counted, listed } from "./messages";
import type { TurnUpdate } from "./protocol";
import { nameOf } from "./review/places";

const SETTING = "handrail.saveAfterTurn";

/** What is known of a turn that runs, by documents' URIs. */
interface Running {
  unsaved: ReadonlySet<string>;
  changed: Set<string>;
}

export class SaveAfterTurns implements Disposable {
  private readonly running = new Map<string, Running>();
  private readonly subscriptions: Disposable[];

  constructor(
    connection: Connection,
    private readonly log: LogOutputChannel,
  ) {
    this.subscriptions = [
      connection.onTurnUpdate((update) => {
        this.follow(update);
      }),
      connection.onDidChangeState((state) => {
        if (state !== "running") this.running.clear();
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  private follow({ turn, event }: TurnUpdate): void {
    if (event.kind === "started") this.running.set(turn, { unsaved: unsaved(), changed: new Set() });
    else if (event.kind === "outcome" && event.status === "landed") this.running.get(turn)?.changed.add(Uri.parse(event.uri).toString());
    else if (event.kind === "ended") {
      const known = this.running.get(turn);
      this.running.delete(turn);
      if (known !== undefined && workspace.getConfiguration().get<boolean>(SETTING) === true) void this.save(known);
    }
  }

  private async save({ unsaved, changed }: Running): Promise<void> {
    const wanted = workspace.textDocuments.filter(({ uri, isDirty, isUntitled }) => {
      const key = uri.toString();
      return isDirty && !isUntitled && changed.has(key) && !unsaved.has(key);
    });
    const failed: string[] = [];
    for (const document of wanted) {
      const isSaved = await document.save().then(undefined, (thrown: unknown) => {
        this.log.warn("A document could not be saved", thrown);
        return false;
      });
      if (!isSaved) failed.push(nameOf(document.uri));
    }
    if (failed.length === 0) return;
    const text = counted(
      failed.length,
      l10n.t("Handrail: 1 document could not be saved after the turn: {0}.", listed(failed)),
      l10n.t("Handrail: {0} documents could not be saved after the turn: {1}.", failed.length, listed(failed)),
    );
    announce(this.log, text, false, []);
  }
}

function unsaved(): Set<string> {
  return new Set(workspace.textDocuments.filter(({ isDirty }) => isDirty).map(({ uri }) => uri.toString()));
}
