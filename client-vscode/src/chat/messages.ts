/**
 * What the chat view and the extension say to each other.
 *
 * The view is a page of its own. What comes from it is read here, and anything that is not one of these messages is refused.
 */
import type { ChatChanged, ChatItem, ChatOffers, ChatStatus, Mode } from "../protocol";

/** So many pictures can begin a turn, each of 3.5 MB, which are so many characters in base64. */
export const MOST_PICTURES = 20;
export const MOST_PICTURE_CHARS = Math.ceil(3_500_000 / 3) * 4;

/** A picture that the person has dropped or pasted, in base64. */
export interface Picture {
  name: string;
  data: string;
}

/** How the server is. */
export type ServerState = "starting" | "running" | "stopped";

/** What was attempted and failed: what succeeds later withdraws the complaint about reading and about completing. */
export type Attempted = "reading" | "completing" | "doing";

/** What the view is told. */
export type ToView =
  | { type: "whole"; session: string; status: ChatStatus; items: ChatItem[] }
  | { type: "change"; change: ChatChanged }
  | { type: "server"; state: ServerState }
  | { type: "said"; text: string }
  | { type: "offers"; number: number; offers: ChatOffers }
  | { type: "follow"; isOn: boolean }
  | { type: "mentioned"; text: string }
  | { type: "failed"; about: Attempted; doing: string; text: string };

/** What the view tells: what the person has done. */
export type FromView =
  | { type: "ready" | "stop" | "models" | "plan" }
  | { type: "say"; text: string; queue: boolean; pictures: Picture[] }
  | { type: "applyCode"; text: string; language: string }
  | { type: "mention"; uris: string }
  | { type: "follow"; isOn: boolean }
  | { type: "fork"; turn: string }
  | { type: "complete"; before: string; number: number }
  | { type: "mode"; mode: Mode }
  | { type: "answer"; approval: string; choice: string }
  | { type: "output" | "interrupt"; call: string }
  | { type: "session"; session: string }
  | { type: "end"; command: string }
  | { type: "place"; item: string }
  | { type: "link"; address: string }
  | { type: "copy"; text: string }
  | { type: "resend"; turn: string; text: string }
  | { type: "undo"; turn: string }
  | { type: "apply"; failure: string; candidate: number }
  | { type: "compare" | "dismiss"; failure: string }
  | { type: "hunk"; item: string; hunk: string }
  | { type: "keep" | "revert"; hunk: string };

type Kind = "string" | "number" | "boolean" | "pictures";

/** The fields of each message beside its type. */
const FIELDS: Record<FromView["type"], Record<string, Kind>> = {
  ready: {},
  stop: {},
  models: {},
  plan: {},
  say: { text: "string", queue: "boolean", pictures: "pictures" },
  applyCode: { text: "string", language: "string" },
  mention: { uris: "string" },
  follow: { isOn: "boolean" },
  fork: { turn: "string" },
  complete: { before: "string", number: "number" },
  mode: { mode: "string" },
  answer: { approval: "string", choice: "string" },
  output: { call: "string" },
  interrupt: { call: "string" },
  session: { session: "string" },
  end: { command: "string" },
  place: { item: "string" },
  link: { address: "string" },
  copy: { text: "string" },
  resend: { turn: "string", text: "string" },
  undo: { turn: "string" },
  apply: { failure: "string", candidate: "number" },
  compare: { failure: "string" },
  dismiss: { failure: "string" },
  hunk: { item: "string", hunk: "string" },
  keep: { hunk: "string" },
  revert: { hunk: "string" },
};

/** Reads a message of the view; undefined if it is none. */
export function readMessage(value: unknown): FromView | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const given = value as Record<string, unknown>;
  const type = given["type"];
  if (typeof type !== "string" || !Object.hasOwn(FIELDS, type)) return undefined;
  const fields = Object.entries(FIELDS[type as FromView["type"]]);
  return fields.every(([name, kind]) => isOf(kind, given[name])) ? (value as FromView) : undefined;
}

function isOf(kind: Kind, value: unknown): boolean {
  if (kind !== "pictures") return typeof value === kind;
  return Array.isArray(value) && value.length <= MOST_PICTURES && value.every(isPicture);
}

function isPicture(value: unknown): value is Picture {
  if (typeof value !== "object" || value === null) return false;
  const { name, data } = value as Partial<Record<string, unknown>>;
  return typeof name === "string" && typeof data === "string" && data.length <= MOST_PICTURE_CHARS;
}

/** Whether an address may be opened in a browser: nothing else is, whatever a text calls a link. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(address) && URL.canParse(address);
}
