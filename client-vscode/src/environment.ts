/**
 * The private Python environment that holds the server carried in this extension.
 *
 * Every wheel has an environment of its own, named after the wheel's content. It is used only when its marker, which is
 * written last, is there: one that was left half made is never used and is removed later. Windows that start at the same
 * time may each make one; nothing is ever changed or moved under a running server.
 */
import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { type CancellationToken, commands, env, l10n, type LogOutputChannel, ProgressLocation } from "vscode";

import { messageOf, UserError, type Way } from "./messages";
import { showProgress } from "./present";
import { findPython } from "./python";

const MARKER = "installed.json";
const AGAIN = l10n.t("When that is fixed, run “Handrail: Restart Server”.");
const OFFLINE = l10n.t(
  "The usual cause is the network or the configuration of pip, such as a proxy or an index. Without a network, install handrail yourself from packages that were downloaded on another computer, and set handrail.serverPath to the path of its program.",
);
/** In a remote window, settings of the machine are those of the remote one. */
const openSettings = (query: string) =>
  // eslint-disable-next-line l10n/translated -- a part of a name
  commands.executeCommand(`workbench.action.open${env.remoteName === undefined ? "" : "Remote"}Settings`, { query });
export const SET_SERVER_PATH: Way = [l10n.t("Set Server Path"), () => openSettings("handrail.serverPath")];
const DAY_MS = 24 * 60 * 60 * 1000;

/** A program did not do what it should; the message is its last line. */
class ProgramFailed extends Error {}

/** What the environment is made from and where it goes. */
export interface Source {
  /** Folder that holds the one wheel. */
  wheels: string;
  /** Folder for the environments; ours alone. */
  storage: string;
}

/**
 * The Python of an environment in which the carried wheel is installed; makes the environment when needed, with progress.
 *
 * @throws UserError when the extension carries no wheel, no Python fits, the installation fails or the person cancels it.
 */
export async function environmentPython(source: Source, log: LogOutputChannel): Promise<string> {
  const wheel = await findWheel(source.wheels);
  const digest = createHash("sha256").update(await fs.readFile(wheel)).digest("hex");
  const prefix = `server-${digest.slice(0, 12)}-`;
  await fs.mkdir(source.storage, { recursive: true });
  const ready = await findReady(source.storage, prefix);
  if (ready !== undefined) {
    await removeOthers(source.storage, ready, log);
    return pythonIn(ready);
  }
  const made = await install(wheel, path.join(source.storage, prefix), log);
  return pythonIn(made);
}

async function findWheel(folder: string): Promise<string> {
  const names = existsSync(folder) ? await fs.readdir(folder) : [];
  const name = names.find((entry) => entry.endsWith(".whl"));
  if (name === undefined) {
    throw new UserError(
      l10n.t("This build of the extension does not include the server. Install handrail yourself, and set handrail.serverPath to the path of its program."),
    );
  }
  return path.join(folder, name);
}

async function findReady(storage: string, prefix: string): Promise<string | undefined> {
  const names = (await fs.readdir(storage)).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => path.join(storage, name))
    .find((folder) => existsSync(path.join(folder, MARKER)) && existsSync(pythonIn(folder)));
}

/** Removes environments of other wheels and half-made ones. Recent ones stay: another window may be using or making them. */
async function removeOthers(storage: string, keep: string, log: LogOutputChannel): Promise<void> {
  for (const name of await fs.readdir(storage)) {
    const folder = path.join(storage, name);
    if (folder === keep || !name.startsWith("server-")) continue;
    try {
      const { mtimeMs } = await fs.stat(folder);
      if (Date.now() - mtimeMs > DAY_MS) await fs.rm(folder, { recursive: true, force: true });
    } catch (thrown) {
      log.warn(`An environment that is no longer needed could not be removed: ${folder}`, thrown);
    }
  }
}

async function install(wheel: string, prefix: string, log: LogOutputChannel): Promise<string> {
  const options = { location: ProgressLocation.Notification, title: l10n.t("Handrail: preparing the server"), cancellable: true };
  return showProgress(options, async (report, token) => {
    report(l10n.t("looking for Python"));
    const python = await findPython(log);
    const folder = await fs.mkdtemp(prefix);
    try {
      report(l10n.t("creating a private Python environment"));
      await makeEnvironment(python, folder, log, token);
      report(l10n.t("installing the server (only the first time and after an update; needs the network)"));
      const pip = [pythonIn(folder), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"];
      await installWheel(pip, wheel, log, token);
      await fs.writeFile(path.join(folder, MARKER), JSON.stringify({ wheel: path.basename(wheel), python }, null, 2));
      return folder;
    } catch (thrown) {
      await fs.rm(folder, { recursive: true, force: true }).catch((left: unknown) => {
        log.warn(`A half-made environment could not be removed: ${folder}`, left); // a later start does
      });
      throw thrown;
    }
  });
}

async function makeEnvironment(python: string, folder: string, log: LogOutputChannel, token: CancellationToken): Promise<void> {
  try {
    await runLogged([python, "-I", "-m", "venv", folder], log, token);
  } catch (thrown) {
    if (!(thrown instanceof ProgramFailed)) throw thrown;
    throw new UserError(l10n.t("{0} could not create an environment for the server. It says: {1} {2}", python, messageOf(thrown), AGAIN));
  }
}

/** Installs the server with what contains commands, or without it where that cannot be had. */
async function installWheel(pip: string[], wheel: string, log: LogOutputChannel, token: CancellationToken): Promise<void> {
  try {
    await runLogged([...pip, `${wheel}[sandbox]`], log, token);
  } catch (thrown) {
    if (token.isCancellationRequested) throw thrown;
    log.warn("Installing the server with its sandbox packages failed; trying without them.", thrown);
    await installPlain(pip, wheel, log, token);
  }
}

async function installPlain(pip: string[], wheel: string, log: LogOutputChannel, token: CancellationToken): Promise<void> {
  try {
    await runLogged([...pip, wheel], log, token);
    log.warn("The server is installed without its own bubblewrap. On Linux, commands are still contained: by the system's bubblewrap if there is one, otherwise by Landlock if the kernel has it.");
  } catch (thrown) {
    if (!(thrown instanceof ProgramFailed)) throw thrown;
    throw new UserError(l10n.t("The server could not be installed. pip says: {0} {1}", messageOf(thrown), OFFLINE), [SET_SERVER_PATH]);
  }
}

function pythonIn(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

/** Runs a program to its end, its output going to the log; cancelling ends it. Throws ProgramFailed with its last line. */
async function runLogged([command = "", ...args]: string[], log: LogOutputChannel, token: CancellationToken): Promise<void> {
  log.info(`Running ${[command, ...args].join(" ")}`);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const stop = token.onCancellationRequested(() => child.kill());
  let tail = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-2000);
      log.info(text.trimEnd());
    });
  }
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("close", resolve);
    });
    if (token.isCancellationRequested) throw new UserError(l10n.t("The server was not installed, because you cancelled the installation."));
    if (code !== 0) throw new ProgramFailed(lastLine(tail));
  } finally {
    stop.dispose();
  }
}

/** The last line that names an error, else the last line: pip may add hints after the reason. */
function lastLine(text: string): string {
  const lines = text.trim().split(/\r?\n/).reverse();
  const line = (lines.find((each) => each.startsWith("ERROR: ")) ?? lines[0] ?? "").replace(/^ERROR: /, "").trim();
  return line === "" ? l10n.t("(no message)") : line.replace(/\.?$/, ".");
}
