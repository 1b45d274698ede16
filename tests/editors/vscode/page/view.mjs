// node view.mjs CONFIG.json: the chat view's whole page in a real browser, with this program in the place of the extension.
// Shows it what only another server or something that fails brings about. Prints a JSON list of the steps that went wrong.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(path.join(config.playwright, "/"))("playwright-core");
const { build } = createRequire(path.join(config.extension, "/"))("esbuild");
const webview = path.join(config.extension, "webview");
const { outputFiles } = await build({
  entryPoints: [path.join(webview, "main.ts")],
  alias: { vscode: path.join(webview, "vscode.ts") },
  bundle: true,
  write: false,
  format: "iife",
});

const STATUS = { title: "Taxes", model: "m", mode: "edit" };
const CALL = { kind: "call", id: "c", turn: "t", call: "c", tool: "read", title: "Read prices.py", state: "done" };
const QUESTION = { kind: "vault", id: "a", session: "s", turn: "t", call: "c", tool: "vault", subject: "the vault", detail: "", choices: ["deny", "allow"], secondsLeft: 60 };
let page;

const tell = (message) => page.evaluate((data) => window.dispatchEvent(new MessageEvent("message", { data, origin: window.origin })), message);
const show = (items, status = {}) => tell({ type: "whole", session: "s", status: { ...STATUS, ...status }, items });
const fail = (text, about = "doing") => tell({ type: "failed", about, doing: "That could not be done", text });
const complaint = () => page.locator(".failure[role=alert]").textContent();
const said = (type) => page.evaluate((wanted) => window.said.filter((each) => each.type === wanted), type);
const textOf = (selector) => page.locator(selector).innerText();
const message = () => page.getByLabel("Your message");
const mode = () => page.locator("select");

const STEPS = {
  "a mode that only a newer server knows is called as the server calls it": async () => {
    await show([], { mode: "dream" });
    assert.equal(await mode().evaluate((each) => each.selectedOptions[0]?.text), "dream");
    await show([], { mode: "plan" });
    assert.deepEqual(await mode().evaluate((each) => [...each.options].map(({ text }) => text)), ["Edit", "Ask", "Plan"]);
    assert.equal(await mode().inputValue(), "plan");
  },
  "a mode that could not be chosen is not shown as if it were": async () => {
    await show([], { mode: "edit" });
    await mode().selectOption("plan");
    assert.deepEqual(await said("mode"), [{ type: "mode", mode: "plan" }]);
    await fail("The server ended.");
    assert.equal(await mode().inputValue(), "edit");
    assert.match(await textOf(".failure[role=alert]"), /The server ended\./);
  },
  "a conversation that could not be read is complained about until it was read": async () => {
    await fail("The server is busy.", "reading");
    assert.match(await complaint(), /The server is busy\./);
    await show([]);
    assert.equal(await complaint(), "");
    await fail("The server ended.");
    await show([]);
    assert.match(await complaint(), /The server ended\./, "that was about something else");
  },
  "a failing completion neither hides an earlier complaint nor lets a message be sent twice": async () => {
    await show([]);
    await message().fill("Raise the tax.");
    await fail("No completions.", "completing");
    assert.match(await complaint(), /No completions\./);
    await tell({ type: "offers", number: 0, offers: { typed: "", offers: [] } });
    assert.equal(await complaint(), "", "completing works again");
    const before = (await said("say")).length;
    await message().press("Enter");
    await fail("The server ended.", "reading");
    await fail("No completions.", "completing");
    assert.match(await complaint(), /The server ended\./);
    await message().press("Enter");
    assert.equal((await said("say")).length, before + 2, "the first failure lets it be sent again");
    await fail("No completions.", "completing");
    await message().press("Enter");
    assert.equal((await said("say")).length, before + 2, "the second does not");
    await tell({ type: "said", text: "Raise the tax." });
  },
  "states that only a newer server knows are called as the server calls them": async () => {
    await show([
      { ...CALL, state: "paused", todos: [{ text: "raise the tax", state: "blocked" }] },
      { kind: "told", id: "w", turn: "t", text: "And the rest?", state: "translated" },
      { kind: "prompt", id: "p", turn: "t", text: "Raise the tax.", state: "outvoted", reason: "too few were there" },
    ]);
    const texts = await page.locator("#items").evaluate((each) => each.textContent);
    assert.doesNotMatch(texts, /undefined|\{0\}/);
    for (const text of ["paused: Read prices.py", "blocked: raise the tax", "translated", "outvoted: too few were there"]) assert(texts.includes(text), `${text} in ${texts}`);
  },
  "a message that the model read during a turn says whether the person or Handrail sent it": async () => {
    const read = { kind: "told", turn: "t", text: "Mind the tests.", state: "read" };
    const shown = async (...items) => {
      await show(items);
      return textOf("#items");
    };
    assert.match(await shown({ ...read, id: "a", sender: "user" }), /^You sent this while the turn was running:/);
    assert.match(await shown({ ...read, id: "b", sender: "handrail" }), /^Handrail told the model:/);
    assert.match(await shown({ ...read, id: "c" }), /^The model was told:/, "an older server does not say who sent it");
  },
  "what is undone at a line of a list may be no turn": async () => {
    await show([{ kind: "remark", id: "r", text: "- 12:00: undo of prices.py", checkpoint: "q" }]);
    await page.getByRole("button", { name: "Undo these changes" }).click();
    assert.deepEqual(await said("undo"), [{ type: "undo", turn: "q" }]);
  },
  "a question of a kind that only a newer server knows has a heading": async () => {
    await show([{ kind: "question", id: "q", turn: "t", subject: "the vault", approval: QUESTION, until: "2026-01-01T00:00:00Z" }]);
    assert.equal(await textOf("[data-question] [role=heading]"), "Handrail asks: vault");
    assert.match(await textOf("[data-question]"), /the vault/);
    assert.equal(await page.locator("[aria-live=polite]").textContent(), "Handrail is waiting for your answer. Handrail asks: vault");
  },
  "what follows when a question times out depends on who asks it": async () => {
    const asked = (kind) => [{ kind: "question", id: "q", turn: "t", subject: "the vault", approval: { ...QUESTION, kind }, until: "2026-01-01T00:00:00Z" }];
    await show(asked("command"));
    assert.match(await textOf("[data-until]"), /the answer is no\.$/);
    await show(asked("question"));
    assert.match(await textOf("[data-until]"), /the turn continues without one\.$/);
  },
  "an item that lacks what it always had does not take the others away": async () => {
    await show([{ ...CALL, title: undefined }, { kind: "hologram", id: "h" }, { kind: "words", id: "x", turn: "t", text: "All is well." }]);
    const texts = await textOf("#items");
    assert.equal(texts.match(/cannot show this part of the conversation/g)?.length, 2);
    assert.match(texts, /All is well\./);
  },
  "a message that is being sent is not sent twice": async () => {
    await show([]);
    await message().fill("Raise the tax.");
    await message().press("Enter");
    await message().press("Enter");
    assert.equal((await said("say")).length, 1);
    await fail("The server ended.");
    await message().press("Enter");
    assert.equal((await said("say")).length, 2, "after a failure it can be sent again");
    await tell({ type: "said", text: "Raise the tax." });
    assert.equal(await message().inputValue(), "");
    await message().fill("Raise the tax.");
    await message().press("Enter");
    assert.equal((await said("say")).length, 3, "the same can be said again");
  },
  "an edited message that could not be sent is still there": async () => {
    await show([{ kind: "prompt", id: "p", turn: "t", text: "Raise the tax.", state: "finished", resend: true }]);
    await page.getByRole("button", { name: "Edit and resend" }).click();
    await message().fill("Lower the tax.");
    await message().press("Enter");
    assert.deepEqual(await said("resend"), [{ type: "resend", turn: "t", text: "Lower the tax." }]);
    await fail("The server ended.");
    assert.equal(await message().inputValue(), "Lower the tax.");
    await message().press("Enter");
    assert.equal((await said("resend")).length, 2, "it still takes the place of the earlier one");
    await tell({ type: "said", text: "Lower the tax." });
    assert.equal(await message().inputValue(), "");
    assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
  },
  "a picture that cannot be read is told": async () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "handrail-page-")), "chart.png");
    fs.writeFileSync(file, "a picture");
    await page.evaluate(() => document.body.append(Object.assign(document.createElement("input"), { type: "file", id: "file" })));
    await page.locator("#file").setInputFiles(file);
    fs.rmSync(path.dirname(file), { recursive: true });
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(document.getElementById("file").files[0]);
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    });
    await page.getByText("chart.png could not be read").waitFor({ timeout: 2_000 });
  },
};

const browser = await chromium.launch({ executablePath: config.chromium, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
const wrong = [];
try {
  for (const [name, step] of Object.entries(STEPS)) {
    page = await browser.newPage();
    page.on("pageerror", (error) => wrong.push(`${name}: thrown in the page: ${error.message}`));
    await page.setContent('<!DOCTYPE html><html lang="en"><body><div id="handrail-chat"></div></body></html>');
    await page.evaluate(() => {
      window.said = [];
      window.acquireVsCodeApi = () => ({ postMessage: (each) => window.said.push(each), getState: () => undefined, setState: () => undefined });
    });
    await page.addScriptTag({ content: outputFiles[0].text });
    await step().catch((thrown) => wrong.push(`${name}: ${thrown.message}`));
    await page.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(wrong));
