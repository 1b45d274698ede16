/**
 * Keys of models, kept in the editor's secret storage.
 *
 * A key goes to the server when the server asks for it, and nowhere else: no settings file has it, and logs leave it out.
 */
import { l10n } from "vscode";

import type { LogOutputChannel, SecretStorage } from "vscode";

import type { Connection } from "./connection";
import { messageOf, showFailure, tell, UserError } from "./messages";
import { BACK, pick } from "./pick";
import { hideInLogs, showInput } from "./present";
import { MODEL_FORGET, type SecretParams, type SecretResult } from "./protocol";

const PREFIX = "key.";

/** Names under which the server asks for keys. */
const NAMES = [
  { label: "OpenAI", description: "OPENAI_API_KEY" },
  { label: "Anthropic", description: "ANTHROPIC_API_KEY" },
  { label: "Ollama", description: "OLLAMA_API_KEY" },
  { label: l10n.t("Another name…"), description: "" },
] as const;

/** Answers the server, which asks for a key by its name. To the server, a storage that fails has none: the person is told why. */
export async function answerSecret(secrets: SecretStorage, { name }: SecretParams, log: LogOutputChannel): Promise<SecretResult> {
  let value: string | undefined;
  try {
    value = await secrets.get(PREFIX + name);
  } catch (thrown) {
    showFailure(log, "A key could not be read", new UserError(l10n.t("VS Code could not read the key {0}: {1}", name, messageOf(thrown))));
  }
  if (value === undefined) return {};
  hideInLogs(value);
  return { value };
}

/** Lets the person give a key, which takes the place of an earlier one; an empty one removes it. */
export async function setKey(secrets: SecretStorage, connection: Connection): Promise<void> {
  const name = await chooseName();
  if (name === undefined) return;
  const key = await showKeyInput(l10n.t("Enter the key {0}. VS Code keeps it encrypted. Leave the box empty to remove the key.", name));
  if (key === undefined) return;
  await keep(secrets, connection, name, key);
  tell(key === "" ? l10n.t("the key {0} was removed.", name) : l10n.t("the key {0} was saved. It is used from the next turn on.", name));
}

/** Asks for the key of that name. An empty box leaves an earlier key as it is. Returns false if the person cancels. */
export async function askKey(secrets: SecretStorage, connection: Connection, name: string): Promise<boolean> {
  const key = await showKeyInput(l10n.t("Enter the key {0}. VS Code keeps it encrypted. Leave the box empty to use the key that you have already set.", name));
  if (key === undefined) return false;
  if (key !== "") await keep(secrets, connection, name, key);
  return true;
}

async function showKeyInput(prompt: string): Promise<string | undefined> {
  return (await showInput({ title: l10n.t("Handrail: Set API Key"), prompt, password: true, ignoreFocusOut: true }))?.trim();
}

async function keep(secrets: SecretStorage, connection: Connection, name: string, key: string): Promise<void> {
  if (key === "") await secrets.delete(PREFIX + name);
  else {
    hideInLogs(key);
    await secrets.store(PREFIX + name, key);
  }
  if (connection.isRunning && connection.offers(MODEL_FORGET)) await connection.request(MODEL_FORGET, {});
}

async function chooseName(): Promise<string | undefined> {
  const chosen = await pick(NAMES, { title: l10n.t("Handrail: Set API Key"), placeholder: l10n.t("Whose key is it?") });
  if (chosen === undefined || chosen === BACK) return undefined;
  if (chosen.description !== "") return chosen.description;
  const name = await showInput({
    title: l10n.t("Handrail: Set API Key"),
    prompt: l10n.t("The name of the key, as in the setting handrail.keyName"),
    validateInput: (text) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? undefined : l10n.t("Use letters, digits and underscores only.")),
  });
  return name === undefined || name === "" ? undefined : name;
}
