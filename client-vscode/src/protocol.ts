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

export type ApprovalKind = "command" | "file" | "outside" | "tool" | "question" | "saving" | "appeared";

export type ApprovalEnd = "answered" | "timedOut" | "withdrawn";

export type RuleScope = "session" | "workspace";

/** LSP's position, in the negotiated encoding. */
export interface Position {
  line: number;
  character: number;
}

/** LSP's range, in the negotiated encoding. */
export interface Range {
  start: Position;
  end: Position;
}

/** A place where a failed edit may have been meant to go; `score` is from 0 to 1. */
export interface Candidate {
  range: Range;
  score: number;
}

/** An edit, or another call, that did not happen. */
export interface Failure {
  /** Names it in `failure.apply` and `failure.dismiss`. */
  id: string;
  /** The class of failure. */
  code: FailureCode;
  /** What happened and where. */
  message: string;
  /** What to do next, the most useful first. */
  steps: string[];
  /** The document; empty where there is none. */
  uri: string;
  /** The nearest place, if any. */
  range: Range | null;
  /** All places offered, best first. */
  candidates: Candidate[];
  /** How often it was tried. */
  attempts: number;
  /** The turn that tried it. */
  turn: string;
}

/** What came of one mutation. */
export interface Outcome {
  id: string;
  uri: string;
  call: string;
  tool: string;
  /** Its number in the patch, counted from 1; null for a whole document. */
  hunk: number | null;
  /** *denied* if the user said no or the question timed out; such an edit is not an open failure. */
  status: Status;
  /** How exactly it matched, if it landed. */
  tier?: Tier;
  /** Why it did not land, or was denied. */
  failure?: Failure;
  /** The change that landed, as a unified diff for people. */
  diff?: string;
  /** Why no checkpoint can take it back, if it landed without one. */
  uncovered?: string;
  /** What was put right or adapted to make it, and what the editor changed of it, in sentences. */
  notes?: string[];
}

/** Tokens and price over a number of model calls; the price is null where it is not known. */
export interface Usage {
  steps: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  costUsd: number | null;
}

/** What a turn came to. */
export interface TurnReport {
  session: string;
  turn: string;
  /** *finished* the model gave its answer; *stopped* a guard or a limit ended it; *cancelled* by the user; *failed* the provider or the editor was lost. */
  state: TurnState;
  /** The model's own text, nothing added. */
  answer: string;
  outcomes: Outcome[];
  /** Its id, if anything was changed. */
  checkpoint: string | null;
  usage: Usage;
  sessionUsage: Usage;
  /** Why it is not finished. */
  reason?: string;
  /** The ids of its changes that are neither kept nor undone yet; see `review.list`. */
  pending?: string[];
}

/** What became of edits. */
export interface TurnApplied {
  /** For a model: what landed, what did not and why, and what to do next. */
  text: string;
  report: TurnReport;
}

/** One step of a checkpoint; its id can be restored as well: this step and what follows. */
export interface CheckpointStep {
  id: string;
  paths: string[];
}

/** One path of a checkpoint, relative to the root or absolute outside it, and what became of it. */
export interface CheckpointPath {
  uri: string;
  path: string;
  change: PathChange;
}

/** What documents held before a turn changed them; `time` is RFC 3339. */
export interface Checkpoint {
  id: string;
  session: string;
  turn: string;
  label: string;
  time: string;
  root: string;
  steps: CheckpointStep[];
  paths: CheckpointPath[];
}

/** A turn of a session; a state of null is a turn that did not come to its end. */
export interface SessionTurn {
  turn: string;
  prompt: string;
  state?: string;
}

/** The session is there again, and turns can be begun in it. */
export interface SessionResumeResult {
  session: string;
  turns: SessionTurn[];
}

/** A document that a restore left as it is, and why; `diff` leads from it to what the checkpoint has. */
export interface RestoreConflict {
  uri: string;
  reason: string;
  diff?: string;
}

/** A document that was restored in part, and why not as a whole; `diff` has what is missing. */
export interface RestorePart {
  uri: string;
  reason: string;
  diff?: string;
}

/** What a restore came to: each document stands in one of the first five. */
export interface RestoreReport {
  restored: string[];
  unchanged: string[];
  deleted: string[];
  conflicts: RestoreConflict[];
  /** Of which the editor took only a part of the restore: neither as before nor as the checkpoint. */
  partial: RestorePart[];
  /** Taken before it, null if it had nothing to do; restoring that takes the restore back. */
  checkpoint: string | null;
  /** The session that went back as well, with the turns that it has now. */
  conversation?: SessionResumeResult;
}

/** Something the user points at: a document, or a range of it. */
export interface TurnContext {
  uri: string;
  range?: Range;
}

/** A picture that the model is shown: a PNG, JPEG, GIF or WebP of 3.5 MB at most. */
export interface TurnImage {
  /** Of its file. */
  uri?: string;
  /** Its bytes in base64, if it has no file. */
  data?: string;
  /** What it is called then. */
  name?: string;
}

/** Begin a turn: in a new session unless one is named. Images are for models that see, 20 at most. */
export interface TurnStartParams {
  prompt: string;
  session?: string;
  mode?: Mode;
  context?: TurnContext[];
  images?: TurnImage[];
}

/** The turn has begun; its end is had by `turn.wait`. */
export interface TurnStartResult {
  session: string;
  turn: string;
}

/** Make edits that somebody else has written, such as another agent of the editor. */
export interface TurnApplyParams {
  /** In a notation of replies: V4A, SEARCH/REPLACE blocks, a unified diff, or whole files. */
  edits: string;
  /** What the turn and its checkpoint are called. */
  title?: string;
}

/** Names the turn whose end is awaited. */
export interface TurnWaitParams {
  turn: string;
}

/** Say something to a running turn. */
export interface TurnSteerParams {
  turn: string;
  text: string;
}

/** Which models: those of the chosen model's server, or of the server of the model `like`. */
export interface ModelListParams {
  like?: string;
}

/** A model. */
export interface ModelInfo {
  /** What the setting `handrail.model` is for it. */
  model: string;
  /** As people know it, if the server tells. */
  title?: string;
  /** How many tokens it reads, if the server tells. */
  window?: number;
  /** Whether it is the one of the setting. */
  current?: boolean;
}

/** Nothing is needed. */
export type ModelForgetParams = Record<string, never>;

/** Sessions of the workspace: the newest `limit` of them, else all. */
export interface SessionListParams {
  limit?: number;
}

/** A session. */
export interface SessionInfo {
  session: string;
  /** As the user has named it, else the first line of its first prompt. */
  title: string;
  /** When it was last written to, RFC 3339. */
  time: string;
  /** How many turns it has. */
  turns: number;
}

/** Names the session to take up again. */
export interface SessionResumeParams {
  session: string;
}

/** A new session with the conversation up to the end of a turn. */
export interface SessionForkParams {
  session: string;
  turn: string;
}

/** The new session. */
export interface SessionForkResult {
  session: string;
}

/** Give a session another title. */
export interface SessionRenameParams {
  session: string;
  title: string;
}

/** Remove the conversation of a session for good; checkpoints of its turns stay. */
export interface SessionDeleteParams {
  session: string;
}

/** Names the turn to stop. */
export interface TurnCancelParams {
  turn: string;
}

/** Which failures: of one document, or all. */
export interface FailureListParams {
  uri?: string;
}

/** Close one failure, or all. */
export interface FailureDismissParams {
  failure?: string;
  all?: boolean;
}

/** Make a failed edit at one of its candidates (an index into them). */
export interface FailureApplyParams {
  failure: string;
  candidate: number;
}

/** Show what a failed edit would change at one of its candidates (an index into them), or at each. */
export interface FailureDiffParams {
  failure: string;
  candidate?: number;
}

/** A unified diff, and the document that shows it: virtual, or a file where a client lacks those. */
export interface FailureDiff {
  uri: string;
  text: string;
}

/** Which checkpoints: of one session, or all. */
export interface CheckpointListParams {
  session?: string;
  /** Only those that have this document; it is the only one of their `paths` then. */
  uri?: string;
}

/** Compare a checkpoint. */
export interface CheckpointDiffParams {
  /** The id of a turn or a step; the diff begins with what was there before it. */
  checkpoint: string;
  /** Another checkpoint, before which the diff ends, or `now`; without it, what the turn left. */
  against?: string;
  /** The only document to look at. */
  uri?: string;
}

/** A unified diff, and the document that shows it: virtual, or a file where a client lacks those. */
export interface CheckpointDiff {
  uri: string;
  text: string;
}

/** Take a turn, or a step and what follows it, back. */
export interface CheckpointRestoreParams {
  /** Its id; with `conversation`, any turn of a session, even if it changed no document. */
  checkpoint: string;
  /** Only these documents. */
  uris?: string[];
  /** The session goes back as well, to before the turn or the step; what came later in it is out of the conversation, and stays in the session's journal. */
  conversation?: boolean;
  /** All later turns as well. */
  following?: boolean;
  /** Restore documents; `false`, with `conversation`, leaves them all as they are. */
  files?: boolean;
  /** In the one document of `uris` as it is now: only what the turn changed in these lines. */
  range?: Range;
}

/** Remove these checkpoints, whatever the limits say; without any, what the limits do not allow. */
export interface CheckpointPruneParams {
  checkpoints?: string[];
}

/** The checkpoints that are gone, and what the others take on the disk. */
export interface CheckpointPruned {
  removed: string[];
  bytesUsed: number;
}

/** Nothing is needed. */
export type CheckpointVerifyParams = Record<string, never>;

/** How many checkpoints were read, and what is wrong; nothing if `problems` is empty. */
export interface CheckpointSoundness {
  checkpoints: number;
  problems: string[];
}

/** Nothing is needed. */
export type WorkspaceTrustParams = Record<string, never>;

/** What a client opts in to: `capabilities.experimental.handrail` or `initializationOptions.handrail`. */
export interface ClientOptions {
  /** Send `handrail/turn/update`. */
  turnUpdates?: boolean;
  /** Ask by `handrail/approval/request`, and send `handrail/approval/ended`. */
  approvals?: boolean;
  /** Nobody is there: a question that the client does not answer at once ends as a no. */
  unattended?: boolean;
  /** The user has not trusted the workspace yet. Until `workspace.trust`, turns can only ask, and nothing of the workspace is obeyed: no settings, instructions, skills or commands. */
  untrusted?: boolean;
  /** What the client does for the server: "save", "model", "secret", "review"; "chat": it shows the conversations that it has read, and is sent `handrail/chat/changed`; "diagnostics": it passes on what other language servers report. */
  services?: string[];
  /** Settings by name without `handrail.`, dotted or nested; machine settings may come here. */
  settings?: Record<string, unknown>;
}

/** An open question. Everything in it is text of a model, a file or a command: show it, never interpret it. */
export interface Approval {
  /** *command* may this line run; *file* may the tool use these files; *outside* the same outside the workspace; *tool* may the tool be used; *question* the model's own; *saving* may these be saved; *appeared* may these files stay, which appeared while a command ran. */
  kind: ApprovalKind;
  /** Names it in `approval.answer` and `approval.show`. */
  id: string;
  session: string;
  turn: string;
  call: string;
  tool: string;
  /** All of what it is about: the command line, the paths, or the question itself. */
  subject: string;
  /** Why it is asked. */
  detail: string;
  /** What can be answered. The first is "deny": no, or no answer to the model's own question. Then "allow", "session" (also for the rest of this session), "always" (also in this workspace for good); or the model's own choices. */
  choices: string[];
  /** When it was asked, RFC 3339. */
  askedAt: string;
  /** How long it still waits; then it ends as a no. */
  secondsLeft: number;
  /** The folder in which a command runs, as people read it. */
  folder?: string;
  /** What "session" and "always" add, each rule in words. */
  rules?: string[];
  /** What would be written, as a unified diff. */
  diff?: string;
  /** Whether any other text is an answer, too: it is so for the model's own question. */
  takesText?: boolean;
}

/** All open questions. */
export type ApprovalListParams = Record<string, never>;

/** Answer an open question with one of its choices, or in other words if it takes text. */
export interface ApprovalAnswerParams {
  approval: string;
  choice: string;
}

/** Show an open question in full; without `approval`, the one that was asked first. */
export interface ApprovalShowParams {
  approval?: string;
}

/** A document that the server has written, and its text. */
export interface ServedDocument {
  uri: string;
  text: string;
}

/** Which command's output to show: that of a tool call; without `call`, the last one. */
export interface OutputShowParams {
  call?: string;
}

/** The background commands of a session; without `session`, those of all. */
export interface CommandListParams {
  session?: string;
}

/** A command that runs in the background, or has run there. */
export interface BackgroundCommand {
  /** Its id, as the model knows it. */
  command: string;
  session: string;
  turn: string;
  /** The tool call that began it. */
  call: string;
  /** The command line. */
  line: string;
  /** Where it runs, for people. */
  folder: string;
  /** Whether it runs. */
  running: boolean;
  /** How it is, in a sentence. */
  state: string;
}

/** End a background command. */
export interface CommandStopParams {
  command: string;
}

/** End a command that a turn waits for; the turn goes on. */
export interface CommandInterruptParams {
  session: string;
  /** The tool call that runs it. */
  call: string;
}

/** All rules that an answer has added. */
export type RuleListParams = Record<string, never>;

/** A rule that an answer to a question has added. */
export interface RuleInfo {
  /** Names it in `rules.remove`. */
  id: string;
  /** What it allows, in words. */
  text: string;
  tool: string;
  /** Whether it holds for one session, or in this workspace for good. */
  scope: RuleScope;
  /** The session it holds for. */
  session?: string;
}

/** Remove a rule that an answer has added, so that handrail asks again. */
export interface RuleRemoveParams {
  rule: string;
}

/** A change of the agent's that is neither kept nor undone. */
export interface Hunk {
  /** `changed`: some rows. `created`, `deleted`, `renamed`: a document. `whole`: a file without text. */
  kind: "changed" | "created" | "deleted" | "renamed" | "whole";
  /** Names it, for as long as it is pending. */
  id: string;
  /** The rows that it has now; empty, before the row that it begins with, if it only removed. */
  uri: string;
  /** The rows that it has now; empty, before the row that it begins with, if it only removed. */
  range: Range;
  /** What would be there without it, and what is there. Both are empty for `whole`. */
  before: string;
  /** What would be there without it, and what is there. Both are empty for `whole`. */
  after: string;
  /** Which turns and calls wrote in it, in order. */
  turns: string[];
  /** Which turns and calls wrote in it, in order. */
  calls: string[];
  /** Whether you have typed in it since. */
  editedByUser: boolean;
  /** The URI that a `renamed` document had, and `before` is what it held there; else null. */
  renamedFrom?: string;
}

/** Which pending changes: of a document, of a turn, or all. */
export interface ReviewListParams {
  uri?: string;
  turn?: string;
}

/** Which document, and which of its pending changes. */
export interface ReviewBaseParams {
  uri: string;
  /** Leave out only the changes of this turn; without it, all of them. */
  turn?: string;
}

/** What a document would hold without its pending changes; what you typed beside them is in it. */
export interface ReviewBase {
  uri: string;
  text: string;
}

/** Which pending changes: some by their ids, those of a document, of a turn, or all. */
export interface ReviewKeepParams {
  hunks?: string[];
  uri?: string;
  turn?: string;
  all?: boolean;
}

/** The ids of the changes that are kept now. */
export interface ReviewKept {
  hunks: string[];
}

/** Which pending changes: some by their ids, those of a document, of a turn, or all. */
export interface ReviewUndoParams {
  hunks?: string[];
  uri?: string;
  turn?: string;
  all?: boolean;
  /** Whether what you have typed in them goes as well; the checkpoint has it. */
  typed?: boolean;
  /** Whether the review document makes room below them to say why. */
  sayWhy?: boolean;
}

/** A line of the review document, counted from 0. */
export interface ReviewPlace {
  uri: string;
  line: number;
}

/** A change that was not undone. */
export interface ReviewConflict {
  hunk: string;
  uri: string;
  reason: string;
  /** What is there, and what would be there without it. */
  now: string;
  /** What is there, and what would be there without it. */
  before: string;
}

/** What came of an undo. */
export interface ReviewUndone {
  /** The ids of the changes that were undone; of a turn's, its part of them. */
  hunks: string[];
  conflicts: ReviewConflict[];
  /** Has what was there before; null if nothing was touched. */
  checkpoint: string | null;
  /** Where you can say why; null if you did not ask for that, or nothing was undone. */
  why?: ReviewPlace;
}

/** Where to look from: a document and a line in it, counted from 0; else from the very beginning. */
export interface ReviewStepParams {
  uri?: string;
  line?: number;
}

/** This request takes no params. */
export type ReviewOpenParams = Record<string, never>;

/** A comment on a change, or on lines of any document. */
export interface ReviewCommentParams {
  /** The id of the change. */
  hunk?: string;
  /** The lines; those that the range touches. */
  uri?: string;
  /** The lines; those that the range touches. */
  range?: Range;
  /** The comment; without it, the review document makes room for one. */
  text?: string;
}

/** How the comments are sent. */
export interface ReviewSendParams {
  /** The session that answers; by default the one whose changes they are about. */
  session?: string;
  /** Of the turn; by default the setting `mode`. */
  mode?: Mode;
}

/** The turn that answers, and how many comments it was sent. */
export interface ReviewSent {
  session: string;
  turn: string;
  comments: number;
}

/** What is pending has changed. */
export interface ReviewChanged {
  /** The documents in which it has. */
  uris: string[];
  /** How many changes are pending now, in all documents. */
  pending: number;
}

/** Which session to show; without `session` the latest one that this server knows, else a new one. */
export interface ChatOpenParams {
  session?: string;
}

/** This request takes no params. */
export type ChatNewParams = Record<string, never>;

/** A conversation as a document. */
export interface ChatDocument {
  session: string;
  uri: string;
  text: string;
  /** Where the user writes, counted from 0. */
  line: number;
}

/** Sends what is written at the end of a conversation. */
export interface ChatSendParams {
  /** The conversation, by either; without both the latest one that this server knows. */
  uri?: string;
  /** The conversation, by either; without both the latest one that this server knows. */
  session?: string;
  /** Of the turn; by default that of the conversation. */
  mode?: Mode;
}

/** What was sent. */
export interface ChatSent {
  session: string;
  /** The turn that reads it; null if it was a command, such as `/mode ask`. */
  turn: string | null;
}

/** Says something in a conversation from elsewhere. One of `text` and `uri` must be given. */
export interface ChatAskParams {
  /** The conversation; by default the latest one that this server knows, or else a new one. */
  session?: string;
  /** What it is about: a document, or a part of it that is quoted as the editor holds it. */
  uri?: string;
  /** What it is about: a document, or a part of it that is quoted as the editor holds it. */
  range?: Range;
  /** Whether the user wants that part changed. */
  change?: boolean;
  /** What the user says. */
  text?: string;
  /** Of the turn that is begun, if it is sent; by default that of the conversation. */
  mode?: Mode;
  /** Whether to send it at once, without what else is written in the conversation. Otherwise it is written at the end of the conversation, where the user goes on. */
  send?: boolean;
}

/** The conversation in which it was said. */
export interface ChatAsked {
  session: string;
  uri: string;
  text: string;
  /** Where the user writes, counted from 0. */
  line: number;
  /** The turn that reads it, if it was sent. */
  turn: string | null;
}

/** Names an earlier message of a conversation. */
export interface ChatResendParams {
  /** The turn that the message has begun. It is sent again as it stands in the document. */
  turn: string;
  /** The conversation, by its document or its session. */
  uri?: string;
  /** The conversation, by its document or its session. */
  session?: string;
  /** What is sent instead. */
  text?: string;
}

/** Names a turn of a conversation. */
export interface ChatTurnParams {
  turn: string;
  /** The conversation, by its document or its session. */
  uri?: string;
  /** The conversation, by its document or its session. */
  session?: string;
}

/** Which session to read; without `session` the latest one that this server knows, else a new one. */
export interface ChatReadParams {
  session?: string;
}

/** What a conversation is, apart from what is said in it. */
export interface ChatStatus {
  /** As the user has named it, else the first line of its first prompt; empty in a new one. */
  title: string;
  /** Who answers. */
  model: string;
  /** Of the next turn. */
  mode: Mode;
  /** Of all turns. */
  inputTokens?: number;
  /** Of all turns. */
  outputTokens?: number;
  /** The turn that runs. */
  running?: string;
  /** How full the model's context is; missing before the first turn. */
  contextPercent?: number;
  /** Of all turns, where the price is known. */
  costUsd?: number;
  /** What to say to have the plan carried out that the latest turn has made, if it made one. */
  plan?: string;
}

/** What the user said, which began a turn. */
export interface ChatPrompt {
  kind: "prompt";
  id: string;
  turn: string;
  text: string;
  /** How the turn is: one that did not come to its end, as the server was killed, is *broken*. */
  state: "running" | "finished" | "stopped" | "cancelled" | "failed" | "broken";
  /** Why it is not finished. */
  reason?: string;
  /** Whether the message can be sent again, changed or not, with `chat.resend`. */
  resend?: boolean;
  /** Whether the turn may have changed documents, which `checkpoint.restore` takes back. */
  changes?: boolean;
}

/** What the model said, as Markdown; while it speaks, `text` grows. */
export interface ChatWords {
  kind: "words";
  id: string;
  turn: string;
  text: string;
}

/** What the user, or handrail in the user's place, said after the turn had begun. */
export interface ChatTold {
  kind: "told";
  id: string;
  turn: string;
  text: string;
  /** *read* the model has read it; *waiting* it will, before its next step; *unread* the turn ended without reading it; *queued* it begins a turn once this one has finished. */
  state: "read" | "waiting" | "unread" | "queued";
}

/** What the reader should know: of a turn, or, without one, what a command such as `/mode` answers. */
export interface ChatRemark {
  kind: "remark";
  id: string;
  /** Markdown. */
  text: string;
  turn?: string;
  /** What it is about, if it is about one. */
  checkpoint?: string;
  /** What it is about, if it is about one. */
  session?: string;
}

/** One thing on the model's list of what is to be done. */
export interface ChatTodo {
  text: string;
  state: "open" | "active" | "done";
}

/** A change of a call that is neither kept nor undone. */
export interface ChatHunk {
  kind: "changed" | "created" | "deleted" | "renamed" | "whole";
  /** Names it in `review.keep` and `review.undo`. */
  id: string;
  uri: string;
  /** Its place, as people read it, and counted from 0. */
  path: string;
  /** Its place, as people read it, and counted from 0. */
  line: number;
  /** What goes and what comes, of a long change the beginning; empty where the text is not shown. */
  diff: string;
}

/** A tool call. */
export interface ChatCall {
  kind: "call";
  id: string;
  turn: string;
  /** Its id, for `output.show`. */
  call: string;
  tool: string;
  /** What it does, for people. */
  title: string;
  /** Whether it runs or waits to, is done, or has failed; *lost* if its turn ended before. */
  state: "running" | "done" | "failed" | "lost";
  /** The class of failure, if it has failed. */
  code?: string;
  /** The first line of its result. */
  summary?: string;
  /** What it has printed so far, or the rest of its result; of a long text one end. */
  output?: string;
  /** How many characters of `output` are left out. */
  hidden?: number;
  /** The place that it is about; the line counts from 0. */
  uri?: string;
  /** The place that it is about; the line counts from 0. */
  line?: number;
  /** The list of what is to be done, if that is what it gives. */
  todos?: ChatTodo[];
  /** The id of the command that it has begun in the background and that still runs. */
  command?: string;
  /** Whether it runs a command that the turn waits for, which `command.interrupt` ends alone. */
  awaited?: boolean;
  /** Its edits that did not land and are open failures. */
  failures?: Failure[];
  /** Its changes that are pending; one that several calls have made is among those of each. */
  hunks?: ChatHunk[];
}

/** A question to the user. */
export interface ChatQuestion {
  kind: "question";
  id: string;
  turn: string;
  /** What it is about. */
  subject: string;
  /** All of it, while it is open; `secondsLeft` is as of when it was first told. */
  approval?: Approval;
  /** When it ends as a no, while it is open, RFC 3339. */
  until?: string;
  /** How it ended, in words. */
  end?: string;
}

/** A conversation. Everything in it may be text of a model, a file or a command: show it, never interpret it. */
export interface ChatTranscript {
  session: string;
  /** What the next `handrail/chat/changed` counts on from. */
  revision: number;
  status: ChatStatus;
  /** In order; each has an `id` of its own. */
  items: ChatItem[];
}

/** Text that came at the end of the `text` of an item. */
export interface ChatGrowth {
  id: string;
  text: string;
}

/** A conversation that was read has changed; it is told ten times a second at most. */
export interface ChatChanged {
  session: string;
  /** One more than before. A client that has missed one reads the conversation again. */
  revision: number;
  /** As it is now, if it has changed. */
  status?: ChatStatus;
  /** Those that are new, at the end of the conversation, or have changed. */
  items?: ChatItem[];
  /** Those whose text has grown, after `items`. */
  grown?: ChatGrowth[];
  /** The ids of those that are gone. */
  removed?: string[];
  /** The ids of all items in order, if new ones do not stand at the end. */
  order?: string[];
}

/** Says something in a conversation, and leaves what is written in its document alone. */
export interface ChatSayParams {
  session: string;
  /** As a turn, or to the one that runs; or a command such as `/compact`. */
  text: string;
  /** Of the turn; by default that of the conversation. */
  mode?: Mode;
  /** Whether it begins a turn of its own after the one that runs, which does not read it. */
  queue?: boolean;
  /** Pictures that the model is shown, as in `turn.start`. A turn that runs cannot be shown any. */
  images?: TurnImage[];
}

/** The turn that reads what was said; null if it was a command. */
export interface ChatSaid {
  /** Where the conversation goes on: another one after `/new`. */
  session: string;
  turn: string | null;
}

/** Choose the mode of a conversation, or the model, from the next turn on. */
export interface ChatChooseParams {
  session: string;
  mode?: Mode;
  model?: string;
}

/** The text of a message that is being written, up to the place where it is written. */
export interface ChatCompleteParams {
  before: string;
}

/** A name, as it is written in a message, and what it stands for; a path says so itself. */
export interface ChatOffer {
  name: string;
  does?: string;
}

/** What may be meant by the end of a text. */
export interface ChatOffers {
  /** That end, of which a name takes the place. */
  typed: string;
  offers: ChatOffer[];
}

/** Names the comment: its document, and any line of it, counted from 0. */
export interface PromptSendParams {
  uri: string;
  line: number;
}

/** What another program says of a place. */
export interface PromptDiagnostic {
  range: Range;
  message: string;
  /** The program. */
  source?: string;
  /** What it calls this kind of problem. */
  code?: string;
}

/** Names the document, the place, and what is wrong there; 20 diagnostics at most are sent. */
export interface PromptFixParams {
  uri: string;
  range: Range;
  diagnostics: PromptDiagnostic[];
}

/** Names an open document and the version that it has. */
export interface VersionedDocument {
  uri: string;
  version: number;
}

/** Asks for the diagnostics that other servers have published. Leave out those of source `handrail`. */
export interface DiagnosticsParams {
  /** Those that are meant; null for all that have diagnostics, as they are known at this moment. */
  documents: VersionedDocument[] | null;
  /** How long to wait for reports on these versions, or on later ones. Then answer with what there is: leave out documents on which nothing was reported in time. */
  waitMs: number;
}

/** What another server says of a place; `severity` is LSP's, from 1 (error) to 4 (hint). */
export interface ClientDiagnostic {
  range: Range;
  message: string;
  severity?: number;
  source?: string;
  code?: string;
}

/** All diagnostics of a document, and the version that they were reported on; no more than 1,000 count. */
export interface DocumentDiagnostics {
  uri: string;
  diagnostics: ClientDiagnostic[];
  version?: number;
}

/** What is known of the documents; `unwatched` are those on which no server reports. */
export interface DiagnosticsResult {
  documents: DocumentDiagnostics[];
  unwatched?: string[];
}

/** The turn has begun; `instructions` are the paths of the project's own that the model was given. */
export interface StartedEvent {
  kind: "started";
  prompt: string;
  mode: Mode;
  instructions?: string[];
}

/** A piece of the model's text. */
export interface TextEvent {
  kind: "text";
  delta: string;
}

/** A piece of the model's reasoning. */
export interface ThinkingEvent {
  kind: "thinking";
  delta: string;
}

/** A tool call is about to run. */
export interface ToolCallEvent {
  kind: "toolCall";
  call: string;
  tool: string;
  title: string;
}

/** A running tool call has printed `text`, and before it as many characters that are `skipped`. */
export interface ToolOutputEvent {
  kind: "toolOutput";
  call: string;
  text: string;
  skipped?: number;
}

/** A tool call has its result. */
export interface ToolResultEvent {
  kind: "toolResult";
  call: string;
  summary: string;
}

/** What a person should know of a call; a warning, of what cannot be taken back, is a message as well. */
export interface NoticeEvent {
  kind: "notice";
  call: string;
  text: string;
  warning: boolean;
}

/** What came of one mutation: the outcome's own fields. */
export interface OutcomeEvent {
  kind: "outcome";
  id: string;
  uri: string;
  call: string;
  tool: string;
  hunk: number | null;
  status: Status;
  tier?: Tier;
  failure?: Failure;
  diff?: string;
  uncovered?: string;
  notes?: string[];
}

/** A failure is open no longer. */
export interface SupersededEvent {
  kind: "superseded";
  failure: string;
}

/** The user is asked, or the question has ended. */
export interface ApprovalEvent {
  kind: "approval";
  call: string;
  subject: string;
  /** The question's id. */
  approval: string;
  /** How it has ended; missing while it waits for the user. */
  end?: ApprovalEnd;
  /** What it ended with; "deny" if it was not answered. */
  choice?: string;
}

/** What the turn has used so far: the usage's own fields; and what the last `step` has used. */
export interface UsageEvent {
  kind: "usage";
  steps: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  costUsd: number | null;
  step: Usage;
}

/** The model could not be reached, or broke off; the step is begun anew, and its text so far is void. */
export interface RetryEvent {
  kind: "retry";
  reason: string;
  inSeconds: number;
}

/** The conversation was made smaller to fit into the model's context; both are estimates, in tokens. */
export interface CompactedEvent {
  kind: "compacted";
  before: number;
  after: number;
}

/** The turn has ended. */
export interface EndedEvent {
  kind: "ended";
  state: TurnState;
  reason?: string;
}

/** Something has happened in a turn; `seq` counts from 1 without gaps. */
export interface TurnUpdate {
  session: string;
  turn: string;
  seq: number;
  event: TurnEvent;
}

/** A question that has just been asked. Give the user time: `null` and an error are not an answer, and leave the question open. When it ends by other means, this request is cancelled and `approval/ended` is sent. */
export interface ApprovalRequestParams {
  kind: ApprovalKind;
  id: string;
  session: string;
  turn: string;
  call: string;
  tool: string;
  subject: string;
  detail: string;
  choices: string[];
  askedAt: string;
  secondsLeft: number;
  folder?: string;
  rules?: string[];
  diff?: string;
  takesText?: boolean;
}

/** The answer: one of the choices, exactly, or text if it is taken. Else the question stays open. */
export interface ApprovalRequestResult {
  choice?: string;
}

/** A question is open no longer: remove its buttons. */
export interface ApprovalEndedParams {
  /** The question's id. */
  approval: string;
  /** *answered*, by whichever surface; *timedOut*, which is a no; *withdrawn*, because its turn was stopped or an answer to another question covers it. */
  end: ApprovalEnd;
  /** What was answered. */
  choice?: string;
}

/** Save these open documents. */
export interface SaveParams {
  uris: string[];
}

/** Which of them are saved now. */
export interface SaveResult {
  saved: string[];
}

/** Names a key that the client may keep, such as OPENAI_API_KEY. */
export interface SecretParams {
  name: string;
}

/** The key, if the client has it. It is kept in memory only, and reaches nobody but its model's server. */
export interface SecretResult {
  value?: string;
}

/** A tool call of the client's model; `arguments` is JSON text as the model gave it. */
export interface ModelCall {
  id: string;
  name: string;
  arguments: string;
}

/** The result of a tool call, for the client's model. */
export interface ModelResult {
  call: string;
  text: string;
}

/** One message of the conversation: the assistant's have `calls`, those of tools have `results`. */
export interface ModelMessage {
  role: "system" | "user" | "assistant" | "tool";
  text?: string;
  calls?: ModelCall[];
  results?: ModelResult[];
}

/** A tool that the client's model may call; `schema` is the JSON Schema of its arguments. */
export interface ModelTool {
  name: string;
  description: string;
  schema: Record<string, unknown>;
}

/** Ask the client's model, `options.model` if the user names one; text streams as `{delta}` by `$/progress` on the token. The error RequestFailed (-32803) says that asking again would not help. */
export interface ModelParams {
  messages: ModelMessage[];
  tools: ModelTool[];
  options: Record<string, unknown>;
  partialResultToken: string;
}

/** What the client's model answers, whole; `stop` is "stop", "toolCalls", "length" or "refused". */
export interface ModelResponse {
  text?: string;
  calls?: ModelCall[];
  stop?: string;
  reason?: string;
  inputTokens?: number;
  outputTokens?: number;
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

/** Begins a turn and answers at once. What the prompt names with an `@` is shown to the model, as in conversations; names that stand for nothing are told in messages. */
export const TURN_START = "handrail/turn/start";

/** Begins a turn once the turns of its session have finished, else at once. It does not begin, and is told to have been cancelled, if the one before it is stopped or fails. */
export const TURN_QUEUE = "handrail/turn/queue";

/** Answers when the turn has ended. */
export const TURN_WAIT = "handrail/turn/wait";

/** Makes edits without asking a model, in a turn of a session of its own: checked, and to be reviewed and restored like all others. Answers when they are made; cancelling the request stops the turn. */
export const TURN_APPLY = "handrail/turn/apply";

/** Says something to a running turn; it reaches the model at the next step. */
export const TURN_STEER = "handrail/turn/steer";

/** Stops a turn; nothing is edited after the answer. */
export const TURN_CANCEL = "handrail/turn/cancel";

/** Lists the models of the chosen model's server; fails if that does not answer. */
export const MODEL_LIST = "handrail/model/list";

/** Forgets the keys that were found: from the next turn on, they are looked for again. */
export const MODEL_FORGET = "handrail/model/forget";

/** Lists the sessions of the workspace, newest first. */
export const SESSION_LIST = "handrail/session/list";

/** Takes a session up again, also after a restart. */
export const SESSION_RESUME = "handrail/session/resume";

/** Begins a new session with the conversation up to the end of a turn. */
export const SESSION_FORK = "handrail/session/fork";

/** Gives a session another title. */
export const SESSION_RENAME = "handrail/session/rename";

/** Removes a session for good; checkpoints of its turns stay. */
export const SESSION_DELETE = "handrail/session/delete";

/** Lists the open failures. */
export const FAILURE_LIST = "handrail/failure/list";

/** Closes a failure without mending it. */
export const FAILURE_DISMISS = "handrail/failure/dismiss";

/** Makes a failed edit at one of its candidates. */
export const FAILURE_APPLY = "handrail/failure/apply";

/** Shows what a failed edit would change at its candidates. */
export const FAILURE_DIFF = "handrail/failure/diff";

/** Lists checkpoints, those of the newest turn first. */
export const CHECKPOINT_LIST = "handrail/checkpoint/list";

/** Compares a checkpoint with what the turn left, with another one, or with now. */
export const CHECKPOINT_DIFF = "handrail/checkpoint/diff";

/** Takes a turn or a step back; what was typed since is kept. */
export const CHECKPOINT_RESTORE = "handrail/checkpoint/restore";

/** Removes checkpoints, or enforces the limits. */
export const CHECKPOINT_PRUNE = "handrail/checkpoint/prune";

/** Reads all that is kept and says what cannot be read. */
export const CHECKPOINT_VERIFY = "handrail/checkpoint/verify";

/** Lists the open questions, the oldest first. */
export const APPROVAL_LIST = "handrail/approval/list";

/** Answers an open question; the first valid answer counts. */
export const APPROVAL_ANSWER = "handrail/approval/answer";

/** Shows an open question in full, in a document whose code actions answer it. */
export const APPROVAL_SHOW = "handrail/approval/show";

/** Shows what a command has printed. */
export const OUTPUT_SHOW = "handrail/output/show";

/** Lists the commands that run in the background, and those that have ended. */
export const COMMAND_LIST = "handrail/command/list";

/** Ends a background command, and answers when it has ended. */
export const COMMAND_STOP = "handrail/command/stop";

/** Ends a command that a turn waits for. The model is told, and the turn goes on. */
export const COMMAND_INTERRUPT = "handrail/command/interrupt";

/** Lists the rules that answers have added. */
export const RULES_LIST = "handrail/rules/list";

/** Removes a rule that an answer has added. */
export const RULES_REMOVE = "handrail/rules/remove";

/** Lists the agent's changes that are neither kept nor undone. */
export const REVIEW_LIST = "handrail/review/list";

/** Gives the text of a document without its pending changes, for a client that shows the difference. */
export const REVIEW_BASE = "handrail/review/base";

/** Keeps changes: they are the user's from then on. No document is changed. */
export const REVIEW_KEEP = "handrail/review/keep";

/** Undoes changes by an edit that is read back and has a checkpoint. What the user has typed in them stays; where it cannot be told from the agent's text, the change stays and is told with both texts. */
export const REVIEW_UNDO = "handrail/review/undo";

/** Shows the next change after a line, in its document or the next; after the last one the first. */
export const REVIEW_NEXT = "handrail/review/next";

/** Shows the last change before a line, in its document or the one before. */
export const REVIEW_PREVIOUS = "handrail/review/previous";

/** Writes the review document, which shows all changes, and opens it. Comments are written in it. */
export const REVIEW_OPEN = "handrail/review/open";

/** Writes a comment on a change or on lines in the review document, or opens it where there is room. */
export const REVIEW_COMMENT = "handrail/review/comment";

/** Sends all comments as one turn, which begins after those of its session. */
export const REVIEW_SEND = "handrail/review/send";

/** Writes the document of a conversation, which is brought up to date as it goes on, and opens it. */
export const CHAT_OPEN = "handrail/chat/open";

/** Begins a conversation: writes its document, and opens it. */
export const CHAT_NEW = "handrail/chat/new";

/** Sends what the user has written at the end of a conversation: as a turn, or to the one that runs. */
export const CHAT_SEND = "handrail/chat/send";

/** Says something in a conversation from elsewhere, with what is selected there; or writes it down. */
export const CHAT_ASK = "handrail/chat/ask";

/** Sends an earlier message again as it stands now, in a new session with what was before it. */
export const CHAT_RESEND = "handrail/chat/resend";

/** Shows an earlier message, which was changed in the document, as it was sent. */
export const CHAT_RESTORE = "handrail/chat/restore";

/** Begins a conversation that holds this one up to the end of a turn, and opens its document. */
export const CHAT_FORK = "handrail/chat/fork";

/** Sends the message of the last turn once more, in the same conversation. */
export const CHAT_RETRY = "handrail/chat/retry";

/** Reads a conversation; from then on its changes are told to clients that opted in to `chat`. */
export const CHAT_READ = "handrail/chat/read";

/** Says something in a conversation: as a turn, to the one that runs, or as the turn after it. */
export const CHAT_SAY = "handrail/chat/say";

/** Chooses the mode of a conversation, or the model, from the next turn on. */
export const CHAT_CHOOSE = "handrail/chat/choose";

/** Completes an `@name` or a `/command` in a message that is being written in a view. */
export const CHAT_COMPLETE = "handrail/chat/complete";

/** Sends a comment that begins with `handrail:` as a turn of the latest session, begun after the turns that run. Its first edit of the document removes the comment. */
export const PROMPT_SEND = "handrail/prompt/send";

/** Asks for a fix of diagnostics of other programs, as a turn of the latest session. */
export const PROMPT_FIX = "handrail/prompt/fix";

/** Says that the user trusts the workspace now. From the next turn on, the settings decide again. */
export const WORKSPACE_TRUST = "handrail/workspace/trust";

export const TURN_UPDATE = "handrail/turn/update";

export const APPROVAL_REQUEST = "handrail/approval/request";

export const APPROVAL_ENDED = "handrail/approval/ended";

export const REVIEW_CHANGED = "handrail/review/changed";

export const CHAT_CHANGED = "handrail/chat/changed";

export const CLIENT_SAVE = "handrail/client/save";

export const CLIENT_SECRET = "handrail/client/secret";

export const CLIENT_MODEL = "handrail/client/model";

export const CLIENT_DIAGNOSTICS = "handrail/client/diagnostics";
