/**
 * What the chat view and the extension say to each other.
 *
 * The view is a page of its own. What comes from it is read here, and anything that is not one of these messages is refused.
 */
import type { ChatChanged, ChatItem, ChatOffers, ChatStatus, Mode } from "../protocol";

/** How the server is. */
export type ServerState = "starting" | "running" | "stopped";

/** What the view is told. */
export type ToView =
  | { type: "whole"; session: string; status: ChatStatus; items: ChatItem[] }
  | { type: "change"; change: ChatChanged }
  | { type: "server"; state: ServerState }
  | { type: "said"; text: string }
  | { type: "offers"; number: number; offers: ChatOffers }
  | { type: "failed"; doing: string; text: string };

/** What the view tells: what the person has done. */
export type FromView =
  | { type: "ready" | "stop" | "models" | "plan" }
  | { type: "say"; text: string; queue: boolean }
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

type Kind = "string" | "number" | "boolean";

/** The fields of each message beside its type. */
const FIELDS: Record<FromView["type"], Record<string, Kind>> = {
  ready: {},
  stop: {},
  models: {},
  plan: {},
  say: { text: "string", queue: "boolean" },
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
  return fields.every(([name, kind]) => typeof given[name] === kind) ? (value as FromView) : undefined;
}

/** Whether an address may be opened in a browser: nothing else is, whatever a text calls a link. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(address) && URL.canParse(address);
}
