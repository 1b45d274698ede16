/**
 * Find a Python that the server can run on, and run programs.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { env, l10n, type LogOutputChannel, Uri } from "vscode";

import { messageOf, UserError, type Way } from "./messages";

const run = promisify(execFile);

const LOWEST = [3, 11] as const;
const INSTALL = l10n.t("Install Python 3.11 or newer, then run “Handrail: Restart Server”.");
const DOWNLOADS: Way = [l10n.t("Get Python"), () => env.openExternal(Uri.parse("https://www.python.org/downloads/"))];

/**
 * Names to try, in order. The plain name comes first because it is the one the person chose; the numbered ones find
 * a newer Python beside an old default, as on macOS.
 */
const CANDIDATES: readonly (readonly string[])[] = [
  ["python3"],
  ["python"],
  ["python3.14"],
  ["python3.13"],
  ["python3.12"],
  ["python3.11"],
  ...(process.platform === "win32" ? [["py", "-3"]] : []),
];

// eslint-disable-next-line l10n/translated -- a program
const PROBE = `
import importlib.util, json, sys
print(json.dumps({
    "executable": sys.executable,
    "version": list(sys.version_info[:3]),
    "venv": all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")),
}))`;

interface Probe {
  executable: string;
  version: number[];
  venv: boolean;
}

/**
 * The absolute path of a Python that is new enough and can make environments.
 *
 * @throws UserError when there is none; it says what is there and what to install.
 */
export async function findPython(log: LogOutputChannel): Promise<string> {
  const found: Probe[] = [];
  for (const candidate of CANDIDATES) {
    const probe = await ask(candidate, log);
    if (probe === undefined) continue;
    if (isNewEnough(probe) && probe.venv) return probe.executable;
    found.push(probe);
  }
  throw whatIsMissing(found);
}

async function ask([command = "", ...args]: readonly string[], log: LogOutputChannel): Promise<Probe | undefined> {
  try {
    const { stdout } = await run(command, [...args, "-I", "-c", PROBE], { timeout: 20_000 });
    return JSON.parse(stdout) as Probe;
  } catch (thrown) {
    log.info(`${command} is not used: ${reasonOf(thrown)}`);
    return undefined; // no such program, or one that is no Python (such as the Windows store's stub)
  }
}

/** Why a program gave no answer: the code that it ended with, and the last thing that it said. */
function reasonOf(thrown: unknown): string {
  const { code, signal, stderr = "" } = thrown as { code?: number | string; signal?: string; stderr?: string };
  return `${code ?? signal ?? messageOf(thrown)} ${stderr.trim().split("\n").at(-1) ?? ""}`.trim();
}

function isNewEnough({ version: [major = 0, minor = 0] }: Probe): boolean {
  return major > LOWEST[0] || (major === LOWEST[0] && minor >= LOWEST[1]);
}

function whatIsMissing(found: Probe[]): UserError {
  const capable = found.find(isNewEnough);
  if (capable !== undefined) {
    const [major = 3, minor = 11] = capable.version;
    return new UserError(
      l10n.t(
        "{0} cannot create virtual environments: its module venv or ensurepip is missing. On Debian or Ubuntu, install the package {1}; elsewhere, install a complete Python. Then run “Handrail: Restart Server”.",
        capable.executable,
        `python${major}.${minor}-venv`,
      ),
    );
  }
  const old = found[0];
  if (old !== undefined) {
    return new UserError(l10n.t("The server needs Python 3.11 or newer; {0} is {1}. {2}", old.executable, old.version.join("."), INSTALL), [DOWNLOADS]);
  }
  return new UserError(l10n.t("The server needs Python 3.11 or newer, and none was found on the PATH. {0}", INSTALL), [DOWNLOADS]);
}
