/**
 * Offer our edits to other agents of the editor: what they write is checked, made, read back and can be taken back.
 *
 * The server decides what becomes of an edit. What it says is the tool's result, so that the agent can correct itself.
 */
import * as vscode from "vscode";

import { makeVisible } from "./characters";
import type { Connection } from "./connection";
import { UserError } from "./messages";
import { TURN_APPLY } from "./protocol";

const NAME = "handrail_apply_edits";
const LONGEST_SHOWN = 4_000; // characters of the edits in a question
const TITLE = vscode.l10n.t("Edits from the editor's chat");

interface Input {
  edits: string;
}

/** Registers the tool, where the editor has tools. */
export function offerTools(connection: Connection): vscode.Disposable {
  if (!("lm" in vscode) || !("registerTool" in vscode.lm)) return new vscode.Disposable(() => undefined);
  return vscode.lm.registerTool(NAME, {
    prepareInvocation: ({ input }: vscode.LanguageModelToolInvocationPrepareOptions<Input>) => ({
      invocationMessage: vscode.l10n.t("Applying edits with Handrail"),
      confirmationMessages: { title: vscode.l10n.t("Let Handrail apply these edits?"), message: quoted(editsOf(input)) },
    }),
    invoke: async ({ input }: vscode.LanguageModelToolInvocationOptions<Input>, token) => {
      const edits = editsOf(input);
      if (!connection.isRunning) await connection.start();
      if (!connection.offers(TURN_APPLY)) throw new UserError(vscode.l10n.t("This Handrail server is too old to apply edits of other agents. Update it, or clear the setting handrail.serverPath."));
      const { text } = await connection.request(TURN_APPLY, { edits, title: TITLE }, token);
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
    },
  });
}

function editsOf(input: unknown): string {
  const edits = (input as Partial<Record<keyof Input, unknown>> | null)?.edits;
  if (typeof edits !== "string") throw new UserError(vscode.l10n.t("The argument “edits” must be a string with the edits."));
  return edits;
}

/** A text in a question that reads Markdown: indented, which makes it code, so that nothing in it becomes a link. */
function quoted(text: string): string {
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}\n${vscode.l10n.t("… and {0} more characters", text.length - LONGEST_SHOWN)}` : text;
  return makeVisible(shown)
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
}
