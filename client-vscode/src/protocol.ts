// made by scripts/generate.py from server/handrail/lsp; do not edit.

/** The stable name of a class of failure; docs/failures.md has a page for each. */
export type FailureCode =
  | "bad-patch"
  | "empty-search"
  | "no-match"
  | "ambiguous-match"
  | "no-change"
  | "omission"
  | "no-such-file"
  | "unreadable-file"
  | "file-exists"
  | "outside-workspace"
  | "stale-document"
  | "bad-encoding"
  | "too-large"
  | "edit-rejected"
  | "not-as-written"
  | "busy"
  | "blocked"
  | "denied"
  | "timed-out"
  | "unknown-tool"
  | "bad-arguments"
  | "cut-short"
  | "tool-failed";

export type TurnState = "finished" | "stopped" | "cancelled" | "failed";

export type Mode = "edit" | "ask" | "plan";

export type Status = "landed" | "already" | "failed" | "denied";

export type Tier = "safe" | "normalised" | "anchored";

export type PathChange = "created" | "changed" | "deleted";

export type CheckpointKind = "turn" | "quickFix" | "undo" | "restore" | "redo";

export type ApprovalKind = "command" | "file" | "outside" | "tool" | "question" | "saving" | "appeared";

export type ApprovalEnd = "answered" | "timedOut" | "withdrawn";

export type RuleScope = "session" | "workspace";

/** An LSP position. */
export interface Position {
  /** The line, counted from 0. */
  line: number;
  /** The offset in the line, counted from 0 in the negotiated encoding. */
  character: number;
}

/** An LSP range. */
export interface Range {
  /** Where it begins. */
  start: Position;
  /** Where it ends; the character at this position is not part of it. */
  end: Position;
}

/** A place where a failed edit may have been meant to go. */
export interface Candidate {
  /** The lines of the document that the edit would replace. */
  range: Range;
  /** How similar these lines are to the text that the edit looked for, from 0 to 1. */
  score: number;
}

/** An edit or another tool call that failed. */
export interface Failure {
  /** Identifies it in `failure.apply`, `failure.diff` and `failure.dismiss`. */
  id: string;
  /** The class of failure. */
  code: FailureCode;
  /** What happened, and where. */
  message: string;
  /** What to do next, the most useful first. */
  steps: string[];
  /** URI of the document; empty if the failure is not about a document. */
  uri: string;
  /** The most similar place in the document; null if there is none. */
  range: Range | null;
  /** Places where the edit could be made instead, best first; empty for a change of a whole document. */
  candidates: Candidate[];
  /** How often the edit was tried. */
  attempts: number;
  /** Id of the turn that tried it. */
  turn: string;
}

/** The result of one attempted change. */
export interface Outcome {
  /** The outcome's id; if the change failed, also the id of the failure. */
  id: string;
  /** URI of the document; if the change moved it, its new one. */
  uri: string;
  /** Id of the tool call that tried the change. */
  call: string;
  /** Name of the tool that was called. */
  tool: string;
  /** Number of the hunk in its patch, counted from 1; null for a change of a whole document. */
  hunk: number | null;
  /** `landed`: the change was made. `already`: the document had it before. `failed`: it could not be made. `denied`: the user said no or did not answer in time; a denied change is not an open failure. */
  status: Status;
  /** How exactly the searched text matched; null if the change did not land or needed no search. */
  tier?: Tier;
  /** Why the change failed or was denied; null otherwise. */
  failure?: Failure;
  /** The change that landed, as a unified diff for people to read. */
  diff?: string;
  /** Why no checkpoint can undo the change, if it landed without one. */
  uncovered?: string;
  /** What handrail corrected or adapted to make the change, and what the editor altered in it, one sentence each. */
  notes?: string[];
}

/** Tokens and price, summed over a number of model calls. */
export interface Usage {
  /** How many model calls are included. */
  steps: number;
  /** Tokens that were sent to the model. */
  inputTokens: number;
  /** Tokens that the model wrote. */
  outputTokens: number;
  /** Tokens of the input that the provider read from its cache. */
  cachedTokens: number;
  /** The price in US dollars; null if the price of any call is unknown. */
  costUsd: number | null;
}

/** The result of a turn. */
export interface TurnReport {
  /** The session's id. */
  session: string;
  /** The turn's id. */
  turn: string;
  /** `finished`: the model gave its answer. `stopped`: handrail ended the turn, at a limit or because the model repeated itself, refused, or gave no usable answer. `cancelled`: the user ended it, or it was queued and did not start. `failed`: the model or the editor could not be reached or used, or an error in handrail or its storage ended the turn; `reason` says which. */
  state: TurnState;
  /** The model's own text, with nothing added. */
  answer: string;
  /** Every change that was tried, in order. */
  outcomes: Outcome[];
  /** Id of the turn's checkpoint; null if nothing was changed. */
  checkpoint: string | null;
  /** What this turn used. */
  usage: Usage;
  /** What all turns of the session have used so far, this one included. */
  sessionUsage: Usage;
  /** Why the turn did not finish. null if it finished, or if it was cancelled while it was running. */
  reason?: string;
  /** Ids of the turn's changes that are neither kept nor undone yet; see `review.list`. */
  pending?: string[];
  /** True if nothing of the session could be stored, so that it is lost when the server ends; otherwise null. */
  unstored?: boolean;
}

/** The result of edits that another program wrote. */
export interface TurnApplied {
  /** The result in words for a model: which edits landed, which failed and why, and what to do next. */
  text: string;
  /** The report of the turn that applied the edits. */
  report: TurnReport;
}

/** One step of a checkpoint. */
export interface CheckpointStep {
  /** Identifies the step in `checkpoint.restore`, which undoes this step and all later steps of the turn. */
  id: string;
  /** The paths that the step changed, spelled as in the checkpoint's `paths`. */
  paths: string[];
}

/** A path that a turn changed. */
export interface CheckpointPath {
  /** URI of the file. */
  uri: string;
  /** The path as people read it: relative to its workspace folder, with `/`, or absolute outside the workspace. */
  path: string;
  /** What the turn did to the file. */
  change: PathChange;
}

/** The contents of documents before a turn changed them. */
export interface Checkpoint {
  /** The kind of change before which it was taken: a `turn` (of a model, or of edits given by another program), a `quickFix`, an `undo` in a review, a `restore`, or the `redo` of a restore. */
  kind: CheckpointKind;
  /** The checkpoint's id, which is the id of its turn. */
  id: string;
  /** The session's id; empty for a quick fix, for changes undone in a review, and for a restore or a redo of one of these. */
  session: string;
  /** The same id as `id`. (A quick fix, an undo, a restore and a redo count as turns here: each has an id of its own.) */
  turn: string;
  /** A short title for people, such as the first line of the turn's prompt; for a restore, `Before restoring: …`; for a redo, `Before undoing a restore: …`. */
  label: string;
  /** The title to show in a list from which the user chooses what to undo. It is the label, except for a restore (`Restore: …`) and a redo (`Undo of a restore: …`). */
  name: string;
  /** When the checkpoint was started, as an RFC 3339 time. */
  time: string;
  /** Absolute path of the first workspace folder; empty if there was none. */
  root: string;
  /** The steps of the turn that changed something, in order. */
  steps: CheckpointStep[];
  /** Every path that the turn changed. */
  paths: CheckpointPath[];
}

/** A turn of a session. All turns that were copied from another session are one entry. */
export interface SessionTurn {
  /** The turn's id. For copied turns: the id of the last one, which is a turn of the other session; a restore with this id undoes the turn of that session. */
  turn: string;
  /** What the user asked for. For copied turns: in the last one of them. */
  prompt: string;
  /** How the turn ended, as in `TurnReport`; null if it did not reach its end, for example because the server was killed. */
  state?: string;
  /** How many turns were copied; null for a turn of this session. */
  copied?: number;
}

/** A session that was resumed; new turns can begin in it. */
export interface SessionResumeResult {
  /** The session's id. */
  session: string;
  /** The turns of its conversation, oldest first. */
  turns: SessionTurn[];
  /** What its next turn may do, unless the request that starts it says otherwise; null in the report of a restore. */
  mode?: Mode;
  /** What all its turns have used, even those that a restore has removed; null in the report of a restore. */
  usage?: Usage;
}

/** A document that a restore left unchanged. */
export interface RestoreConflict {
  /** URI of the document. */
  uri: string;
  /** Why the document was not restored, in a sentence. */
  reason: string;
  /** A unified diff from the current text to the text in the checkpoint; null if there is none to show. */
  diff?: string;
}

/** A document that was restored only in part. */
export interface RestorePart {
  /** URI of the document. */
  uri: string;
  /** Why not all of it was restored, in a sentence. */
  reason: string;
  /** What is still missing: a unified diff from the current text to the text in the checkpoint; null if there is none to show. */
  diff?: string;
}

/** The result of a restore. Each document is listed in exactly one of the first five fields. */
export interface RestoreReport {
  /** URIs of the documents that have their earlier contents again. */
  restored: string[];
  /** URIs of the documents that needed no change. */
  unchanged: string[];
  /** URIs of the documents that were deleted because they did not exist before. */
  deleted: string[];
  /** Documents that were left unchanged. */
  conflicts: RestoreConflict[];
  /** Documents of which only a part was restored, so that they match neither their state before the restore nor the checkpoint. */
  partial: RestorePart[];
  /** Id of a checkpoint taken just before, which undoes this restore; null if there was nothing to restore, and in the report of a dry run. */
  checkpoint: string | null;
  /** The session whose conversation was rewound too, with its remaining turns; null if only documents were restored. */
  conversation?: SessionResumeResult;
}

/** A document, or a part of one, that the user points at. */
export interface TurnContext {
  /** URI of the document. A document that cannot be read is left out. */
  uri: string;
  /** The part that the model is shown; null for the whole document. */
  range?: Range;
}

/** A picture for the model: a PNG, JPEG, GIF or WebP of at most 3.5 MB. Give either `uri` or `data`. */
export interface TurnImage {
  /** URI of the picture's file. */
  uri?: string;
  /** The picture's bytes in base64, if it has no file. */
  data?: string;
  /** A name for a picture given as `data`; by default `picture`. */
  name?: string;
}

/** The turn to begin. */
export interface TurnStartParams {
  /** What the user asks for; it must not be empty. */
  prompt: string;
  /** Id of the session to continue; without it, a new session begins. */
  session?: string;
  /** What the turn may do; by default the mode that was chosen for the session, or else the setting `handrail.mode`. */
  mode?: Mode;
  /** Documents, or parts of them, to show to the model. */
  context?: TurnContext[];
  /** Pictures to show to the model, 20 at most. The model must be able to see pictures. */
  images?: TurnImage[];
  /** Whether the prompt is a reply that the user copied from a chat: its edits are made, and no model is asked, whatever `handrail.model` is. */
  pasted?: boolean;
}

/** The turn that has begun or waits to begin; `turn.wait` answers when it has ended. */
export interface TurnStartResult {
  /** The session's id. */
  session: string;
  /** The turn's id. */
  turn: string;
}

/** Edits that another program wrote, such as another agent in the editor. */
export interface TurnApplyParams {
  /** A V4A patch, SEARCH/REPLACE blocks, a unified diff, or whole files. */
  edits: string;
  /** The title of the turn and of its checkpoint; by default `Edits from the editor`. */
  title?: string;
}

/** The turn to wait for. */
export interface TurnWaitParams {
  /** The turn's id. */
  turn: string;
}

/** A message to a running turn. */
export interface TurnSteerParams {
  /** The turn's id. */
  turn: string;
  /** The message; it must not be empty. */
  text: string;
}

/** The turn to stop. */
export interface TurnCancelParams {
  /** The turn's id. */
  turn: string;
}

/** The comment to send. */
export interface PromptSendParams {
  /** URI of the document. */
  uri: string;
  /** Any line of the comment, counted from 0. */
  line: number;
}

/** A problem that another program reports. */
export interface PromptDiagnostic {
  /** The place in the document. */
  range: Range;
  /** What the program says. */
  message: string;
  /** Name of the program. */
  source?: string;
  /** The program's code for this kind of problem. */
  code?: string;
}

/** The problems to fix. */
export interface PromptFixParams {
  /** URI of the document. */
  uri: string;
  /** The place to fix; the model is shown the lines around it. */
  range: Range;
  /** The problems there, at least one; the model is sent the first 20. */
  diagnostics: PromptDiagnostic[];
}

/** Selects the sessions of the workspace to list. */
export interface SessionListParams {
  /** List only this many, the newest; null lists all. */
  limit?: number;
}

/** A session of the workspace. */
export interface SessionInfo {
  /** The session's id. */
  session: string;
  /** The title that the user gave it, or else the first line of its first prompt. */
  title: string;
  /** When it was last written to, as an RFC 3339 time. */
  time: string;
  /** The number of its turns, including those that were copied from another session. */
  turns: number;
}

/** The session to resume. */
export interface SessionResumeParams {
  /** The session's id. */
  session: string;
}

/** The session to copy, and how much of it. */
export interface SessionForkParams {
  /** Id of the session to copy. */
  session: string;
  /** Id of the last turn to include. */
  turn: string;
}

/** The new session. */
export interface SessionForkResult {
  /** The new session's id. */
  session: string;
}

/** The session whose conversation to summarise. */
export interface SessionCompactParams {
  /** The session's id. */
  session: string;
}

/** The result of summarising a conversation. */
export interface SessionCompacted {
  /** About how many tokens the conversation had; null if there is too little to summarise. */
  before: number | null;
  /** About how many tokens it has now; null if there is too little to summarise. */
  after: number | null;
}

/** The session's new title. */
export interface SessionRenameParams {
  /** The session's id. */
  session: string;
  /** The new title; it must not be empty. */
  title: string;
}

/** The session to delete. */
export interface SessionDeleteParams {
  /** The session's id. */
  session: string;
}

/** Selects the open failures to list. */
export interface FailureListParams {
  /** Only failures in this document; null lists those in all documents. */
  uri?: string;
}

/** Selects the open failures to close. One of the two fields must be given. */
export interface FailureDismissParams {
  /** Id of the failure to close. */
  failure?: string;
  /** Whether to close all open failures. */
  all?: boolean;
}

/** The failed edit, and where to make it. */
export interface FailureApplyParams {
  /** The failure's id. */
  failure: string;
  /** Index of the place in the failure's `candidates`, counted from 0. */
  candidate: number;
}

/** The failed edit to show. */
export interface FailureDiffParams {
  /** The failure's id. */
  failure: string;
  /** Index of the place in the failure's `candidates`, counted from 0; null shows the edit at each of them. */
  candidate?: number;
}

/** The changes that a failed edit would make. */
export interface FailureDiff {
  /** URI of a document that shows the diff: a virtual document (scheme `handrail`, to be read with `workspace/textDocumentContent`), or a file if the client does not declare that capability. */
  uri: string;
  /** The unified diff. */
  text: string;
}

/** Selects the checkpoints to list. */
export interface CheckpointListParams {
  /** Only checkpoints of this session; null lists those of all sessions. */
  session?: string;
  /** Only checkpoints that contain this document; `paths` then lists no other. */
  uri?: string;
}

/** Selects the states to compare. */
export interface CheckpointDiffParams {
  /** Id of a turn or a step; the diff starts from the state before it. */
  checkpoint: string;
  /** The diff ends at the state before this other turn or step, or at the current state (`now`). If absent, it ends where the turn ended, even if `checkpoint` is a step, and leaves out what the user or other programs changed between the steps. But documents that the turn created or deleted, and documents in which someone else changed the same lines as the turn, are always shown with all changes. */
  against?: string;
  /** Compare only this document. */
  uri?: string;
}

/** The differences. */
export interface CheckpointDiff {
  /** URI of a document that shows the diff: a virtual document (scheme `handrail`, to be read with `workspace/textDocumentContent`), or a file if the client does not declare that capability. */
  uri: string;
  /** The unified diff. */
  text: string;
}

/** Selects what is restored. */
export interface CheckpointRestoreParams {
  /** Id of the turn to undo, or of the step to undo together with all later steps of its turn. With `conversation`, it may be any turn of a session, even one that changed no document. */
  checkpoint: string;
  /** Restore only these documents; null restores all. A document that the user has renamed since may be given by its old or its new name; the report has the new one. */
  uris?: string[];
  /** Whether to rewind the conversation too, to the point before the turn or step. Later messages leave the conversation but stay in the session's journal. */
  conversation?: boolean;
  /** Whether to undo everything that was done in the workspace since, too: later turns of all sessions, quick fixes, restores, and undos in a review. */
  following?: boolean;
  /** Whether to restore documents; by default true. It may be false only with `conversation` and without `uris`. */
  files?: boolean;
  /** Undo only what the turn changed in these lines of the current text; `uris` must then name exactly one document. */
  range?: Range;
  /** Whether to change nothing, and only return the report that the restore would have now. Only a real restore finds out that the editor refuses an edit or that a file cannot be written. */
  dryRun?: boolean;
}

/** Selects the restore to redo. */
export interface CheckpointRedoParams {
  /** The `checkpoint` of its `RestoreReport`; by default the newest restore that was not redone yet. */
  checkpoint?: string;
  /** As for `checkpoint.restore`. */
  dryRun?: boolean;
}

/** Selects the text to read. */
export interface CheckpointReadParams {
  /** Id of a turn or a step. */
  checkpoint: string;
  /** The document. */
  uri: string;
  /** Whether to read what the turn left; by default, what there was before the turn or step. */
  after?: boolean;
}

/** The text of a document in a checkpoint. */
export interface CheckpointText {
  /** The text; null if there was no document, or it was not text. */
  text: string | null;
  /** Whether there was a document. */
  exists: boolean;
}

/** Selects the checkpoints to remove. */
export interface CheckpointPruneParams {
  /** Ids of the checkpoints to remove, even if they are within the limits; an empty list removes nothing, and null removes those that exceed the limits. */
  checkpoints?: string[];
}

/** The result of the removal. */
export interface CheckpointPruned {
  /** Ids of the checkpoints that were removed. */
  removed: string[];
  /** How much disk space the remaining checkpoints use, in bytes. */
  bytesUsed: number;
}

/** This request takes no params. */
export type CheckpointVerifyParams = Record<string, never>;

/** The result of the check. */
export interface CheckpointSoundness {
  /** How many checkpoints were read. */
  checkpoints: number;
  /** What is damaged, one sentence each; empty if everything can be read. */
  problems: string[];
}

/** An open question. Its texts may come from a model, a file or a command: show them, never interpret them. */
export interface Approval {
  /** What is asked. `command`: whether this command line may run. `file`: whether the tool may use these files. `outside`: the same for files outside the workspace. `tool`: whether the tool may be used, or, if the tool is `handrail`, whether the turn may continue. `question`: something that the model wants to know. `saving`: whether these documents may be saved. `appeared`: new files appeared while a command ran, and handrail moved them away; whether they may be put back. */
  kind: ApprovalKind;
  /** Identifies the question in `approval.answer` and `approval.show`. */
  id: string;
  /** The session's id. */
  session: string;
  /** Id of the turn that waits for the answer. */
  turn: string;
  /** Id of the tool call that asks; empty for the kinds `saving` and `appeared`, and if the tool is `handrail`. */
  call: string;
  /** Name of the tool that was called; `handrail` if the question is whether the turn may continue. */
  tool: string;
  /** What the question is about, in full: the command line, the paths, or the model's question. */
  subject: string;
  /** Why handrail asks. */
  detail: string;
  /** The possible answers. The first is `deny`: no, or no answer to the model's question. The others are `allow`, `session` (also later in this session, until the server ends) and `always` (also in this workspace from now on), or the model's own choices. */
  choices: string[];
  /** When it was asked, as an RFC 3339 time. */
  askedAt: string;
  /** Seconds until the time for an answer is over. */
  secondsLeft: number;
  /** The folder in which the command would run, as people read it; null if the question is not about a command. */
  folder?: string;
  /** The rules that `session` and `always` would add, in words. */
  rules?: string[];
  /** What would be written, as a unified diff; if the kind is `appeared`, the contents of the files. */
  diff?: string;
  /** Whether any other text is an answer too, as it is for the model's own questions. */
  takesText?: boolean;
  /** Whether the tool would change the files of a `file` or `outside` question, and not only read them; null for other kinds. */
  changesFiles?: boolean;
}

/** This request takes no params. */
export type ApprovalListParams = Record<string, never>;

/** The answer to an open question. */
export interface ApprovalAnswerParams {
  /** The question's id. */
  approval: string;
  /** One of the question's `choices`; or, if it has `takesText`, a text of at most 10,000 characters that is neither blank nor one of `deny`, `allow`, `session` and `always`. */
  choice: string;
}

/** The question to show. */
export interface ApprovalShowParams {
  /** The question's id; by default the question that was asked first. */
  approval?: string;
}

/** A document that the server has written. */
export interface ServedDocument {
  /** URI of the document. */
  uri: string;
  /** Its whole text. */
  text: string;
}

/** Selects the command whose output to show. */
export interface OutputShowParams {
  /** Id of the tool call that ran the command; by default the last command. */
  call?: string;
}

/** Selects the background commands to list. */
export interface CommandListParams {
  /** Only those of this session; null lists those of all sessions. */
  session?: string;
}

/** A command that runs, or ran, in the background. */
export interface BackgroundCommand {
  /** The command's id, which the model uses too. */
  command: string;
  /** Id of the session that it belongs to. */
  session: string;
  /** Id of the turn that started it. */
  turn: string;
  /** Id of the tool call that started it. */
  call: string;
  /** The command line. */
  line: string;
  /** The folder in which it runs, as people read it. */
  folder: string;
  /** Whether it is still running. */
  running: boolean;
  /** Its state in a sentence. */
  state: string;
}

/** The background command to stop. */
export interface CommandStopParams {
  /** The command's id. */
  command: string;
}

/** The command to stop. The turn that waits for it continues. */
export interface CommandInterruptParams {
  /** Id of the session whose turn waits. */
  session: string;
  /** Id of the tool call that runs the command. */
  call: string;
}

/** This request takes no params. */
export type RuleListParams = Record<string, never>;

/** A rule that an answer to a question has added. */
export interface RuleInfo {
  /** Identifies the rule in `rules.remove`. */
  id: string;
  /** What the rule allows, in words. */
  text: string;
  /** Name of the tool that it applies to. */
  tool: string;
  /** Whether it applies to one session, or to this workspace from now on. */
  scope: RuleScope;
  /** Id of the session that it applies to; null if its scope is the workspace. */
  session?: string;
}

/** The rule to remove, so that handrail asks again. */
export interface RuleRemoveParams {
  /** The rule's id. */
  rule: string;
}

/** A change by the agent that is neither kept nor undone. */
export interface Hunk {
  /** `changed`: some lines. `created`, `deleted`, `renamed`: a document. `whole`: a file that is not text. */
  kind: "changed" | "created" | "deleted" | "renamed" | "whole";
  /** Identifies the change until it is kept or undone. */
  id: string;
  /** URI of the document, under its current name. */
  uri: string;
  /** The changed lines in the current text. Where lines were only removed, it is empty and is at the line that follows them. */
  range: Range;
  /** The text that would be there without the change; empty for `whole`. */
  before: string;
  /** The text that is there now; empty for `whole`. */
  after: string;
  /** Ids of the turns that made the change, in order. */
  turns: string[];
  /** Ids of the tool calls that made the change, in order. */
  calls: string[];
  /** Whether the user has typed in it since. */
  editedByUser: boolean;
  /** URI of a `renamed` document before it was renamed; null otherwise. */
  renamedFrom?: string;
}

/** Selects the pending changes to list; without either field, all. */
export interface ReviewListParams {
  /** Only changes in this document. */
  uri?: string;
  /** Only changes that this turn made. */
  turn?: string;
}

/** Selects a document, and which of its changes to leave out. */
export interface ReviewBaseParams {
  /** URI of the document. */
  uri: string;
  /** Leave out only the changes that this turn made; by default all pending changes. */
  turn?: string;
}

/** The text of a document without its pending changes. It includes what the user typed outside them. */
export interface ReviewBase {
  /** URI of the document. */
  uri: string;
  /** That text. */
  text: string;
}

/** Selects the pending changes to keep. At least one field must be given; several narrow each other down. */
export interface ReviewKeepParams {
  /** Ids of the changes. */
  hunks?: string[];
  /** The changes in this document. */
  uri?: string;
  /** The changes that this turn made. */
  turn?: string;
  /** Whether to keep all pending changes. */
  all?: boolean;
}

/** The result of keeping changes. */
export interface ReviewKept {
  /** Ids of the changes that were kept. */
  hunks: string[];
}

/** Selects the pending changes to undo. At least one of the first four fields must be given; several narrow each other down. */
export interface ReviewUndoParams {
  /** Ids of the changes. */
  hunks?: string[];
  /** The changes in this document. */
  uri?: string;
  /** What this turn changed. */
  turn?: string;
  /** Whether to undo all pending changes. */
  all?: boolean;
  /** Whether to remove what the user has typed in the changes too; the checkpoint keeps it. With `turn`, what later turns wrote stays. */
  typed?: boolean;
  /** Whether to make room below the undone changes in the review document, where the user can say why. */
  sayWhy?: boolean;
}

/** A line of the review document. */
export interface ReviewPlace {
  /** URI of the review document. */
  uri: string;
  /** The line, counted from 0. */
  line: number;
}

/** A change that could not be undone. */
export interface ReviewConflict {
  /** The change's id. */
  hunk: string;
  /** URI of the document. */
  uri: string;
  /** Why it was not undone, in a sentence. */
  reason: string;
  /** The text that is there now. */
  now: string;
  /** The text that would be there without the change. */
  before: string;
  /** Whether text that the user typed is the reason; `typed` removes that text too. */
  editedByUser?: boolean;
}

/** The result of an undo. */
export interface ReviewUndone {
  /** Ids of the changes that were undone. With `turn`, only the part of each change that this turn made was undone. */
  hunks: string[];
  /** The changes that could not be undone. */
  conflicts: ReviewConflict[];
  /** Id of a checkpoint taken just before, which brings the changes back; null if nothing was changed. */
  checkpoint: string | null;
  /** Where the user can say why; null if that was not asked for, or nothing was undone. */
  why?: ReviewPlace;
}

/** The place from which the next or previous change is searched. */
export interface ReviewStepParams {
  /** URI of the document to start from; null goes to the first change, or the last one when going backwards. */
  uri?: string;
  /** The line to start from, counted from 0; by default 0. Changes at this line itself are passed over. */
  line?: number;
}

/** Pending changes have come, gone or moved, or comments on them have changed. */
export interface ReviewChanged {
  /** URIs of the documents concerned; empty if only comments changed. */
  uris: string[];
  /** How many changes are pending now, in all documents. */
  pending: number;
  /** How many comments are written and not sent; `review.comments` lists them. */
  comments: number;
}

/** This request takes no params. */
export type ReviewOpenParams = Record<string, never>;

/** A comment on a change, or on lines of any document. Give `hunk`, or `uri` and `range`. */
export interface ReviewCommentParams {
  /** Id of the change to comment on. */
  hunk?: string;
  /** URI of the document to comment on. */
  uri?: string;
  /** The lines to comment on: all that the range touches. */
  range?: Range;
  /** The comment; without it, the review document makes room for one. */
  text?: string;
}

/** This request takes no params. */
export type ReviewCommentsParams = Record<string, never>;

/** A comment that is written in the review document and was not sent yet. */
export interface ReviewComment {
  /** Identifies the comment until it is sent, even if its text changes. */
  id: string;
  /** The comment. */
  text: string;
  /** URI of the document that it is about; null if it is not about a document. */
  uri?: string;
  /** The lines that it is about, in the current text; null if it is not about lines, or if they are not found. */
  range?: Range;
  /** Id of the pending change that it is about; null if it is not about a change, or if the change has been kept or undone. */
  hunk?: string;
}

/** A change of a comment. */
export interface ReviewEditParams {
  /** The comment's id. */
  comment: string;
  /** Its new text; empty deletes the comment. */
  text: string;
  /** The text that it replaces. If the comment reads differently by now, nothing is changed. */
  was?: string;
}

/** The session and mode in which the comments are sent. */
export interface ReviewSendParams {
  /** Id of the session that answers; by default the latest one that made any of the changes, or else a new one. */
  session?: string;
  /** What the turn may do; by default the mode that was chosen for the session, or else the setting `handrail.mode`. */
  mode?: Mode;
}

/** The turn that answers the comments. */
export interface ReviewSent {
  /** The session's id. */
  session: string;
  /** The turn's id. */
  turn: string;
  /** How many comments were sent. */
  comments: number;
}

/** The conversation to open. */
export interface ChatOpenParams {
  /** The session's id; by default the latest session that this server knows, or else a new one. */
  session?: string;
}

/** This request takes no params. */
export type ChatNewParams = Record<string, never>;

/** The document of a conversation. */
export interface ChatDocument {
  /** The session's id. */
  session: string;
  /** URI of the document. */
  uri: string;
  /** Its whole text. */
  text: string;
  /** The line where the user writes, counted from 0. */
  line: number;
}

/** The conversation whose message is sent. */
export interface ChatSendParams {
  /** URI of the conversation's document; it takes precedence over `session`. */
  uri?: string;
  /** The session's id; without `uri` and `session`, the latest conversation that this server knows. */
  session?: string;
  /** What the turn may do; by default the conversation's mode. */
  mode?: Mode;
}

/** The message that was sent. */
export interface ChatSent {
  /** The session's id. */
  session: string;
  /** Id of the turn that reads the message; null if it was a command such as `/mode ask`. */
  turn: string | null;
}

/** Something to say in a conversation, from anywhere in the editor. Give `text` or `uri`, or both. */
export interface ChatAskParams {
  /** The session's id; by default the latest session that this server knows, or else a new one. */
  session?: string;
  /** URI of the document that it is about. */
  uri?: string;
  /** The part to quote, of the text in the editor. Without a part, or if it is longer than 20,000 characters, the document is only named. */
  range?: Range;
  /** Whether the user wants that part changed. */
  change?: boolean;
  /** What the user says. */
  text?: string;
  /** What the turn may do, if the message is sent; by default the conversation's mode. */
  mode?: Mode;
  /** Whether to send it at once, leaving the user's draft alone. Otherwise it is added to the draft at the end of the conversation. */
  send?: boolean;
}

/** The conversation that has the message or the draft. */
export interface ChatAsked {
  /** The session's id. */
  session: string;
  /** URI of the conversation's document. */
  uri: string;
  /** The document's whole text. */
  text: string;
  /** The line where the user continues to write, counted from 0. */
  line: number;
  /** Id of the turn that reads the message; null if it was not sent. */
  turn: string | null;
}

/** An earlier message of a conversation. */
export interface ChatResendParams {
  /** Id of the turn that the message began. */
  turn: string;
  /** URI of the conversation's document; it takes precedence over `session`. */
  uri?: string;
  /** The session's id; without `uri` and `session`, the latest conversation that this server knows. */
  session?: string;
  /** What to send in its place; by default the message as it is in the document now. */
  text?: string;
}

/** A turn of a conversation. */
export interface ChatTurnParams {
  /** The turn's id. */
  turn: string;
  /** URI of the conversation's document; it takes precedence over `session`. */
  uri?: string;
  /** The session's id; without `uri` and `session`, the latest conversation that this server knows. */
  session?: string;
}

/** The state of a conversation, without its messages. */
export interface ChatStatus {
  /** The title that the user gave it, or else the first line of its first prompt; empty in a new conversation. */
  title: string;
  /** The model that answers. */
  model: string;
  /** What the next turn may do. */
  mode: Mode;
  /** Tokens that all turns have sent to the model. */
  inputTokens?: number;
  /** Tokens that the model has written in all turns. */
  outputTokens?: number;
  /** Id of the turn that is running; null if no turn is running. */
  running?: string;
  /** How full the model's context is, in percent; null before the first turn. */
  contextPercent?: number;
  /** The price of all turns in US dollars; null if it is unknown. */
  costUsd?: number;
  /** If the latest turn made a plan: the message that you can send to have the model carry it out; otherwise null. */
  plan?: string;
}

/** The user's message that began a turn. */
export interface ChatPrompt {
  /** Always `prompt`. */
  kind: "prompt";
  /** The item's id, unique in its conversation. */
  id: string;
  /** Id of the turn that it began. */
  turn: string;
  /** The message. */
  text: string;
  /** The state of the turn. `broken`: it did not reach its end, for example because the server was killed. */
  state: "running" | "finished" | "stopped" | "cancelled" | "failed" | "broken";
  /** Why the turn did not finish; null if it did, is running, or was cancelled while it ran. */
  reason?: string;
  /** Whether `chat.resend` can send the message again, changed or not. */
  resend?: boolean;
  /** Whether the turn may have changed documents, which `checkpoint.restore` can undo. */
  changes?: boolean;
}

/** Text from the model. */
export interface ChatWords {
  /** Always `words`. */
  kind: "words";
  /** The item's id, unique in its conversation. */
  id: string;
  /** Id of the turn that it belongs to. */
  turn: string;
  /** The text, as Markdown; it grows while the model writes. */
  text: string;
}

/** A message from the user, or from handrail on the user's behalf, after the turn had begun. */
export interface ChatTold {
  /** Always `told`. */
  kind: "told";
  /** The item's id, unique in its conversation. */
  id: string;
  /** Id of the turn that it belongs to. */
  turn: string;
  /** The message. */
  text: string;
  /** `read`: the model has read it. `waiting`: the model reads it before its next step. `unread`: the turn ended before the model read it. `queued`: it begins a turn of its own once this one has finished. */
  state: "read" | "waiting" | "unread" | "queued";
  /** Who sent it. `handrail` for what handrail told the model by itself, such as the instructions in an `AGENTS.md`. */
  sender: "user" | "handrail";
}

/** A note from handrail to the reader. */
export interface ChatRemark {
  /** Always `remark`. */
  kind: "remark";
  /** The item's id, unique in its conversation. */
  id: string;
  /** The note, as Markdown. */
  text: string;
  /** Id of the turn that it belongs to; null for the answer to a command such as `/mode`. */
  turn?: string;
  /** Id of the checkpoint that it is about, if any. */
  checkpoint?: string;
  /** Id of the session that it is about, if any. */
  session?: string;
}

/** An entry of the model's to-do list. */
export interface ChatTodo {
  /** What to do. */
  text: string;
  /** `open`: not started. `active`: in progress. `done`: finished. */
  state: "open" | "active" | "done";
}

/** A change by a tool call that is neither kept nor undone. */
export interface ChatHunk {
  /** The kind of change, as in `Hunk`. */
  kind: "changed" | "created" | "deleted" | "renamed" | "whole";
  /** Identifies the change in `review.keep` and `review.undo`. */
  id: string;
  /** URI of the document. */
  uri: string;
  /** The document's path, as people read it. */
  path: string;
  /** The first line of the change, counted from 0. */
  line: number;
  /** The removed and added lines, only the beginning if the change is long; empty if it is not text. */
  diff: string;
}

/** A tool call. */
export interface ChatCall {
  /** Always `call`. */
  kind: "call";
  /** The item's id, unique in its conversation. */
  id: string;
  /** Id of the turn that it belongs to. */
  turn: string;
  /** The tool call's id, for `output.show`. */
  call: string;
  /** Name of the tool that was called. */
  tool: string;
  /** What the call does, for people. */
  title: string;
  /** `running`: it has no result yet. `done`: it succeeded. `failed`: it failed. `lost`: its turn ended before it had a result. */
  state: "running" | "done" | "failed" | "lost";
  /** The class of failure; null unless it failed. */
  code?: string;
  /** The first line of its result; empty while it runs. */
  summary?: string;
  /** What it has printed so far, or the rest of its result; only the beginning or the end of a long text. */
  output?: string;
  /** How many characters `output` leaves out. */
  hidden?: number;
  /** URI of the document that the call is about; null if there is none. */
  uri?: string;
  /** The line in that document, counted from 0. */
  line?: number;
  /** The to-do list, if the call sets it. */
  todos?: ChatTodo[];
  /** Id of the background command that the call started and that is still running. */
  command?: string;
  /** Whether the turn waits for a command that the call runs; `command.interrupt` ends only this command. */
  awaited?: boolean;
  /** Edits of the call that failed and are still open. */
  failures?: Failure[];
  /** Changes of the call that are pending. A change that several calls made is listed with each. */
  hunks?: ChatHunk[];
}

/** A question to the user. */
export interface ChatQuestion {
  /** Always `question`. */
  kind: "question";
  /** The item's id, unique in its conversation. */
  id: string;
  /** Id of the turn that it belongs to. */
  turn: string;
  /** What the question is about. */
  subject: string;
  /** The whole question, while it is open. Its `secondsLeft` is as it was when the client was first told about the question; `until` is exact. */
  approval?: Approval;
  /** When the time to answer the open question is over, as an RFC 3339 time. */
  until?: string;
  /** How it ended, in words that follow the subject, such as `was answered: No`; empty while it is open. */
  end?: string;
}

/** A conversation. Its texts may come from a model, a file or a command: show `words` and `remark` as Markdown without HTML, pictures or commands, and everything else as plain text. */
export interface ChatTranscript {
  /** The session's id. */
  session: string;
  /** The current revision; the next `handrail/chat/changed` has this number plus one. */
  revision: number;
  /** The state of the conversation. */
  status: ChatStatus;
  /** The parts of the conversation, in order. */
  items: ChatItem[];
}

/** Text to append to an item. */
export interface ChatGrowth {
  /** The item's id. */
  id: string;
  /** What to append to the item's `text`. */
  text: string;
}

/** A conversation that the client has read has changed; sent ten times a second at most. */
export interface ChatChanged {
  /** The session's id. */
  session: string;
  /** One more than the last revision. A client that misses one reads the conversation again. */
  revision: number;
  /** The new state of the conversation; null if it has not changed. */
  status?: ChatStatus;
  /** Items that are new, which go to the end of the conversation, or that have changed. */
  items?: ChatItem[];
  /** Items whose text has grown; apply these after `items`. */
  grown?: ChatGrowth[];
  /** Ids of the items to remove. */
  removed?: string[];
  /** Ids of all items in order, given only if a new item does not go to the end. */
  order?: string[];
}

/** The conversation to read. */
export interface ChatReadParams {
  /** The session's id; by default the latest session that this server knows, or else a new one. */
  session?: string;
}

/** A message in a conversation. The draft in its document stays as it is. */
export interface ChatSayParams {
  /** The session's id. */
  session: string;
  /** A message that starts a turn or is sent to the running one, or a command such as `/compact`. */
  text: string;
  /** What the turn may do; by default the conversation's mode. */
  mode?: Mode;
  /** Whether the message begins a turn of its own after the running one, instead of going to that one. */
  queue?: boolean;
  /** Pictures to show to the model, as in `turn.start`. A running turn does not take pictures. */
  images?: TurnImage[];
}

/** The result of saying something. */
export interface ChatSaid {
  /** Id of the session in which the conversation continues: a new one after `/new`. */
  session: string;
  /** Id of the turn that reads the message; null if it was a command. */
  turn: string | null;
}

/** A choice of mode and model from the next turn on. */
export interface ChatChooseParams {
  /** The session's id; null to choose only the model. */
  session?: string;
  /** What turns may do in this session; null leaves the mode as it is. */
  mode?: Mode;
  /** A value of the setting `handrail.model`, which counts for all sessions until the server ends or the setting changes; null leaves the model as it is. */
  model?: string;
}

/** The message to complete. */
export interface ChatCompleteParams {
  /** The text of the message up to the cursor. */
  before: string;
}

/** A name that can complete the message. */
export interface ChatOffer {
  /** The name, as it is written in a message. */
  name: string;
  /** What the name means; empty for a path. */
  does?: string;
}

/** The completions of the message. */
export interface ChatOffers {
  /** The end of the text, which the chosen name replaces; empty if there is nothing to complete. */
  typed: string;
  /** The names to choose from. */
  offers: ChatOffer[];
}

/** An open document at a certain version. */
export interface VersionedDocument {
  /** URI of the document. */
  uri: string;
  /** The version of the document as the server knows it. */
  version: number;
}

/** Asks for the diagnostics that other language servers have published. Leave out those of the sources `handrail` and `handrail review`, which are handrail's own. */
export interface DiagnosticsParams {
  /** The documents to report on; null for all that have diagnostics, as the client knows them now. */
  documents: VersionedDocument[] | null;
  /** How many milliseconds to wait for reports on these versions or later ones. After that, leave out the documents without such a report. */
  waitMs: number;
  /** Other open documents, in which a change of the requested ones may have caused problems. When servers have reported on the requested documents, keep waiting until no server has reported anything for a moment (such as 200 ms), but no longer than `waitMs` in all. Then answer with `others`. */
  others?: VersionedDocument[];
}

/** A diagnostic of another language server. */
export interface ClientDiagnostic {
  /** The place in the document. */
  range: Range;
  /** What the server says. */
  message: string;
  /** As in LSP: 1 error, 2 warning, 3 information, 4 hint; by default 1. */
  severity?: number;
  /** Name of the program that reports it. */
  source?: string;
  /** The program's code for this kind of problem. */
  code?: string;
}

/** All diagnostics of a document. */
export interface DocumentDiagnostics {
  /** URI of the document. */
  uri: string;
  /** Its diagnostics. A report with more than 1,000 on a requested document is ignored. */
  diagnostics: ClientDiagnostic[];
  /** The version on which they were reported. The report counts only if this is still the document's version when the answer arrives. (If the request named no documents, a report without a version counts too.) */
  version?: number;
}

/** The reports of other language servers. */
export interface DiagnosticsResult {
  /** The documents on which there is a report. Only 200 are read, here and in `others`. */
  documents: DocumentDiagnostics[];
  /** URIs of the requested documents on which no language server reports. */
  unwatched?: string[];
  /** The errors and warnings that you know of in the request's `others`, for each document with a report on its current version; an empty list of diagnostics says that there are none. A report with more than 100 is ignored. Leave the field out if servers were still reporting when the time was over. */
  others?: DocumentDiagnostics[];
}

/** Asks what a language server knows about a name in a document. */
export interface NameParams {
  /** URI of the document; it need not be open. */
  uri: string;
  /** Where the name begins. */
  position: Position;
  /** How many milliseconds the answer may take. A later one is ignored. */
  waitMs: number;
  /** The version of the document as the server knows it; null if it is not open. */
  version?: number;
}

/** A place in a document, as LSP's `Location` has it. */
export interface NameLocation {
  /** URI of the document. */
  uri: string;
  /** The place; the server uses the line in which it begins. */
  range: Range;
}

/** The places where a name is defined or used. */
export interface NameResult {
  /** The places; no more than the first 1,000 are read. Null if no language server of the document answers such requests. */
  locations?: NameLocation[];
}

/** Asks what is defined in a document, or which names of the workspace resemble a query. */
export interface SymbolsParams {
  /** The name that is looked for in the workspace; empty for all symbols of a document. */
  query: string;
  /** How many milliseconds the answer may take. A later one is ignored. */
  waitMs: number;
  /** URI of the document; null for the whole workspace. */
  uri?: string;
}

/** A name that is defined somewhere, as LSP's `SymbolInformation` has it. */
export interface ClientSymbol {
  /** What it is, as in LSP's `SymbolKind`. */
  kind?: number;
  /** The name. */
  name: string;
  /** Where it is defined. */
  location: NameLocation;
  /** The name of what it is in, such as a class. */
  containerName?: string;
}

/** The names that are defined, in one list; those of a document in the order of its lines. */
export interface SymbolsResult {
  /** The names; no more than the first 1,000 are read. Null if no language server answers such requests. */
  symbols?: ClientSymbol[];
}

/** The turn has begun. */
export interface StartedEvent {
  /** Always `started`. */
  kind: "started";
  /** What the user asked for. */
  prompt: string;
  /** What the turn may do. */
  mode: Mode;
  /** Paths of the project's instruction files that the model got; null if there are none. */
  instructions?: string[];
}

/** The model has written text. */
export interface TextEvent {
  /** Always `text`. */
  kind: "text";
  /** The new piece of text. */
  delta: string;
}

/** The model has written out some of its reasoning. */
export interface ThinkingEvent {
  /** Always `thinking`. */
  kind: "thinking";
  /** The new piece of the reasoning. */
  delta: string;
}

/** A tool call is about to run. */
export interface ToolCallEvent {
  /** Always `toolCall`. */
  kind: "toolCall";
  /** The tool call's id. */
  call: string;
  /** Name of the tool. */
  tool: string;
  /** What the call does, for people. */
  title: string;
}

/** A running tool call has printed something. */
export interface ToolOutputEvent {
  /** Always `toolOutput`. */
  kind: "toolOutput";
  /** The tool call's id. */
  call: string;
  /** What it has printed. */
  text: string;
  /** How many characters were printed before `text` but left out. */
  skipped?: number;
}

/** A tool call has its result. */
export interface ToolResultEvent {
  /** Always `toolResult`. */
  kind: "toolResult";
  /** The tool call's id. */
  call: string;
  /** The first line of the result. */
  summary: string;
  /** True if the call failed; null if it did not. */
  failed?: boolean;
}

/** The user should know something about a tool call or about the turn. */
export interface NoticeEvent {
  /** Always `notice`. */
  kind: "notice";
  /** The tool call's id; empty if it is about the turn. */
  call: string;
  /** What the user should know. */
  text: string;
  /** Whether it is a warning, such as that something cannot be undone, or that instructions of the project are left out; the text is then shown as a message too. */
  warning: boolean;
}

/** A change was tried; the other fields are those of `Outcome`. */
export interface OutcomeEvent {
  /** Always `outcome`. */
  kind: "outcome";
  /** The outcome's id; if the change failed, also the id of the failure. */
  id: string;
  /** URI of the document; if the change moved it, its new one. */
  uri: string;
  /** Id of the tool call that tried the change. */
  call: string;
  /** Name of the tool that was called. */
  tool: string;
  /** Number of the hunk in its patch, counted from 1; null for a change of a whole document. */
  hunk: number | null;
  /** `landed`: the change was made. `already`: the document had it before. `failed`: it could not be made. `denied`: the user said no or did not answer in time; a denied change is not an open failure. */
  status: Status;
  /** How exactly the searched text matched; null if the change did not land or needed no search. */
  tier?: Tier;
  /** Why the change failed or was denied; null otherwise. */
  failure?: Failure;
  /** The change that landed, as a unified diff for people to read. */
  diff?: string;
  /** Why no checkpoint can undo the change, if it landed without one. */
  uncovered?: string;
  /** What handrail corrected or adapted to make the change, and what the editor altered in it, one sentence each. */
  notes?: string[];
}

/** A failure is no longer open. */
export interface SupersededEvent {
  /** Always `superseded`. */
  kind: "superseded";
  /** The failure's id. */
  failure: string;
}

/** A question was asked or has ended. */
export interface ApprovalEvent {
  /** Always `approval`. */
  kind: "approval";
  /** Id of the tool call that asks; empty if no tool call asks, as in `Approval`. */
  call: string;
  /** What the question is about. */
  subject: string;
  /** The question's id. */
  approval: string;
  /** Whether it asks for permission; otherwise it is a question by the model. */
  asksPermission: boolean;
  /** How the question ended; null while it waits for the user. */
  end?: ApprovalEnd;
  /** The answer, or `deny` if there was none; null while the question is open. */
  choice?: string;
}

/** The turn has used tokens; the fields of `Usage` are those of the turn so far. */
export interface UsageEvent {
  /** Always `usage`. */
  kind: "usage";
  /** How many model calls are included. */
  steps: number;
  /** Tokens that were sent to the model. */
  inputTokens: number;
  /** Tokens that the model wrote. */
  outputTokens: number;
  /** Tokens of the input that the provider read from its cache. */
  cachedTokens: number;
  /** The price in US dollars; null if the price of any call is unknown. */
  costUsd: number | null;
  /** What the last model call used. */
  step: Usage;
}

/** The model could not be reached, or its answer broke off. The call is repeated; discard the text of the current step. */
export interface RetryEvent {
  /** Always `retry`. */
  kind: "retry";
  /** What went wrong, in a sentence. */
  reason: string;
  /** Seconds until the call is repeated. */
  inSeconds: number;
}

/** The conversation was shortened to fit into the model's context. */
export interface CompactedEvent {
  /** Always `compacted`. */
  kind: "compacted";
  /** The estimated size before, in tokens. */
  before: number;
  /** The estimated size after, in tokens. */
  after: number;
}

/** The turn has ended. */
export interface EndedEvent {
  /** Always `ended`. */
  kind: "ended";
  /** How it ended, as in `TurnReport`. */
  state: TurnState;
  /** Why it did not finish; null if it did, or was cancelled while it ran. */
  reason?: string;
}

/** Something has happened in a turn. */
export interface TurnUpdate {
  /** The session's id. */
  session: string;
  /** The turn's id. */
  turn: string;
  /** The event's number in the turn, counted from 1 without gaps. */
  seq: number;
  /** What happened. */
  event: TurnEvent;
}

/** A question that was just asked. Give the user time: null and errors are not answers and leave the question open. If it ends in another way, this request is cancelled and `approval/ended` is sent. */
export interface ApprovalRequestParams {
  /** What is asked. `command`: whether this command line may run. `file`: whether the tool may use these files. `outside`: the same for files outside the workspace. `tool`: whether the tool may be used, or, if the tool is `handrail`, whether the turn may continue. `question`: something that the model wants to know. `saving`: whether these documents may be saved. `appeared`: new files appeared while a command ran, and handrail moved them away; whether they may be put back. */
  kind: ApprovalKind;
  /** Identifies the question in `approval.answer` and `approval.show`. */
  id: string;
  /** The session's id. */
  session: string;
  /** Id of the turn that waits for the answer. */
  turn: string;
  /** Id of the tool call that asks; empty for the kinds `saving` and `appeared`, and if the tool is `handrail`. */
  call: string;
  /** Name of the tool that was called; `handrail` if the question is whether the turn may continue. */
  tool: string;
  /** What the question is about, in full: the command line, the paths, or the model's question. */
  subject: string;
  /** Why handrail asks. */
  detail: string;
  /** The possible answers. The first is `deny`: no, or no answer to the model's question. The others are `allow`, `session` (also later in this session, until the server ends) and `always` (also in this workspace from now on), or the model's own choices. */
  choices: string[];
  /** When it was asked, as an RFC 3339 time. */
  askedAt: string;
  /** Seconds until the time for an answer is over. */
  secondsLeft: number;
  /** The folder in which the command would run, as people read it; null if the question is not about a command. */
  folder?: string;
  /** The rules that `session` and `always` would add, in words. */
  rules?: string[];
  /** What would be written, as a unified diff; if the kind is `appeared`, the contents of the files. */
  diff?: string;
  /** Whether any other text is an answer too, as it is for the model's own questions. */
  takesText?: boolean;
  /** Whether the tool would change the files of a `file` or `outside` question, and not only read them; null for other kinds. */
  changesFiles?: boolean;
}

/** The user's answer. */
export interface ApprovalRequestResult {
  /** One of the question's `choices`, or a text if it has `takesText`; null leaves the question open. */
  choice?: string;
}

/** A question is no longer open: remove its buttons. */
export interface ApprovalEndedParams {
  /** The question's id. */
  approval: string;
  /** `answered`: in this client or elsewhere. `timedOut`: not answered in time, so a request for permission counts as a no, and the turn continues without an answer to a question of the model's own. `withdrawn`: no longer needed, because its turn was stopped or the answer to another question covers it. */
  end: ApprovalEnd;
  /** The answer; null if there was none. */
  choice?: string;
}

/** Selects the server whose models to list. */
export interface ModelListParams {
  /** A model, written as in the setting `handrail.model`, whose server is asked; by default, the model in that setting. */
  like?: string;
  /** With `like`: true to ask at the provider's own address with its usual key, false to ask at the address in `handrail.baseUrl`; by default, `handrail.baseUrl` is used only if `like` has the same provider as `handrail.model`. */
  ownAddress?: boolean;
}

/** A model that can be chosen. */
export interface ModelInfo {
  /** The value of the setting `handrail.model` that chooses it. */
  model: string;
  /** Its name for people; null if the server gives none. */
  title?: string;
  /** The size of its context in tokens; null if the server does not say. */
  window?: number;
  /** Whether it is the chosen model, or the one given as `like`. */
  current?: boolean;
}

/** This request takes no params. */
export type ModelForgetParams = Record<string, never>;

/** This request takes no params. */
export type WorkspaceTrustParams = Record<string, never>;

/** The features that a client opts in to: `capabilities.experimental.handrail` or `initializationOptions.handrail`. */
export interface ClientOptions {
  /** Whether the server sends `handrail/turn/update`. */
  turnUpdates?: boolean;
  /** Whether the server asks with `handrail/approval/request` and sends `handrail/approval/ended`. */
  approvals?: boolean;
  /** Whether no user is present: a question that the client does not answer at once ends as not answered in time. */
  unattended?: boolean;
  /** Whether the user has not trusted the workspace yet. Until `workspace.trust`, turns run only in the mode `ask`, and the workspace's settings, instructions, skills and commands are ignored. */
  untrusted?: boolean;
  /** What the client does for the server: `save` saves documents, `reload` loads them again when a command has changed their files, `model` answers with its own model, `secret` keeps keys, `review` shows pending changes and receives `handrail/review/changed`, `chat` shows conversations and receives `handrail/chat/changed`, `diagnostics` passes on what other language servers report, `definition`, `references` and `symbols` ask them for names. */
  services?: string[];
  /** Settings without the prefix `handrail.`, dotted or nested; all are allowed here, also those of scope `machine` (see settings.md). */
  settings?: Record<string, unknown>;
}

/** Asks the client to save documents. */
export interface SaveParams {
  /** URIs of the open documents to save. */
  uris: string[];
}

/** The result of saving. */
export interface SaveResult {
  /** URIs of the documents that are saved now. */
  saved: string[];
}

/** Tells the client that a command has changed the files of open documents. */
export interface ReloadParams {
  /** URIs of the open documents whose text differs from that of their files. */
  uris: string[];
}

/** Asks for a key that the client may have stored. */
export interface SecretParams {
  /** Name of the key, such as `OPENAI_API_KEY`. */
  name: string;
}

/** The key. The server keeps it in memory only and sends it only to the server of its model. */
export interface SecretResult {
  /** The key; null if the client does not have it. */
  value?: string;
}

/** A tool call by the client's model. */
export interface ModelCall {
  /** The tool call's id. */
  id: string;
  /** Name of the tool. */
  name: string;
  /** The arguments as JSON text, exactly as the model wrote them. */
  arguments: string;
}

/** The result of a tool call, for the client's model. */
export interface ModelResult {
  /** Id of the tool call. */
  call: string;
  /** The result. */
  text: string;
}

/** A message of the conversation. */
export interface ModelMessage {
  /** Who it is from: handrail's instructions, the user, the model, or the tools. */
  role: "system" | "user" | "assistant" | "tool";
  /** The text of the message; empty for `tool`. */
  text?: string;
  /** The tool calls of an `assistant` message. */
  calls?: ModelCall[];
  /** The results in a `tool` message. */
  results?: ModelResult[];
}

/** A tool that the client's model may call. */
export interface ModelTool {
  /** Name of the tool. */
  name: string;
  /** What the tool does, for the model. */
  description: string;
  /** The JSON Schema of its arguments. */
  schema: Record<string, unknown>;
}

/** Asks the client's model. The error RequestFailed (-32803) tells the server not to try again. */
export interface ModelParams {
  /** The conversation so far, oldest message first. */
  messages: ModelMessage[];
  /** The tools that the model may call. */
  tools: ModelTool[];
  /** `model` names the model that the user chose; without it, the client chooses. */
  options: Record<string, unknown>;
  /** The token with which the client streams text, as `$/progress` with the value `{delta}`. */
  partialResultToken: string;
}

/** The complete answer of the client's model. */
export interface ModelResponse {
  /** The text of the answer. */
  text?: string;
  /** The tool calls that the model makes; null if it makes none. */
  calls?: ModelCall[];
  /** Why the model stopped: `stop`, `toolCalls`, `length` or `refused`; by default `stop`. */
  stop?: string;
  /** Why the model refused; null otherwise. */
  reason?: string;
  /** Tokens that were sent to the model; null if unknown. */
  inputTokens?: number;
  /** Tokens that the model wrote; null if unknown. */
  outputTokens?: number;
  /** How many tokens the model's context holds; null if unknown. */
  contextTokens?: number;
}

/** Something that happens in a turn. */
export type TurnEvent =
  | StartedEvent
  | TextEvent
  | ThinkingEvent
  | ToolCallEvent
  | ToolOutputEvent
  | ToolResultEvent
  | NoticeEvent
  | OutcomeEvent
  | SupersededEvent
  | ApprovalEvent
  | RetryEvent
  | CompactedEvent
  | UsageEvent
  | EndedEvent;

/** A part of a conversation. */
export type ChatItem =
  | ChatPrompt
  | ChatWords
  | ChatTold
  | ChatRemark
  | ChatCall
  | ChatQuestion;

/** Starts a turn and answers at once. As in conversations, the model is shown what the prompt mentions with an `@`; a message reports names that cannot be found. If the prompt begins with a command of the project, such as `/fix 12`, the model is also shown the text of the command's file; other commands are refused. */
export const TURN_START = "handrail/turn/start";

/** Starts a turn as soon as the earlier turns of its session have finished. If the turn before it ends in any state but `finished`, this turn does not start, and its state is `cancelled`. */
export const TURN_QUEUE = "handrail/turn/queue";

/** Waits for the end of a turn and returns its report. */
export const TURN_WAIT = "handrail/turn/wait";

/** Applies edits without asking a model, as a turn of a new session. The edits are verified, and can be reviewed and restored like those of any other turn. Answers when the edits are made; cancelling the request stops the turn. */
export const TURN_APPLY = "handrail/turn/apply";

/** Sends a message to a running turn; the model reads it at its next step, with what the message names with an `@`. */
export const TURN_STEER = "handrail/turn/steer";

/** Stops a turn (its state is then `cancelled`); it edits nothing after the answer. */
export const TURN_CANCEL = "handrail/turn/cancel";

/** Lists the models of the chosen model's server; fails if that server does not answer. */
export const MODEL_LIST = "handrail/model/list";

/** Makes the server forget the API keys that it has read; the next turn reads them again. */
export const MODEL_FORGET = "handrail/model/forget";

/** Lists the sessions of the workspace, newest first. */
export const SESSION_LIST = "handrail/session/list";

/** Resumes a session, even after a restart. */
export const SESSION_RESUME = "handrail/session/resume";

/** Copies a session up to the end of a turn into a new session. */
export const SESSION_FORK = "handrail/session/fork";

/** Summarises all but the latest part of a conversation, to make room for more. */
export const SESSION_COMPACT = "handrail/session/compact";

/** Gives a session a new title. */
export const SESSION_RENAME = "handrail/session/rename";

/** Deletes a session permanently. Its document is deleted too, unless it is open in the editor. The checkpoints of its turns stay. */
export const SESSION_DELETE = "handrail/session/delete";

/** Lists the open failures. */
export const FAILURE_LIST = "handrail/failure/list";

/** Closes a failure without making its edit. */
export const FAILURE_DISMISS = "handrail/failure/dismiss";

/** Makes a failed edit at one of its candidates. */
export const FAILURE_APPLY = "handrail/failure/apply";

/** Shows what a failed edit would change at its candidates. */
export const FAILURE_DIFF = "handrail/failure/diff";

/** Lists checkpoints, newest first. */
export const CHECKPOINT_LIST = "handrail/checkpoint/list";

/** Compares a checkpoint with what its turn left, with another checkpoint, or with the current state. */
export const CHECKPOINT_DIFF = "handrail/checkpoint/diff";

/** Undoes a turn, or a step and all later steps of its turn; keeps what the user has typed since. */
export const CHECKPOINT_RESTORE = "handrail/checkpoint/restore";

/** Redoes what a restore undid: documents, and the conversation if it was rewound too, are again as before the restore. */
export const CHECKPOINT_REDO = "handrail/checkpoint/redo";

/** Returns the text that a document had before a turn or step, or that the turn left. */
export const CHECKPOINT_READ = "handrail/checkpoint/read";

/** Removes checkpoints, or enforces the limits. */
export const CHECKPOINT_PRUNE = "handrail/checkpoint/prune";

/** Reads all checkpoints and reports what is damaged. */
export const CHECKPOINT_VERIFY = "handrail/checkpoint/verify";

/** Lists the open questions, oldest first. */
export const APPROVAL_LIST = "handrail/approval/list";

/** Answers an open question; the first valid answer counts. */
export const APPROVAL_ANSWER = "handrail/approval/answer";

/** Shows an open question in full, in a document whose code actions answer it. */
export const APPROVAL_SHOW = "handrail/approval/show";

/** Shows what a command has printed. */
export const OUTPUT_SHOW = "handrail/output/show";

/** Lists the commands that are running, or ran, in the background. */
export const COMMAND_LIST = "handrail/command/list";

/** Stops a background command. The custom request answers when it has ended. */
export const COMMAND_STOP = "handrail/command/stop";

/** Stops a command that a turn is waiting for. The model is told, and the turn continues. */
export const COMMAND_INTERRUPT = "handrail/command/interrupt";

/** Lists the rules that answers to questions have added. */
export const RULES_LIST = "handrail/rules/list";

/** Removes a rule that an answer has added. */
export const RULES_REMOVE = "handrail/rules/remove";

/** Lists the agent's changes that are neither kept nor undone. */
export const REVIEW_LIST = "handrail/review/list";

/** Returns the text of a document without its pending changes, for a client that shows the difference. */
export const REVIEW_BASE = "handrail/review/base";

/** Keeps changes: from now on they are the user's. No document is changed. */
export const REVIEW_KEEP = "handrail/review/keep";

/** Undoes changes with an edit that is verified and has a checkpoint. The user's typing in them stays; if it cannot be separated from the agent's text, the change stays and both texts are returned. */
export const REVIEW_UNDO = "handrail/review/undo";

/** Shows the next change after a line, in its document or a later one; after the last change, the first. */
export const REVIEW_NEXT = "handrail/review/next";

/** Shows the previous change before a line, in its document or an earlier one; before the first change, the last. */
export const REVIEW_PREVIOUS = "handrail/review/previous";

/** Writes and opens the review document, which shows all changes and takes comments. */
export const REVIEW_OPEN = "handrail/review/open";

/** Writes a comment on a change or on lines into the review document, or adds an empty place there to write one. */
export const REVIEW_COMMENT = "handrail/review/comment";

/** Lists the comments that were not sent yet, wherever they were written. */
export const REVIEW_COMMENTS = "handrail/review/comments";

/** Changes a comment that was not sent yet, or deletes it. */
export const REVIEW_EDIT = "handrail/review/edit";

/** Sends all comments as one turn, which begins after the earlier turns of its session. */
export const REVIEW_SEND = "handrail/review/send";

/** Writes and opens the document of a conversation, which is kept up to date from then on. */
export const CHAT_OPEN = "handrail/chat/open";

/** Starts a conversation, and writes and opens its document. */
export const CHAT_NEW = "handrail/chat/new";

/** Sends what the user has written at the end of a conversation: as a new turn, or to the running one. */
export const CHAT_SEND = "handrail/chat/send";

/** Sends a message to a conversation from anywhere in the editor, with the selected text; or adds it to the draft. */
export const CHAT_ASK = "handrail/chat/ask";

/** Sends an earlier message again, with the changes that the user has made to it, in a new session that also has everything before it. */
export const CHAT_RESEND = "handrail/chat/resend";

/** Restores the text of an earlier message that was changed in the document. */
export const CHAT_RESTORE = "handrail/chat/restore";

/** Copies a conversation up to the end of a turn into a new one, and opens its document. */
export const CHAT_FORK = "handrail/chat/fork";

/** Sends the message of the last turn once more, in the same conversation. */
export const CHAT_RETRY = "handrail/chat/retry";

/** Reads a conversation; from then on, clients that opted in to `chat` are told about its changes. */
export const CHAT_READ = "handrail/chat/read";

/** Sends a message in a conversation: as a new turn, to the running turn, or as the turn after it. */
export const CHAT_SAY = "handrail/chat/say";

/** Chooses the mode of a conversation, or the model, from the next turn on. */
export const CHAT_CHOOSE = "handrail/chat/choose";

/** Completes an `@name` or a `/command` in a message that the user is writing. */
export const CHAT_COMPLETE = "handrail/chat/complete";

/** Sends a comment, which is in the text of a document and begins with `handrail:`, to the model. It becomes a turn of the latest session that this server knows, or else of a new one, and waits until the turns of the session that are running have ended. The turn's first edit of the document removes the comment. */
export const PROMPT_SEND = "handrail/prompt/send";

/** Asks the model to fix problems that other programs report, as a turn of the latest session that this server knows, or else of a new one. */
export const PROMPT_FIX = "handrail/prompt/fix";

/** Tells the server that the user now trusts the workspace. Its settings apply from the next turn on. */
export const WORKSPACE_TRUST = "handrail/workspace/trust";

export const TURN_UPDATE = "handrail/turn/update";

export const APPROVAL_REQUEST = "handrail/approval/request";

export const APPROVAL_ENDED = "handrail/approval/ended";

export const REVIEW_CHANGED = "handrail/review/changed";

export const CHAT_CHANGED = "handrail/chat/changed";

export const CLIENT_SAVE = "handrail/client/save";

export const CLIENT_RELOAD = "handrail/client/reload";

export const CLIENT_SECRET = "handrail/client/secret";

export const CLIENT_MODEL = "handrail/client/model";

export const CLIENT_DIAGNOSTICS = "handrail/client/diagnostics";

export const CLIENT_DEFINITION = "handrail/client/definition";

export const CLIENT_REFERENCES = "handrail/client/references";

export const CLIENT_SYMBOLS = "handrail/client/symbols";
