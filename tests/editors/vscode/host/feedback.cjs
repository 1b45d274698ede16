// Another extension finds fault with each line that has BAD in it; what a turn's edits broke is told to the model. It also
// answers where words are used, and says that each is defined where it stands first.
const assert = require("node:assert/strict");
const vscode = require("vscode");

const { command, ready, uriOf, until } = require("./kit.cjs");

const collection = vscode.languages.createDiagnosticCollection("other");

/** Reports on a document after a moment, as a server does that has something to compute. */
function report(document, afterMs = [slow, hasty].includes(document) ? 600 : 100) {
  if (!document.uri.path.endsWith(".txt")) return;
  const { version } = document;
  const found = document.getText().split("\n").flatMap((row, line) => {
    const start = row.indexOf("BAD");
    if (start < 0) return [];
    const each = new vscode.Diagnostic(new vscode.Range(line, start, line, start + 3), "This is bad.");
    return [Object.assign(each, { source: "other", code: "bad-word" })];
  });
  if (document === beside && poem.getText().includes("BAD new")) {
    found.push(Object.assign(new vscode.Diagnostic(new vscode.Range(0, 0, 0, 1), "New is not known."), { source: "other" }));
  }
  const set = () => {
    if (document.version !== version) return;
    collection.set(document.uri, found);
    if (document === poem && beside !== undefined) report(beside, 0); // which depends on it
  };
  // A report that comes together with another one is not to be lost.
  if (document === slow && found.length === 0) void Promise.race([told(slow.uri), moment(afterMs)]).then(set);
  else void moment(afterMs).then(set);
}

const moment = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function placesOf(document, word) {
  return [...document.getText().matchAll(new RegExp(`\\b${word}\\b`, "g"))].map(
    ({ index }) => new vscode.Location(document.uri, new vscode.Range(document.positionAt(index), document.positionAt(index + word.length))),
  );
}

function provide() {
  const { languages, DocumentSymbol, SymbolInformation, SymbolKind } = vscode;
  const wordAt = (document, position) => document.getText(document.getWordRangeAtPosition(position));
  const places = (document, position) => placesOf(document, wordAt(document, position));
  const selector = { language: "plaintext" };
  languages.registerDefinitionProvider(selector, {
    provideDefinition: (document, position) =>
      places(document, position).slice(0, 1).map(({ uri, range }) => ({ targetUri: uri, targetRange: range, targetSelectionRange: range })),
  });
  languages.registerReferenceProvider(selector, { provideReferences: places });
  languages.registerDocumentSymbolProvider(selector, {
    provideDocumentSymbols: (document) => {
      const [stanza, line] = [0, 1].map((at) => {
        const { range, text } = document.lineAt(at);
        return new DocumentSymbol(text, "", SymbolKind.String, range, range);
      });
      stanza.range = new vscode.Range(0, 0, 1, 9);
      stanza.children = [line];
      return [stanza];
    },
  });
  languages.registerWorkspaceSymbolProvider({
    provideWorkspaceSymbols: (query) =>
      placesOf(poem, query).map((place) => new SymbolInformation(query, SymbolKind.Class, "Poem", place)),
  });
}

/** Waits until VS Code tells of a report on a document. */
function told(uri) {
  return new Promise((resolve) => {
    const listening = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      if (!uris.some((each) => String(each) === String(uri))) return;
      listening.dispose();
      resolve();
    });
  });
}

/** Has all that handrail reports published again: a setting has changed. */
function publishAgain() {
  const settings = vscode.workspace.getConfiguration("handrail");
  return settings.update("terminal.timeout", settings.get("terminal.timeout") + 1, vscode.ConfigurationTarget.Global);
}

let poem, beside, slow, hasty;
const shared = {};

module.exports = {
  "a document has an old problem": async () => {
    await ready();
    provide();
    vscode.workspace.onDidOpenTextDocument((document) => report(document));
    vscode.workspace.onDidChangeTextDocument(({ document }) => report(document));
    poem = await vscode.workspace.openTextDocument(uriOf("poem.txt"));
    await vscode.window.showTextDocument(poem);
    await until("it is shown", () => vscode.languages.getDiagnostics(poem.uri).length === 1);
    const reported = ["beside.txt", "slow.txt"].map((name) => told(uriOf(name)));
    beside = await vscode.workspace.openTextDocument(uriOf("beside.txt"));
    slow = await vscode.workspace.openTextDocument(uriOf("slow.txt"));
    await Promise.all(reported);
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document === slow) void publishAgain();
      if (document === hasty) for (const start = Date.now(); Date.now() - start < 120; ); // all is told later
    });
  },
  "a turn makes a new one and mends it": async () => {
    const { turn, session } = await command("handrail.turn.start", { prompt: "Go on." });
    shared.session = session;
    const report = await command("handrail.turn.wait", { turn });
    assert.equal(report.state, "finished");
    assert.equal(poem.getText(), "zero\none\nBAD old\nthree\ngood\n");
  },
  "what is told late of an earlier text is no report on the present one": async () => {
    await vscode.workspace.getConfiguration("handrail").update("review.marks", false, vscode.ConfigurationTarget.Global);
    hasty = await vscode.workspace.openTextDocument(uriOf("hasty.txt"));
    const { version } = hasty;
    const again = setInterval(() => {
      if (hasty.version === version) collection.set(hasty.uri, []); // up to the edit, and not a moment longer
      else clearInterval(again);
    }, 1);
    const { turn } = await command("handrail.turn.start", { prompt: "Go on.", ...shared });
    const report = await command("handrail.turn.wait", { turn });
    assert.equal(report.state, "finished");
    assert.equal(hasty.getText(), "BAD one\n");
  },
};
