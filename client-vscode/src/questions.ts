/**
 * Questions to the person: open until they are answered, here or elsewhere, and shown in full before a yes can be given.
 *
 * A question takes no keys and covers nothing. The status item and one notification say that it waits; a click opens a
 * document that holds all of it, with its answers as code lenses. When it ends, all of that goes with it.
 */
import { randomUUID } from "node:crypto";
import {
  CodeLens,
  commands,
  type Disposable,
  type Event,
  EventEmitter,
  l10n,
  languages,
  type LogOutputChannel,
  Range,
  type TextDocument,
  type Uri,
  window,
} from "vscode";

import type { Connection } from "./connection";
import { showFailure, tell, UserError } from "./messages";
import { ask, BACK, pick } from "./pick";
import { showWaiting } from "./present";
import { APPROVAL_ANSWER, APPROVAL_LIST, OUTPUT_SHOW, RULES_LIST, RULES_REMOVE } from "./protocol";
import type { Approval } from "./protocol";
import { close, open, OUTPUT, QUESTION, SCHEME, type Texts } from "./texts";
import { ANSWER_COMMAND, headingOf, isOwn, textOf, titleOf } from "./words";

// Nobody but us can name it: a command's name could be in a link.
const CHOOSE = `handrail.client.choose.${randomUUID()}`;

const REMIND_MS = 15_000; // so often the time left is told anew

/** The questions that wait. */
export interface Waiting {
  count: number;
  /** Until the first of them times out. */
  minutesLeft: number;
  /** Whether the first of them is the model's own. */
  isOwn: boolean;
}

interface Open {
  question: Approval;
  document: Uri;
  /** When the time for an answer is over, in milliseconds since 1970. */
  until: number;
}

export class Questions implements Disposable {
  private readonly open = new Map<string, Open>();
  private readonly changes = new EventEmitter<void>();
  private readonly ends = new EventEmitter<string>();
  private readonly lenses = new EventEmitter<void>();
  private readonly subscriptions: Disposable[];
  /** Takes the notification away. */
  private release: (() => void) | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Whether the questions of a session stand in front of the person anyway. */
  private isInSight: (session: string) => boolean = () => false;

  readonly onDidChange = this.changes.event;

  constructor(
    private readonly connection: Connection,
    private readonly texts: Texts,
    private readonly log: LogOutputChannel,
  ) {
    const provider = {
      onDidChangeCodeLenses: this.lenses.event,
      provideCodeLenses: (document: TextDocument) => this.lensesOf(document),
    };
    this.subscriptions = [
      connection.onQuestion((question) => {
        this.add(question);
      }),
      connection.onQuestionEnd(({ approval }) => {
        this.remove(approval);
      }),
      connection.onDidChangeState((state) => {
        if (state === "running") this.learn();
        else for (const id of [...this.open.keys()]) this.remove(id); // the server is gone, and they with it
      }),
      languages.registerCodeLensProvider({ scheme: SCHEME }, provider),
      commands.registerCommand(CHOOSE, (id: string, choice: string) => this.send(id, choice)),
    ];
  }

  /** How many wait, for how many minutes the first to end still does, and whether that is the model's own. */
  get waiting(): Waiting {
    const [first, ...others] = [...this.open.values()].sort((one, other) => one.until - other.until);
    if (first === undefined) return { count: 0, minutesLeft: 0, isOwn: false };
    return { count: 1 + others.length, minutesLeft: Math.max(0, Math.ceil((first.until - Date.now()) / 60_000)), isOwn: isOwn(first.question) };
  }

  /** From now on no notification tells of questions that are in sight; *onDidChange* says that this may have changed. */
  heed(isInSight: (session: string) => boolean, onDidChange: Event<void>): void {
    this.isInSight = isInSight;
    this.subscriptions.push(
      onDidChange(() => {
        this.changed();
      }),
    );
  }

  /** Shows a question; if it is in front of the person already, offers its answers in a list. */
  async answer(): Promise<void> {
    const shown = this.shown();
    if (shown !== undefined) {
      await this.choose(shown);
      return;
    }
    const next = await this.which();
    if (next !== undefined) await open(next.document);
  }

  /** Shows what the last command has printed. */
  async showOutput(): Promise<void> {
    const { text } = await this.connection.request(OUTPUT_SHOW, {});
    await this.texts.show(OUTPUT, text);
  }

  /** Lets the person choose a rule that an answer has added, and removes it. */
  async removeRule(): Promise<void> {
    const rules = await this.connection.request(RULES_LIST, {});
    if (rules.length === 0) {
      tell(l10n.t("there are no rules from your answers."));
      return;
    }
    const items = rules.map(({ id, text, scope }) => {
      return { id, label: text, description: scope === "session" ? l10n.t("in a conversation") : l10n.t("in this workspace") };
    });
    const chosen = await pick(items, { title: l10n.t("Handrail: Rules"), placeholder: l10n.t("Remove a rule that your answer added") });
    if (chosen !== undefined && chosen !== BACK) await this.connection.request(RULES_REMOVE, { rule: chosen.id });
  }

  dispose(): void {
    for (const id of [...this.open.keys()]) this.remove(id);
    this.subscriptions.forEach((subscription) => {
      subscription.dispose();
    });
    for (const emitter of [this.changes, this.ends, this.lenses]) emitter.dispose();
  }

  /** Takes up the questions that were asked before this window was there. */
  private learn(): void {
    this.connection.request(APPROVAL_LIST, {}).then(
      (questions) => {
        questions.forEach((question) => {
          this.add(question);
        });
      },
      (thrown: unknown) => {
        this.log.warn("The open questions could not be listed", thrown);
      },
    );
  }

  private add(question: Approval): void {
    if (this.open.has(question.id)) return;
    const document = this.texts.add(QUESTION, textOf(question));
    this.open.set(question.id, { question, document, until: Date.now() + question.secondsLeft * 1000 });
    this.changed();
  }

  private remove(id: string): void {
    const found = this.open.get(id);
    if (found === undefined) return;
    this.open.delete(id);
    this.ends.fire(id);
    this.changed();
    close(found.document)
      .catch((thrown: unknown) => {
        this.log.warn("The document of a question could not be closed", thrown);
      })
      .finally(() => {
        this.texts.remove(found.document);
      });
  }

  private changed(): void {
    const { open } = this;
    this.lenses.fire();
    this.changes.fire();
    const hidden = [...open.values()].filter(({ question }) => !this.isInSight(question.session));
    if (hidden.length === 0) {
      this.release?.();
      this.release = undefined;
    }
    if (open.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
      return;
    }
    this.timer ??= setInterval(() => {
      this.changes.fire();
    }, REMIND_MS);
    if (hidden.length === 0 || this.release !== undefined) return;
    const until = new Promise<void>((resolve) => {
      this.release = resolve;
    });
    showWaiting({ text: l10n.t("Handrail is waiting for your answer."), link: l10n.t("Show the question"), command: ANSWER_COMMAND }, until);
  }

  /** The open question whose document is in front of the person. */
  private shown(): Open | undefined {
    const uri = window.activeTextEditor?.document.uri.toString();
    return [...this.open.values()].find(({ document }) => document.toString() === uri);
  }

  /** The question that the person wants to see; the only one, if there is no other. */
  private async which(): Promise<Open | undefined> {
    const all = [...this.open.values()];
    if (all.length === 0) tell(l10n.t("no question is waiting for you."));
    if (all.length < 2) return all[0];
    const items = all.map((open) => ({ open, label: headingOf(open.question), detail: beginning(open.question.subject) }));
    const chosen = await pick(items, { title: "Handrail", placeholder: l10n.t("{0} questions are waiting: choose one", all.length) });
    return chosen === undefined || chosen === BACK ? undefined : chosen.open;
  }

  private async choose({ question }: Open): Promise<void> {
    const answers = question.choices.map((choice) => ({ label: titleOf(question, choice) }));
    const onEnd = (listener: () => void) =>
      this.ends.event((id) => {
        if (id === question.id) listener();
      });
    const index = await ask(answers, { title: "Handrail", placeholder: headingOf(question), onEnd });
    const choice = index === undefined ? undefined : question.choices[index];
    if (choice !== undefined) await this.send(question.id, choice);
  }

  /** Answers a question, if it is still open. */
  private async send(id: string, choice: string): Promise<void> {
    try {
      if (!this.open.has(id)) throw new UserError(l10n.t("That question has ended."));
      await this.connection.request(APPROVAL_ANSWER, { approval: id, choice });
    } catch (thrown) {
      showFailure(this.log, "A question could not be answered", thrown);
    }
  }

  /** The answers, above all of the text and below it. */
  private lensesOf(document: TextDocument): CodeLens[] {
    const uri = document.uri.toString();
    const found = [...this.open.values()].find((each) => each.document.toString() === uri);
    if (found === undefined || found.question.kind === "question") return this.listLens(found);
    const { question } = found;
    return [0, document.lineCount - 1].flatMap((line) =>
      question.choices.map(
        (choice) => new CodeLens(new Range(line, 0, line, 0), { title: titleOf(question, choice), command: CHOOSE, arguments: [question.id, choice] }),
      ),
    );
  }

  /** The model's own answers can be long: a list has them. */
  private listLens(found: Open | undefined): CodeLens[] {
    if (found === undefined) return [];
    return [new CodeLens(new Range(0, 0, 0, 0), { title: l10n.t("Answer…"), command: ANSWER_COMMAND })];
  }
}

const LONGEST = 200; // characters of a question in a list

function beginning(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST)}…`;
}
