// Another extension finds fault with each line that has BAD in it; what a turn's edits broke is told to the model. It also
// answers where words are used, and says that each is defined where it stands first.
const assert = require("node:assert/strict");
const vscode = require("vscode");

const { command, ready, uriOf, until } = require("./kit.cjs");

const collection = vscode.languages.createDiagnosticCollection("other");

// As a server does that has something to compute; of one document only after our own marks of what was changed are there.
const msFor = ({ uri }) => (uri.path.endsWith("slow.txt") ? 600 : 100);

function report(document, afterMs = msFor(document)) {
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
  setTimeout(() => {
    if (document.version !== version) return;
    collection.set(document.uri, found);
    if (document === poem && beside !== undefined) report(beside, 0); // which depends on it
  }, afterMs);
}

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

let poem, beside;

module.exports = {
  "a document has an old problem": async () => {
    await ready();
    provide();
    vscode.workspace.onDidOpenTextDocument((document) => report(document));
    vscode.workspace.onDidChangeTextDocument(({ document }) => report(document));
    poem = await vscode.workspace.openTextDocument(uriOf("poem.txt"));
    await vscode.window.showTextDocument(poem);
    await until("it is shown", () => vscode.languages.getDiagnostics(poem.uri).length === 1);
    beside = await vscode.workspace.openTextDocument(uriOf("beside.txt"));
    await vscode.workspace.openTextDocument(uriOf("slow.txt"));
  },
  "a turn makes a new one and mends it": async () => {
    const { turn } = await command("handrail.turn.start", { prompt: "Go on." });
    const report = await command("handrail.turn.wait", { turn });
    assert.equal(report.state, "finished");
    assert.equal(poem.getText(), "zero\none\nBAD old\nthree\ngood\n");
  },
};
