/**
 * What other extensions know of names, asked for by the server: where one is defined or used, and what a document defines.
 *
 * VS Code does not say whether an extension answers for a language at all: without one, nothing is found.
 */
import {
  commands,
  DocumentSymbol,
  Location,
  type LocationLink,
  Position,
  type Range,
  type SymbolInformation,
  type Uri,
} from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { ClientSymbol, NameLocation, NameParams, NameResult, SymbolsParams, SymbolsResult } from "./protocol";
import { rangeOf } from "./ranges";

/** The server reads no more places than one less. */
const LIMIT = 1_001;

/** Answers the server by one of VS Code's commands, `vscode.executeDefinitionProvider` or the like. */
export async function answerName(command: string, asked: NameParams, client: LanguageClient): Promise<NameResult> {
  const uri = client.protocol2CodeConverter.asUri(asked.uri);
  const position = new Position(asked.position.line, asked.position.character);
  const found = await commands.executeCommand<(Location | LocationLink)[] | undefined>(command, uri, position);
  const locations = (found ?? []).slice(0, LIMIT).map((each) =>
    each instanceof Location
      ? placeOf(each.uri, each.range, client)
      : placeOf(each.targetUri, each.targetSelectionRange ?? each.targetRange, client),
  );
  return { locations };
}

/** Answers the server with the symbols of a document, or with those of the workspace. */
export async function answerSymbols({ uri, query }: SymbolsParams, client: LanguageClient): Promise<SymbolsResult> {
  if (uri === undefined) {
    const found = await commands.executeCommand<SymbolInformation[] | undefined>(
      "vscode.executeWorkspaceSymbolProvider",
      query,
    );
    return { symbols: (found ?? []).slice(0, LIMIT).map((each) => symbolOf(each, client)) };
  }
  const document = client.protocol2CodeConverter.asUri(uri);
  const found = await commands.executeCommand<(SymbolInformation | DocumentSymbol)[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    document,
  );
  if (found === undefined) return {};
  const symbols: ClientSymbol[] = [];
  for (const each of found) addSymbol(symbols, each, document, client);
  return { symbols };
}

/** Adds a symbol and all below it. */
function addSymbol(
  symbols: ClientSymbol[],
  each: SymbolInformation | DocumentSymbol,
  document: Uri,
  client: LanguageClient,
  containerName?: string,
): void {
  if (symbols.length >= LIMIT) return;
  if ("location" in each && !("children" in each)) {
    symbols.push(symbolOf(each, client));
    return;
  }
  const { name, kind, selectionRange, children } = each as DocumentSymbol;
  symbols.push({
    name,
    kind: kind + 1,
    location: placeOf(document, selectionRange, client),
    ...(containerName === undefined ? {} : { containerName }),
  });
  for (const child of children) addSymbol(symbols, child, document, client, name);
}

function symbolOf({ name, kind, containerName, location }: SymbolInformation, client: LanguageClient): ClientSymbol {
  return {
    name,
    kind: kind + 1,
    location: placeOf(location.uri, location.range, client),
    ...(containerName ? { containerName } : {}),
  };
}

function placeOf(uri: Uri, range: Range, client: LanguageClient): NameLocation {
  return { uri: client.code2ProtocolConverter.asUri(uri), range: rangeOf(range) };
}
