/**
 * The sample of the walkthrough: a small unsaved document, and a reply whose edits land in it as those of any reply do.
 *
 * The document is untitled, so that trying Handrail leaves no file behind.
 */
import { commands, l10n, type LogOutputChannel, Selection, type TextDocument, type Uri, window, workspace } from "vscode";

import type { Connection } from "../connection";
import { announce, UserError } from "../messages";
import { TURN_APPLY, type TurnReport } from "../protocol";
import { summary } from "../summary";

/** Context key: the sample has been tried. The walkthrough ticks its step off then. */
const TRIED = "handrail.sampleTried";
const TITLE = l10n.t("Try Handrail on a sample");
const UNTRUSTED = l10n.t("This workspace is not trusted, so Handrail may not edit. Trust it (Manage Workspace Trust), then try the sample again.");
const TOO_OLD = l10n.t("This Handrail server is too old for the sample. Clear the setting handrail.serverPath, or update that server.");

// eslint-disable-next-line l10n/translated -- code
const TEXT = `# ${l10n.t("A sample for Handrail. It is not saved anywhere.")}

TAX = 0.19


def total(prices):
    return sum(prices) * (1 + TAX)


def receipt(prices):
    return "Total: " + str(total(prices))


print(receipt([10, 20]))
`;

const EDITS: readonly (readonly [old: string, now: string])[] = [
  ["TAX = 0.19", "TAX = 0.21"],
  // eslint-disable-next-line l10n/translated -- code
  ['    return "Total: " + str(total(prices))', '    return f"Total: {total(prices):.2f}"'],
];

/** The reply as a model would write it: SEARCH/REPLACE blocks for the document. */
function replyFor(uri: Uri): string {
  const name = uri.toString();
  return EDITS.map(([old, now]) => `${name}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`).join("\n");
}

/** Opens the sample, applies the reply to it and says what to look at. */
export async function trySample(connection: Connection, log: LogOutputChannel): Promise<TurnReport> {
  if (!workspace.isTrusted) throw new UserError(UNTRUSTED);
  await connection.start();
  if (!connection.offers(TURN_APPLY)) throw new UserError(TOO_OLD);
  const document = await workspace.openTextDocument({ content: TEXT, language: "python" });
  await window.showTextDocument(document);
  const { report } = await connection.request(TURN_APPLY, { edits: replyFor(document.uri), title: TITLE });
  await showChange(document);
  const isFine = report.state === "finished" && report.outcomes.every(({ status }) => status === "landed");
  if (isFine) await commands.executeCommand("setContext", TRIED, true);
  announce(log, summary(report), isFine, [[l10n.t("Review"), () => commands.executeCommand("handrail.client.review.focus")]]);
  return report;
}

async function showChange(document: TextDocument): Promise<void> {
  const place = document.positionAt(Math.max(0, document.getText().indexOf("TAX = ")));
  await window.showTextDocument(document, { selection: new Selection(place, place) });
}
