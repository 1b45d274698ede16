/**
 * Save documents for the server, which has no other way to get an edit onto the disk.
 */
import { workspace } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { SaveParams, SaveResult } from "./protocol";

/**
 * Saves exactly the named documents.
 *
 * @returns Those that now have no unsaved text. A document that is not open, has no file yet or could not be written is
 * not among them.
 */
export async function answerSave({ uris }: SaveParams, client: LanguageClient): Promise<SaveResult> {
  const saved: string[] = [];
  for (const uri of uris) {
    if (await save(client.protocol2CodeConverter.asUri(uri).toString())) saved.push(uri);
  }
  return { saved };
}

async function save(uri: string): Promise<boolean> {
  const document = workspace.textDocuments.find((open) => open.uri.toString() === uri);
  if (document === undefined || document.isUntitled) return false;
  return !document.isDirty || document.save();
}
