/**
 * Lets the person choose where answers come from, and writes the choice into the user's settings.
 *
 * The server knows the models; here are the lists to choose from, and what to do when there is nothing to choose.
 */
import { ConfigurationTarget, lm, type SecretStorage, workspace } from "vscode";

import type { Connection } from "../connection";
import { messageOf, tell, UserError } from "../messages";
import { offersModels } from "../model";
import { BACK, pick } from "../pick";
import { type Choice, showInput } from "../present";
import { MODEL_LIST } from "../protocol";
import { askKey } from "../secrets";

const TITLE = "Handrail: Where Answers Come From";
const NO_EDITOR_MODELS =
  "VS Code has no language model yet. Install an extension that brings models, such as GitHub Copilot Chat, and sign in there. Then choose again.";
const NO_OLLAMA_MODELS = "Ollama has no models yet. Run “ollama pull NAME” in a terminal, then choose again.";

/** Providers that need a key: their prefix in `handrail.model`, and the name of the key. */
const PROVIDERS = [
  { label: "Anthropic", prefix: "anthropic:", key: "ANTHROPIC_API_KEY" },
  { label: "OpenAI", prefix: "openai:", key: "OPENAI_API_KEY" },
] as const;

interface ModelChoice extends Choice {
  model: string;
}

export class Sources {
  /** The commands, by name. Each returns the model that it set, or undefined when the person chose none. */
  readonly commands: Record<string, () => Promise<string | undefined>> = {
    "handrail.client.chooseSource": () => this.choose(),
    "handrail.client.useEditorModels": () => this.useEditorModels(),
    "handrail.client.useKey": () => this.useKey(),
    "handrail.client.useOllama": () => this.useOllama(),
    "handrail.client.usePaste": () => use("paste", "copy a reply from any chat, then run “Apply Reply from Clipboard”."),
  };

  constructor(
    private readonly connection: Connection,
    private readonly secrets: SecretStorage,
  ) {}

  private async choose(): Promise<string | undefined> {
    const ways = [
      { icon: "sparkle", label: "VS Code's own models", detail: "Models that other extensions bring to VS Code", command: "handrail.client.useEditorModels" },
      { icon: "key", label: "A key", detail: "Anthropic or OpenAI; VS Code keeps your key encrypted", command: "handrail.client.useKey" },
      { icon: "server", label: "Ollama", detail: "Models that run on your own computer", command: "handrail.client.useOllama" },
      { icon: "clippy", label: "Pasted replies", detail: "No model: you copy replies from any chat", command: "handrail.client.usePaste" },
    ];
    const chosen = await pick(ways, { title: TITLE, placeholder: "Choose where answers come from" });
    return chosen === undefined || chosen === BACK ? undefined : this.commands[chosen.command]?.();
  }

  private async useEditorModels(): Promise<string | undefined> {
    const models = offersModels() ? await lm.selectChatModels() : [];
    if (models.length === 0) throw new UserError(NO_EDITOR_MODELS);
    const first = { label: "The first model that VS Code offers", model: "editor" };
    const named = models.map(({ id, name, vendor }) => ({ label: name, description: vendor, model: `editor:${id}` }));
    return pickModel([first, ...named], "VS Code asks once whether Handrail may use its models");
  }

  private async useKey(): Promise<string | undefined> {
    const provider = await pick(PROVIDERS, { title: TITLE, placeholder: "Whose models should answer?" });
    if (provider === undefined || provider === BACK) return undefined;
    const isSet = await askKey(this.secrets, this.connection, provider.key);
    return isSet ? this.pickListed(provider.prefix, provider.label) : undefined;
  }

  /** Offers the models that the provider lists; when it does not answer, the person types a name. */
  private async pickListed(prefix: string, provider: string): Promise<string | undefined> {
    let reason = "";
    try {
      const models = await this.list(prefix);
      if (models.length > 0) return await pickModel(models, `The models of ${provider}`);
    } catch (thrown) {
      reason = ` The list of models is missing: ${messageOf(thrown)}`;
    }
    const name = await showInput({
      title: TITLE,
      prompt: `Type the name of the model, as ${provider} spells it.${reason}`,
      ignoreFocusOut: true,
      validateInput: (text) => (/\s/.test(text.trim()) ? "A name has no blanks." : undefined),
    });
    return name === undefined || name.trim() === "" ? undefined : use(prefix + name.trim());
  }

  private async useOllama(): Promise<string | undefined> {
    let models: ModelChoice[];
    try {
      models = await this.list("ollama:");
    } catch (thrown) {
      throw new UserError(`Ollama did not answer. Install it from ollama.com and start it, or set handrail.baseUrl to its address. ${messageOf(thrown)}`);
    }
    if (models.length === 0) throw new UserError(NO_OLLAMA_MODELS);
    return pickModel(models, "The models of your Ollama");
  }

  private async list(prefix: string): Promise<ModelChoice[]> {
    const models = await this.connection.request(MODEL_LIST, { like: `${prefix}any` });
    return models.map(({ model, title }) => ({ label: title ?? model, ...(title === undefined ? {} : { description: model }), model }));
  }
}

async function pickModel(models: readonly ModelChoice[], placeholder: string): Promise<string | undefined> {
  const current = workspace.getConfiguration("handrail").get<string>("model");
  const chosen = await pick(models, { title: TITLE, placeholder, active: models.find(({ model }) => model === current) });
  return chosen === undefined || chosen === BACK ? undefined : use(chosen.model);
}

/** Sets the model in the user's settings, and says so. */
async function use(model: string, meaning = `“${model}” answers from the next turn on.`): Promise<string> {
  await workspace.getConfiguration("handrail").update("model", model, ConfigurationTarget.Global);
  tell(meaning);
  return model;
}
