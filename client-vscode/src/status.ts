/**
 * The status item: what Handrail is doing, how many changes wait for review and how many edits failed. A click offers what can be done now.
 */
import {
  commands,
  DiagnosticSeverity,
  type Disposable,
  l10n,
  languages,
  StatusBarAlignment,
  ThemeColor,
  type Uri,
  window,
  workspace,
} from "vscode";

import { makeVisible } from "./characters";
import type { Connection, ConnectionState } from "./connection";
import { counted } from "./messages";
import { BACK, pick } from "./pick";
import { type Choice, escapeLabel } from "./present";
import type { Questions, Waiting } from "./questions";
import type { Pending } from "./review/state";
import type { Turns } from "./turns";
import { ANSWER_COMMAND } from "./words";

const LONGEST_ACTIVITY = 40; // characters; the status bar is shared

export class Status implements Disposable {
  private readonly item = window.createStatusBarItem("handrail.status", StatusBarAlignment.Left, 0);
  private state: ConnectionState = "starting";
  /** Edits that did not land and are still shown as problems, by document. */
  private readonly failures = new Map<string, number>();
  private readonly subscriptions: Disposable[];

  constructor(
    connection: Connection,
    private readonly turns: Turns,
    private readonly questions: Questions,
    private readonly pending: Pending,
  ) {
    this.item.name = "Handrail";
    this.subscriptions = [
      connection.onDidChangeState((state) => {
        this.state = state;
        this.render();
      }),
      turns.onDidChange(() => {
        this.render();
      }),
      questions.onDidChange(() => {
        this.render();
      }),
      pending.onDidChange(() => {
        this.render();
      }),
      workspace.onDidGrantWorkspaceTrust(() => {
        this.render();
      }),
      languages.onDidChangeDiagnostics(({ uris }) => {
        this.countFailures(uris);
      }),
    ];
    this.render();
    this.item.show();
  }

  /** Offers what can be done now. */
  async menu(): Promise<void> {
    const entries: Entry[] = [
      ...(this.questions.waiting.count === 0 ? [] : [entry("question", l10n.t("Answer Question…"), ANSWER_COMMAND)]),
      ...(this.turns.activity === undefined ? [] : [entry("debug-stop", l10n.t("Stop"), "handrail.client.stop")]),
      ...(this.pending.count === 0 ? [] : [entry("checklist", l10n.t("Review"), "handrail.client.review.focus")]),
      ...(this.failureCount === 0 ? [] : [entry("warning", l10n.t("Problems"), "workbench.actions.view.problems")]),
      entry("comment", l10n.t("Ask…"), "handrail.client.ask"),
      entry("comment-discussion", l10n.t("Show Chat"), "handrail.client.showChat"),
      entry("clippy", l10n.t("Apply Reply from Clipboard"), "handrail.client.applyClipboard"),
      entry("discard", l10n.t("Restore Checkpoint…"), "handrail.client.restore"),
      ...(workspace.isTrusted ? [] : [entry("shield", l10n.t("Manage Workspace Trust"), "workbench.trust.manage")]),
      ...(this.state === "running" ? [] : [entry("debug-restart", l10n.t("Restart Server"), "handrail.client.restartServer")]),
      entry("output", l10n.t("Show Log"), "handrail.client.showLog"),
    ];
    const chosen = await pick(entries, { title: "Handrail", placeholder: l10n.t("Choose an action") });
    if (chosen !== undefined && chosen !== BACK) await commands.executeCommand(chosen.command);
  }

  dispose(): void {
    this.item.dispose();
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
  }

  private get failureCount(): number {
    return [...this.failures.values()].reduce((sum, n) => sum + n, 0);
  }

  private countFailures(uris: readonly Uri[]): void {
    for (const uri of uris) {
      const ours = languages
        .getDiagnostics(uri)
        .filter(({ source, severity }) => source === "handrail" && severity !== DiagnosticSeverity.Hint);
      if (ours.length > 0) this.failures.set(uri.toString(), ours.length);
      else this.failures.delete(uri.toString());
    }
    this.render();
  }

  private render(): void {
    const { icon, says, tooltip, isAlarming = false } = this.face();
    const counts = this.counts();
    const isWaiting = this.questions.waiting.count > 0 && says !== "";
    const after = [says, counts.short].filter((part) => part !== "").join(" · ");
    const told = [tooltip, counts.long].filter((part) => part !== "").join(" ");
    this.item.command = isWaiting ? ANSWER_COMMAND : "handrail.client.menu";
    this.item.text = `$(${icon}) ${isWaiting ? after : titled(after)}`;
    this.item.tooltip = told; // a string is shown as it is
    this.item.accessibilityInformation = { label: `Handrail. ${told}` };
    this.item.backgroundColor = isAlarming ? new ThemeColor("statusBarItem.warningBackground") : undefined;
  }

  /** What waits for the person, for the item and for its tooltip; empty without a server, which is the one that knows. */
  private counts(): { short: string; long: string } {
    if (this.state !== "running") return { short: "", long: "" };
    const changes = this.pending.count;
    const failures = this.failureCount;
    const short = [changes === 0 ? "" : l10n.t("{0} to review", changes), failures === 0 ? "" : l10n.t("{0} did not land", failures)];
    const long = [
      changes === 0 ? "" : counted(changes, l10n.t("1 change to review."), l10n.t("{0} changes to review.", changes)),
      failures === 0
        ? ""
        : counted(
            failures,
            l10n.t("1 edit did not land. See its quick fixes in Problems."),
            l10n.t("{0} edits did not land. See their quick fixes in Problems.", failures),
          ),
    ];
    return { short: short.filter((part) => part !== "").join(" · "), long: long.filter((part) => part !== "").join(" ") };
  }

  private face(): Face {
    const { activity } = this.turns;
    if (this.state === "stopped") return { icon: "error", says: "", tooltip: l10n.t("The server is not running."), isAlarming: true };
    if (this.state === "starting") return { icon: "loading~spin", says: "", tooltip: l10n.t("The server is starting.") };
    const waiting = this.questions.waiting;
    if (waiting.count > 0) {
      const says = l10n.t("Handrail is waiting for you ({0} min left)", waiting.minutesLeft);
      return { icon: "question", says, tooltip: waitingFor(waiting), isAlarming: true };
    }
    if (activity !== undefined) {
      return { icon: "sync~spin", says: escapeLabel(shorten(activity)), tooltip: l10n.t("Working: {0}.", makeVisible(activity)) };
    }
    if (!workspace.isTrusted) {
      return { icon: "shield", says: l10n.t("read only"), tooltip: l10n.t("This workspace is not trusted: turns can read but not change anything.") };
    }
    return { icon: this.failureCount > 0 ? "warning" : "check", says: "", tooltip: l10n.t("Nothing is running.") };
  }
}

interface Face {
  icon: string;
  /** What follows the name, which only a question has in its own words; empty when there is nothing to say. */
  says: string;
  tooltip: string;
  isAlarming?: boolean;
}

interface Entry extends Choice {
  command: string;
}

function entry(icon: string, label: string, command: string): Entry {
  return { icon, label, command };
}

/** The product's name, with what follows it. */
function titled(after: string): string {
  return after === "" ? "Handrail" : l10n.t("Handrail: {0}", after);
}

function waitingFor({ count, minutesLeft, isOwn }: Waiting): string {
  const left = counted(minutesLeft, l10n.t("1 minute"), l10n.t("{0} minutes", minutesLeft));
  if (isOwn) {
    return counted(
      count,
      l10n.t("1 question is waiting for your answer. Without an answer within {0}, the turn continues without one.", left),
      l10n.t("{0} questions are waiting for your answers. Without an answer to the first within {1}, its turn continues without one.", count, left),
    );
  }
  return counted(
    count,
    l10n.t("1 question is waiting for your answer. Without an answer within {0}, the answer is no.", left),
    l10n.t("{0} questions are waiting for your answers. Without an answer within {1}, the answer to the first is no.", count, left),
  );
}

function shorten(activity: string): string {
  return activity.length <= LONGEST_ACTIVITY ? activity : `${activity.slice(0, LONGEST_ACTIVITY - 1)}…`;
}
