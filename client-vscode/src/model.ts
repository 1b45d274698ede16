/**
 * Ask the editor's own language model for the server: its conversation as VS Code's, and the answer back.
 *
 * VS Code has no system messages, so they are sent as the user's; and it does not say why a model stopped or what it
 * used, so neither is told. What an answer means, and whether to ask again, is for the server to decide.
 */
import * as vscode from "vscode";
import type { ResponseError } from "vscode-languageclient/node";

import { messageOf } from "./messages";
import type { ModelCall, ModelMessage, ModelParams, ModelResponse } from "./protocol";

const JUSTIFICATION = vscode.l10n.t("You chose this model for Handrail's turns.");
const REFUSALS: Record<string, string> = {
  NoPermissions: vscode.l10n.t(
    "VS Code was not allowed to use its language model for Handrail. Start the turn again and allow it, or manage the access in the Accounts menu.",
  ),
  Blocked: vscode.l10n.t("The editor's language model did not answer, because of a quota or a filter. Send your message again later or in other words, or choose another model."),
  NotFound: vscode.l10n.t("The editor's language model is no longer available. If you chose “editor” as the model, send your message again; otherwise choose another model."),
};

/** Whether this editor has language models that can call tools. */
export function offersModels(): boolean {
  return "lm" in vscode && "LanguageModelToolCallPart" in vscode;
}

/**
 * Asks a model.
 *
 * @param options.model Of `params`: the id, family or name of the model; without it, the editor's first.
 * @param tell Told the text as it comes.
 * @returns The whole answer. Throws `RequestFailed` when asking again would not help, `InternalError` when it may.
 */
export async function answerModel(
  params: ModelParams,
  token: vscode.CancellationToken,
  tell: (delta: string) => void,
): Promise<ModelResponse> {
  const model = await choose(params.options["model"]);
  try {
    const tools = params.tools.map(({ name, description, schema }) => ({ name, description, inputSchema: schema }));
    const messages = params.messages.flatMap(converted);
    const { stream } = await model.sendRequest(messages, { justification: JUSTIFICATION, tools }, token);
    return { ...(await collect(stream, tell)), contextTokens: model.maxInputTokens };
  } catch (thrown) {
    throw await told(thrown, model.name);
  }
}

async function choose(wanted: unknown): Promise<vscode.LanguageModelChat> {
  const models = await vscode.lm.selectChatModels();
  const named = (model: vscode.LanguageModelChat) => [model.id, model.family, model.name].some((name) => name === wanted);
  const model = typeof wanted === "string" ? models.find(named) : models[0];
  if (model !== undefined) return model;
  const text =
    models.length === 0
      ? vscode.l10n.t("The editor has no language model. Install an extension that provides one and sign in there, or choose another model.")
      : vscode.l10n.t("The editor has no language model “{0}”. Choose “editor:NAME” with one of these names: {1}.", String(wanted), models.map(({ id }) => id).join(", "));
  throw await failed(text, false);
}

async function collect(stream: AsyncIterable<unknown>, tell: (delta: string) => void): Promise<ModelResponse> {
  let text = "";
  const calls: ModelCall[] = [];
  for await (const part of stream) {
    if (part instanceof vscode.LanguageModelTextPart) {
      text += part.value;
      tell(part.value);
    } else if (part instanceof vscode.LanguageModelToolCallPart) {
      calls.push({ id: part.callId, name: part.name, arguments: JSON.stringify(part.input) });
    }
  }
  return calls.length > 0 ? { text, calls, stop: "toolCalls" } : { text };
}

async function told(thrown: unknown, model: string): Promise<ResponseError> {
  const code = thrown instanceof vscode.LanguageModelError ? thrown.code : "";
  const refusal = REFUSALS[code];
  const said = causes(thrown).join(" ");
  if (refusal === undefined) return await failed(`${model}: ${said}`, true);
  return await failed(vscode.l10n.t("{0} {1} says: {2}", refusal, model, said), false);
}

/** The error for the server; *mayHelp*: to ask again. */
async function failed(text: string, mayHelp: boolean): Promise<ResponseError> {
  const { createError } = await import("./client");
  return createError(text, mayHelp);
}

/** What was thrown and what caused it, without saying the same twice. */
function causes(thrown: unknown): string[] {
  const messages = [messageOf(thrown)];
  if (thrown instanceof Error && thrown.cause !== undefined) messages.push(...causes(thrown.cause));
  return [...new Set(messages)];
}

function converted(message: ModelMessage): vscode.LanguageModelChatMessage[] {
  const { role, text = "", calls = [], results = [] } = message;
  const said = text.trim() === "" ? [] : [new vscode.LanguageModelTextPart(text)];
  if (role === "assistant") {
    const made = calls.map(({ id, name, arguments: json }) => new vscode.LanguageModelToolCallPart(id, name, inputOf(json)));
    return said.length + made.length === 0 ? [] : [vscode.LanguageModelChatMessage.Assistant([...said, ...made])];
  }
  const found = results.map(
    (result) => new vscode.LanguageModelToolResultPart(result.call, [new vscode.LanguageModelTextPart(result.text)]),
  );
  return said.length + found.length === 0 ? [] : [vscode.LanguageModelChatMessage.User([...found, ...said])];
}

/** The arguments of an earlier call; what was no JSON object then is sent as one, which every model's provider reads. */
function inputOf(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  return { unreadable: json };
}
