/**
 * Texts of messages that are made for the person: names of files that were dropped, and code that is to be applied.
 */
import { posix } from "node:path";
import { l10n, TabInputText, Uri, window, workspace } from "vscode";

import { counted, listed, UserError } from "../messages";

const SHOWN = 3; // names of files in a message

/** The files of a list of addresses as a message names them. Throws for what is not in the workspace. */
export function mentionsOf(list: string): string {
  const addresses = list.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const files = addresses.map((address) => Uri.parse(address));
  const outside = files.filter((file) => workspace.getWorkspaceFolder(file) === undefined);
  if (outside.length > 0) {
    const names = outside.slice(0, SHOWN).map(({ path }) => path);
    throw new UserError(
      counted(
        outside.length,
        l10n.t("{0} is outside the workspace. Copy what the model should see into the message.", listed(names)),
        l10n.t("{0} are outside the workspace. Copy what the model should see into the message.", listed(names)),
      ),
    );
  }
  return files.map(mentionOf).join(" ");
}

function mentionOf(file: Uri): string {
  const path = pathOf(file);
  return /\s/.test(path) ? `@"${path}"` : `@${path}`;
}

/**
 * A file of the workspace as the server names it: below its folder, and after that folder's name if there are several. A folder
 * may be called otherwise in VS Code.
 */
function pathOf(file: Uri): string {
  const folders = (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const folder = workspace.getWorkspaceFolder(file);
  const path = workspace.asRelativePath(file, false);
  if (folder === undefined || folders.length < 2) return path;
  const name = serverNames(folders.map(({ uri }) => posix.basename(uri.path) || "root"))[folders.findIndex(({ uri }) => uri.toString() === folder.uri.toString())];
  return name === undefined ? path : `${name}/${path}`;
}

/** A name for each of several folders: its own, with a number where an earlier one has it. */
function serverNames(wanted: readonly string[]): string[] {
  const names: string[] = [];
  for (const own of wanted) {
    let name = own;
    for (let number = 2; names.includes(name); number += 1) name = `${own}-${number}`;
    names.push(name);
  }
  return names;
}

/** What is said to have a block of code applied: to the document in front of the person, unless the block says where. */
export function applying(code: string, language: string): string {
  const fence = "`".repeat(Math.max(3, ...[...code.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
  const document = shownDocument();
  const request =
    document === undefined
      ? l10n.t("Apply this to the workspace, and change nothing else.")
      : l10n.t("Apply this to the workspace, and change nothing else. If it does not say where it belongs, it belongs in {0}.", mentionOf(document));
  return `${request}\n\n${fence}${language}\n${code}\n${fence}`;
}

function shownDocument(): Uri | undefined {
  const input: unknown = window.tabGroups.activeTabGroup.activeTab?.input;
  const uri = input instanceof TabInputText ? input.uri : undefined;
  const isOfWorkspace = uri !== undefined && workspace.getWorkspaceFolder(uri) !== undefined;
  return isOfWorkspace && !uri.path.includes("/.handrail/") ? uri : undefined;
}
