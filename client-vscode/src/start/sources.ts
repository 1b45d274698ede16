/**
 * Lets the person choose where answers come from, and writes the choice into the user's settings.
 *
 * The server knows the models; here are the lists to choose from, and what to do when there is nothing to choose.
 */
import { ConfigurationTarget, l10n, lm, type LogOutputChannel, type SecretStorage, workspace } from "vscode";

import type { Connection } from "../connection";
import { messageOf, tell, UserError } from "../messages";
import { offersModels } from "../model";
import { BACK, pick } from "../pick";
import { type Choice, showInput } from "../present";
import { CHAT_CHOOSE, MODEL_LIST } from "../protocol";
import { askKey } from "../secrets";

const TITLE = l10n.t("Handrail: Where Answers Come From");
const NO_EDITOR_MODELS = l10n.t(
  "VS Code has no language model yet. Install an extension that provides models, such as GitHub Copilot Chat, and sign in there. Then choose again.",
);
const NO_OLLAMA_MODELS = l10n.t("Ollama has no models yet. Run “ollama pull NAME” in a terminal, then choose again.");

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
    "handrail.client.usePaste": () => this.use("paste", { meaning: l10n.t("copy a reply from any chat, then run “Apply Reply from Clipboard”.") }),
  };

  constructor(
    private readonly connection: Connection,
    private readonly secrets: SecretStorage,
    private readonly log: LogOutputChannel,
  ) {}

  private async choose(): Promise<string | undefined> {
    const ways = [
      { icon: "sparkle", label: l10n.t("VS Code's own models"), detail: l10n.t("Models that other extensions provide to VS Code"), command: "handrail.client.useEditorModels" },
      { icon: "key", label: l10n.t("An API key"), detail: l10n.t("Anthropic or OpenAI; VS Code keeps your key encrypted"), command: "handrail.client.useKey" },
      { icon: "server", label: "Ollama", detail: l10n.t("Models that run on your own computer"), command: "handrail.client.useOllama" },
      { icon: "clippy", label: l10n.t("Pasted replies"), detail: l10n.t("No model: you copy replies from any chat"), command: "handrail.client.usePaste" },
    ];
    const chosen = await pick(ways, { title: TITLE, placeholder: l10n.t("Choose where answers come from") });
    return chosen === undefined || chosen === BACK ? undefined : this.commands[chosen.command]?.();
  }

  private async useEditorModels(): Promise<string | undefined> {
    const models = offersModels() ? await lm.selectChatModels() : [];
    if (models.length === 0) throw new UserError(NO_EDITOR_MODELS);
    const first = { label: l10n.t("The first model that VS Code offers"), model: "editor" };
    const named = models.map(({ id, name, vendor }) => ({ label: name, description: vendor, model: `editor:${id}` }));
    return this.pickModel([first, ...named], l10n.t("VS Code asks once whether Handrail may use its models"));
  }

  private async useKey(): Promise<string | undefined> {
    const provider = await pick(PROVIDERS, { title: TITLE, placeholder: l10n.t("Whose models should answer?") });
    if (provider === undefined || provider === BACK) return undefined;
    const place = await choosePlace(provider.prefix, provider.label);
    if (place === undefined) return undefined;
    const isSet = await askKey(this.secrets, this.connection, place.keyName || provider.key);
    return isSet ? this.pickListed(provider.prefix, provider.label, place) : undefined;
  }

  /** Offers the models that the provider lists; when it does not answer, the person types a name. */
  private async pickListed(prefix: string, provider: string, place: Place): Promise<string | undefined> {
    let prompt = l10n.t("Type the name of the model, as {0} spells it.", provider);
    let models: ModelChoice[] = [];
    try {
      models = await this.list(prefix, place);
    } catch (thrown) {
      prompt = l10n.t("Type the name of the model, as {0} spells it. The list of models could not be loaded: {1}", provider, messageOf(thrown));
    }
    if (models.length > 0) return this.pickModel(models, l10n.t("The models of {0}", provider), place);
    const name = await showInput({
      title: TITLE,
      prompt,
      ignoreFocusOut: true,
      validateInput: (text) => (/\s/.test(text.trim()) ? l10n.t("A name cannot contain spaces.") : undefined),
    });
    return name === undefined || name.trim() === "" ? undefined : this.use(prefix + name.trim(), { place });
  }

  private async useOllama(): Promise<string | undefined> {
    const place = await choosePlace("ollama:", "Ollama");
    if (place === undefined) return undefined;
    let models: ModelChoice[];
    try {
      models = await this.list("ollama:", place);
    } catch (thrown) {
      throw new UserError(l10n.t("The models of Ollama could not be listed. {0} If Ollama is not installed, get it from ollama.com; if it runs elsewhere, set handrail.baseUrl.", messageOf(thrown)));
    }
    if (models.length === 0) throw new UserError(NO_OLLAMA_MODELS);
    return this.pickModel(models, l10n.t("Models that Ollama has"), place);
  }

  private async list(prefix: string, { baseUrl }: Place): Promise<ModelChoice[]> {
    const models = await this.connection.request(MODEL_LIST, { like: `${prefix}any`, ownAddress: baseUrl === "" });
    return models.map(({ model, title }) => ({ label: title ?? model, ...(title === undefined ? {} : { description: model }), model }));
  }

  private async pickModel(models: readonly ModelChoice[], placeholder: string, place?: Place): Promise<string | undefined> {
    const current = modelInSettings();
    const chosen = await pick(models, { title: TITLE, placeholder, active: models.find(({ model }) => model === current) });
    return chosen === undefined || chosen === BACK ? undefined : this.use(chosen.model, place === undefined ? {} : { place });
  }

  /**
   * Sets the model in the user's settings, and says so. What belongs to the provider before is cleared first, so that no key
   * can be sent to its address in between; a model that needs neither address nor key leaves both as they are.
   *
   * A setting that stays as it is does not end the choice of another model in a conversation, so the server is told. If it
   * refuses, as older servers do, the model is set all the same.
   */
  private async use(model: string, { meaning, place }: { meaning?: string; place?: Place } = {}): Promise<string> {
    const cleared: string[] = [];
    for (const name of ["baseUrl", "keyName"] as const) if (place !== undefined && (await clear(name, place[name]))) cleared.push(`handrail.${name}`);
    const isSame = modelInSettings() === model;
    await workspace.getConfiguration("handrail").update("model", model, ConfigurationTarget.Global);
    if (isSame && this.connection.isRunning && this.connection.offers(CHAT_CHOOSE)) {
      try {
        await this.connection.request(CHAT_CHOOSE, { model });
      } catch (thrown) {
        this.log.warn("The server did not take the chosen model", thrown);
      }
    }
    tell(meaning ?? answering(model, cleared));
    return model;
  }
}

/** Where a provider's models are asked, and with which key: the settings `baseUrl` and `keyName`, empty for the provider's own. */
interface Place {
  baseUrl: string;
  keyName: string;
}

const OWN_PLACE: Place = { baseUrl: "", keyName: "" };

/**
 * Decides whether the address in the settings holds for the provider, and asks the person about it: an address belongs to one
 * provider, and no other provider's key must be sent there. Returns undefined if the person cancels.
 */
async function choosePlace(prefix: string, provider: string): Promise<Place | undefined> {
  const settings = workspace.getConfiguration("handrail");
  const [baseUrl = "", keyName = ""] = [settings.get<string>("baseUrl"), settings.get<string>("keyName")];
  const isSame = providerOf(settings.get<string>("model") ?? "") === providerOf(prefix);
  const kept = { baseUrl, keyName: isSame ? keyName : "" };
  if (baseUrl === "" || (isSame && prefix === "ollama:")) return kept;
  const places = [
    { label: l10n.t("{0}’s own address", provider), detail: clearing(keyName === ""), place: OWN_PLACE },
    { label: baseUrl, detail: [keeping(kept.keyName === keyName), sending(prefix, provider)].join(" "), place: kept },
  ];
  const chosen = await pick(places, { title: TITLE, placeholder: l10n.t("What is the address of {0}?", provider) });
  return chosen === undefined || chosen === BACK ? undefined : chosen.place;
}

/** What becomes of the settings with the provider's own address. */
function clearing(isAddressAlone: boolean): string {
  return isAddressAlone ? l10n.t("Clears the setting handrail.baseUrl") : l10n.t("Clears the settings handrail.baseUrl and handrail.keyName");
}

/** What becomes of the settings if the address stays. A key's name belongs to the provider before, like its key. */
function keeping(isNameKept: boolean): string {
  return isNameKept ? l10n.t("Keeps the setting handrail.baseUrl.") : l10n.t("Keeps the setting handrail.baseUrl, and clears handrail.keyName.");
}

/** Which key goes to the address. Ollama needs none, so few people have one. */
function sending(prefix: string, provider: string): string {
  if (prefix === "ollama:") return l10n.t("If you have set OLLAMA_API_KEY, it is sent to this address.");
  return l10n.t("Your {0} key is sent to this address.", provider);
}

/** Whose model a value of `handrail.model` names. */
function providerOf(model: string): string {
  const [kind = ""] = model.replace(/^record:.*?\.json:/s, "").split(":");
  return kind.replace(/^openai-(chat|responses)$/, "openai");
}

function modelInSettings(): string | undefined {
  return workspace.getConfiguration("handrail").get<string>("model");
}

function answering(model: string, [one, other]: readonly string[]): string {
  if (one === undefined) return l10n.t("“{0}” answers from the next turn on.", model);
  if (other === undefined) return l10n.t("“{0}” answers from the next turn on. Cleared: {1}.", model, one);
  return l10n.t("“{0}” answers from the next turn on. Cleared: {1} and {2}.", model, one, other);
}

/** Clears a setting unless its value is wanted. Returns whether it did. */
async function clear(name: keyof Place, wanted: string): Promise<boolean> {
  const now = () => workspace.getConfiguration("handrail").get<string>(name) ?? "";
  if (now() === wanted) return false;
  await workspace.getConfiguration("handrail").update(name, undefined, ConfigurationTarget.Global);
  if (now() !== wanted) throw new UserError(l10n.t("{0} is still “{1}”. Remove it from your settings, then choose again.", `handrail.${name}`, now()));
  return true;
}
