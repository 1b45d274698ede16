/**
 * What the server can do: one that the person named may be older or newer than this extension.
 *
 * The server says which requests it answers. What it lacks is told once, by what people know it as; everything else works.
 */
import { l10n } from "vscode";

import type { Requests } from "./connection";
import { UserError } from "./messages";
import * as protocol from "./protocol";

const CHAT = l10n.t("the chat view");
const CHECKPOINTS = l10n.t("checkpoints and restoring");
const COMMANDS = l10n.t("the output of commands, and stopping them");
const COMMENTS = l10n.t("comments on changes");
const CONVERSATIONS = l10n.t("the list of conversations");
const FAILURES = l10n.t("quick fixes for edits that did not land");
const MODELS = l10n.t("the choice of models");
const QUESTIONS = l10n.t("questions before commands and edits");
const REVIEW = l10n.t("review");
const TRUST = l10n.t("folders that you have not trusted");
const TURNS = l10n.t("turns");
const TOOLS = l10n.t("edits of other agents, and the sample");

/** What each request is for. */
const PURPOSES: Record<keyof Requests, string> = {
  [protocol.TURN_START]: TURNS,
  [protocol.TURN_WAIT]: TURNS,
  [protocol.TURN_CANCEL]: TURNS,
  [protocol.TURN_APPLY]: TOOLS,
  [protocol.CHECKPOINT_LIST]: CHECKPOINTS,
  [protocol.CHECKPOINT_DIFF]: CHECKPOINTS,
  [protocol.CHECKPOINT_RESTORE]: CHECKPOINTS,
  [protocol.CHECKPOINT_REDO]: CHECKPOINTS,
  [protocol.CHECKPOINT_READ]: CHECKPOINTS,
  [protocol.APPROVAL_LIST]: QUESTIONS,
  [protocol.APPROVAL_ANSWER]: QUESTIONS,
  [protocol.RULES_LIST]: QUESTIONS,
  [protocol.RULES_REMOVE]: QUESTIONS,
  [protocol.OUTPUT_SHOW]: COMMANDS,
  [protocol.COMMAND_INTERRUPT]: COMMANDS,
  [protocol.COMMAND_STOP]: COMMANDS,
  [protocol.CHAT_OPEN]: CHAT,
  [protocol.CHAT_READ]: CHAT,
  [protocol.CHAT_SAY]: CHAT,
  [protocol.CHAT_CHOOSE]: CHAT,
  [protocol.CHAT_COMPLETE]: CHAT,
  [protocol.CHAT_RESEND]: CHAT,
  [protocol.SESSION_DELETE]: CONVERSATIONS,
  [protocol.SESSION_FORK]: CONVERSATIONS,
  [protocol.SESSION_RENAME]: CONVERSATIONS,
  [protocol.SESSION_LIST]: CONVERSATIONS,
  [protocol.FAILURE_APPLY]: FAILURES,
  [protocol.FAILURE_DIFF]: FAILURES,
  [protocol.FAILURE_DISMISS]: FAILURES,
  [protocol.MODEL_LIST]: MODELS,
  [protocol.MODEL_FORGET]: MODELS,
  [protocol.REVIEW_LIST]: REVIEW,
  [protocol.REVIEW_BASE]: REVIEW,
  [protocol.REVIEW_NEXT]: REVIEW,
  [protocol.REVIEW_PREVIOUS]: REVIEW,
  [protocol.REVIEW_OPEN]: REVIEW,
  [protocol.REVIEW_KEEP]: REVIEW,
  [protocol.REVIEW_UNDO]: REVIEW,
  [protocol.REVIEW_COMMENT]: COMMENTS,
  [protocol.REVIEW_COMMENTS]: COMMENTS,
  [protocol.REVIEW_EDIT]: COMMENTS,
  [protocol.REVIEW_SEND]: COMMENTS,
  [protocol.WORKSPACE_TRUST]: TRUST,
};

/** What does not work, or not fully, with a server that answers only these requests. */
export function missingWith(answered: readonly string[]): string[] {
  const missing = Object.entries(PURPOSES).filter(([request]) => !answered.includes(request));
  return [...new Set(missing.map(([, purpose]) => purpose))];
}

/** What is said when a server does not answer a request. */
export function lacking(request: keyof Requests): UserError {
  return new UserError(l10n.t("The Handrail server is too old for this ({0}). Update it, or clear the setting handrail.serverPath.", PURPOSES[request]));
}
