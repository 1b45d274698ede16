/**
 * Which server to start: the one the person named, else the one that this extension carries.
 */
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import type { ExtensionContext, LogOutputChannel } from "vscode";
import { l10n, workspace } from "vscode";
import type { Executable } from "vscode-languageclient/node";

import { environmentPython } from "./environment";
import { UserError } from "./messages";

/**
 * The program and arguments of a server that is there and can be started.
 *
 * @throws UserError when it is not there and cannot be installed.
 */
export async function findServer(context: ExtensionContext, log: LogOutputChannel): Promise<Executable> {
  // Not in the open folder: some systems look for programs there first.
  const cwd = context.globalStorageUri.fsPath;
  await fs.mkdir(cwd, { recursive: true });
  const chosen = workspace.getConfiguration("handrail").get<string>("serverPath", "").trim();
  if (chosen !== "") {
    if (!existsSync(chosen)) {
      throw new UserError(l10n.t("There is no program at {0}. Correct the setting handrail.serverPath, or clear it.", chosen));
    }
    return { command: chosen, args: ["serve"], options: { cwd } };
  }
  const wheels = context.asAbsolutePath("bundled");
  const python = await environmentPython({ wheels, storage: cwd }, log);
  // Isolated (-I): Python must not look for modules in the folder that happens to be open.
return { command: python, args: ["-I", "-m", "handrail", "serve"], options: { cwd } };
}
