// The model of the tests, which VS Code has from this extension; each turn says how it answers.
const vscode = require("vscode");
const { command } = require("./kit.cjs");

/** A language model as an extension brings it to VS Code; it answers as the tests say, and keeps what it was asked. */
const model = {
  asked: [],
  answer: async () => {},
  provideLanguageModelChatInformation: () => [
    { id: "parrot", name: "Parrot", family: "birds", version: "1", maxInputTokens: 30_000, maxOutputTokens: 4_000, capabilities: { toolCalling: true } },
  ],
  provideLanguageModelChatResponse: async (_model, messages, options, progress, token) => {
    model.asked.push({ messages, tools: options.tools, token });
    await model.answer(progress, token, model.asked.length);
  },
  provideTokenCount: async () => 1,
};
const say = (progress, text) => progress.report(new vscode.LanguageModelTextPart(text));
const settings = () => vscode.workspace.getConfiguration("handrail");

/** Runs a turn with the editor's own model, which answers so. */
async function turnWith(answer) {
  Object.assign(model, { asked: [], answer });
  const { turn } = await command("handrail.turn.start", { prompt: "Raise the tax." });
  return { turn, report: command("handrail.turn.wait", { turn }) };
}

/** Runs a turn of which the model's first answer is these calls, `[tool, arguments]`, and the next one a text. */
const turnThatCalls = (calls, text = "Done.") =>
  turnWith(async (progress, _token, number) => {
    if (number > 1) say(progress, text);
    else calls.forEach(([tool, input], at) => progress.report(new vscode.LanguageModelToolCallPart(`call-${at}`, tool, input)));
  });

/** From now on the model answers. */
async function useModel() {
  vscode.lm.registerLanguageModelChatProvider("handrail-host-tests", model);
  await settings().update("model", "editor:parrot", vscode.ConfigurationTarget.Global);
}

module.exports = { model, say, settings, turnThatCalls, turnWith, useModel };
