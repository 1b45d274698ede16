// node drive.mjs CONFIG.json: opens VS Code's page in a real browser, has it run the host tests, and is the user that they
// ask for. Ends when the results file is there.
//
// A built VS Code ignores the test arguments in the address, so they are put into the page's own configuration before
// it loads. The authority must be the one in the address.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const DEADLINE_MS = 240_000;
const MOST_CLICKS = 3;
const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(path.join(config.playwright, "/"))("playwright-core");
const { host, origin } = new URL(config.url);
const address = `${config.url}?${new URLSearchParams(config.opens)}`;
const remote = (folder) => ({ $mid: 1, scheme: "vscode-remote", authority: host, path: folder });

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "handrail-chromium-"));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: config.chromium,
  headless: true,
  viewport: { width: 1280, height: 800 },
  args: [
    "--no-sandbox", // containers have none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  ],
});

/** Windows beside that of the tests, which the steps name by their numbers from 1 on. */
const others = [];

/** What no text may bring about: dialogs, and requests to others. */
const alarms = [];

/** What a user does: in the `place` that is looked at, which is the page or a frame of it. */
const ACTIONS = {
  drop: (_page, place, name, uris) => place.getByRole("textbox", { name }).evaluate(drop, uris),
  paste: (_page, place, name, file) => place.getByRole("textbox", { name }).evaluate(paste, file),
  look: (page, _place, isHere) => page.evaluate(look, isHere),
  post: (_page, place, messages) => place.parentFrame().evaluate(post, messages),
  texts: (_page, place, selector) => place.locator(selector).evaluateAll((found) => found.map((each) => each.textContent)), // in sight or not
  html: (_page, place, selector) => place.locator(selector).evaluateAll((found) => found.map((each) => each.outerHTML)),
  axe: (_page, place) => audit(place),
  tabs: (page, place) => tabThrough(page, place),
  tasks: (page, place) => longTasks(page, place),
  opens: (_page, place, name) => place.getByRole("button", { name }).last().evaluate(opens),
  select: (_page, place, name, value) => place.getByLabel(name, { exact: true }).selectOption(value),
  mark: (_page, place) => place.locator("body").evaluate((body) => body.setAttribute("data-marked", "")), // one that is loaded anew has no mark
  openWindow: async () => {
    others.push(await browser.newPage());
    await others.at(-1).goto(address);
  },
  closeWindow: (page) => page.close(),
  reload: (page) => page.reload({ waitUntil: "commit" }),
  value: (_page, place, name) => place.getByRole("textbox", { name }).inputValue(),
  hover: (_page, place, role, name) => place.getByRole(role, { name }).first().hover(),
  press: (page, _place, key) => page.keyboard.press(key),
  type: (page, _place, text) => page.keyboard.type(text),
  /** Clicks what a row shows only while the mouse is on it; a list that is drawn anew meanwhile forgets the mouse. */
  clickInRow: async (page, place, text, title) => {
    const hasText = text.startsWith("^") ? new RegExp(text) : text;
    const row = place.locator(".monaco-list-row").filter({ hasText }).first();
    for (let tries = 1; ; tries += 1) {
      await row.hover();
      const button = row.locator(`a[aria-label^="${title}"]`);
      try {
        return await button.click({ timeout: tries < MOST_CLICKS ? 5_000 : 30_000 });
      } catch (thrown) {
        if (tries === MOST_CLICKS || (await button.isVisible())) throw thrown;
        await page.mouse.move(0, 0);
      }
    }
  },
  /**
   * Clicks a button of a comment, which may show only while the mouse is there. If a text is to be seen then and is not,
   * clicks again, as a user does whose click met a comment that VS Code drew anew at that moment.
   */
  clickInComment: async (_page, place, text, title, brings = "") => {
    const comment = place.locator(".review-comment").filter({ hasText: text }).filter({ visible: true }).first();
    for (let clicks = 1; ; clicks += 1) {
      await comment.hover();
      await comment.locator(`a[aria-label^="${title}"]`).click();
      if (!brings) return clicks;
      const isThere = await place.getByText(brings).filter({ visible: true }).first().waitFor({ timeout: 5_000 }).then(() => true, () => false);
      if (clicks > 1) console.log(`"${title}" was clicked ${clicks} times`);
      if (isThere || clicks === MOST_CLICKS) return clicks;
    }
  },
  /**
   * Clicks an item of a menu. VS Code takes no click on a menu that it has shown for less than a tenth of a second; so if
   * the menu is still there, clicks again, as a user does.
   */
  choose: async (_page, place, name) => {
    const item = place.getByRole("menuitem", { name });
    for (let clicks = 1; ; clicks += 1) {
      await item.click();
      const isGone = await item.waitFor({ state: "hidden", timeout: 5_000 }).then(() => true, () => false);
      if (clicks > 1) console.log(`"${name}" was clicked ${clicks} times`);
      if (isGone || clicks === MOST_CLICKS) return clicks;
    }
  },
  clickTitle: (_page, place, title, at = 0) => place.locator(`a[aria-label^="${title}"]`).filter({ visible: true }).nth(at).click(),
  click: (_page, place, role, name, at = 0) => place.getByRole(role, { name }).nth(at).click(),
  clickText: (_page, place, text, exact = true) => place.getByText(text, { exact }).filter({ visible: true }).first().click(),
};

// ---- What happens in the page itself

/** Drops a list of addresses, as a drag from the Explorer does. */
function drop(element, uris) {
  const dataTransfer = new DataTransfer();
  dataTransfer.setData("application/vnd.code.uri-list", uris);
  element.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}

/** Pastes a file, whose bytes are given in base64. */
function paste(element, { name, type, base64 }) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], name, { type }));
  element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}

/** The user looks here, or elsewhere: a headless browser has the focus always, and is told otherwise. */
function look(isHere) {
  Document.prototype.hasFocus = () => isHere;
  document.dispatchEvent(new Event("visibilitychange")); // VS Code asks anew whether it has the focus
}

/** Sends to the extension in the frame around a webview's page, by the function that the page's script is given as its API. */
function post(messages) {
  for (const message of messages) window.__vscode_post_message__("onmessage", { message }, undefined);
}

/** Long tasks of the page's own since this was last asked, with where they begin; and marks the time. Runs in the page. */
function noteLongTasks() {
  window.longTasks ??= [];
  window.longTaskObserver ??= new PerformanceObserver((list) => {
    window.longTasks.push(...list.getEntries().filter(({ name }) => name === "self").map(({ startTime, duration }) => ({ startTime, duration })));
  });
  window.longTaskObserver.observe({ type: "longtask" });
  return { noted: window.longTasks.splice(0), now: performance.mark("handrail.asked").startTime };
}

/** Clicks a button that opens another conversation; the milliseconds until that is painted, and how many items it shows. */
async function opens(button) {
  const list = document.getElementById("items");
  const start = performance.now();
  const shown = new Promise((resolve) => new MutationObserver(() => list.childElementCount > 100 && resolve()).observe(list, { childList: true }));
  button.click();
  await shown;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return [performance.now() - start, list.childElementCount];
}

/** What axe-core finds in a frame: the rules that are broken, where, and how. */
async function audit(frame) {
  await frame.evaluate(fs.readFileSync(config.axe, "utf8"));
  const { violations } = await frame.evaluate(async () => {
    const { style } = document.documentElement; // it has no background: that of the side bar shines through, which axe cannot see
    style.background = "var(--vscode-sideBar-background)";
    const found = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    style.background = "";
    return found;
  });
  return violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map(({ html, any }) => [html.slice(0, 200), ...any.map(({ message }) => message)]) }));
}

/**
 * Goes through a frame with Tab, from its first control on.
 *
 * Returns what is wrong: controls that the key does not reach, those that it reaches in another order than they stand in, those
 * that do not show that they have the focus, and those that are not wholly in the frame from left to right. Begins anew if the
 * page makes a control anew meanwhile.
 */
async function tabThrough(page, frame) {
  for (let tries = 1; ; tries += 1) {
    const names = await frame.evaluate(findTabStops, true);
    const reached = [];
    await page.keyboard.press("Tab");
    await page.keyboard.press("Shift+Tab"); // back at the first one by keyboard, so that it shows the focus as well
    for (;;) {
      const at = await frame.evaluate(tabStopInFocus);
      if (at.index < 0 || reached.some(({ index }) => index === at.index)) break; // it has left the frame
      reached.push(at);
      await page.keyboard.press("Tab");
    }
    if (!(await frame.evaluate(findTabStops, false)) && tries < 10) continue;
    const told = (what, wrong) => wrong.map(({ index }) => `${what}: ${names[index]}`);
    return [
      ...names.filter((_, at) => !reached.some(({ index }) => index === at)).map((name) => `not reached: ${name}`),
      ...told("out of order", reached.filter(({ index }, order) => order > 0 && index < reached[order - 1].index)),
      ...told("no visible focus", reached.filter(({ isSeen }) => !isSeen)),
      ...told("cut off", reached.filter(({ isCut }) => isCut)),
    ];
  }
}

/**
 * Finds what Tab must reach, in the order of the page. Runs in the page.
 *
 * Gives the first one the focus and returns all names; or, at the end, says whether they are still the same ones.
 */
function findTabStops(isBegin) {
  const controls = [...document.querySelectorAll("button, select, textarea, input, summary, [tabindex]:not([tabindex='-1'])")];
  const stops = controls.filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled);
  if (!isBegin) return stops.length === window.tabStops.length && stops.every((each, at) => each === window.tabStops[at]);
  window.tabStops = stops;
  stops[0].focus();
  return stops.map((each) => each.getAttribute("aria-label") ?? each.textContent.slice(0, 80));
}

/** Which one has the focus, whether that is seen, and whether it sticks out at a side. Runs in the page. */
function tabStopInFocus() {
  const index = window.tabStops.indexOf(document.activeElement);
  if (index < 0) return { index };
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(document.activeElement);
  const { left, right } = document.activeElement.getBoundingClientRect();
  const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) > 0 && !/, 0\)$|^transparent$/.test(outlineColor);
  return { index, isSeen, isCut: left < 0 || right > innerWidth };
}

/** The texts that style sheets put behind elements. Runs in the page. */
const textsBehind = (elements) =>
  elements.map((element) => globalThis.getComputedStyle(element, "::after").content).filter((text) => text.startsWith('"')).map((text) => JSON.parse(text));

/** Ends the trace of the browser's tasks, and returns its events. */
let endTrace;

/** The long tasks of a page since this was last asked: the milliseconds that each took, and those that the processor worked for it. */
async function longTasks(page, place) {
  const { noted, now } = await place.evaluate(noteLongTasks);
  const events = (await endTrace?.()) ?? [];
  endTrace = await trace(page);
  const asked = events.findLast(({ name }) => name === "handrail.asked");
  return noted.map(({ startTime, duration }) => {
    const start = asked.ts + (startTime - now) * 1000;
    const shared = ({ ts, dur }) => Math.min(ts + dur, start + duration * 1000) - Math.max(ts, start);
    const same = events.filter(({ ph, name, pid, tid }) => ph === "X" && name.endsWith("RunTask") && pid === asked.pid && tid === asked.tid);
    const task = same.reduce((best, each) => (shared(each) > shared(best) ? each : best));
    return { took: duration, worked: task.tdur / 1000 };
  });
}

/** Begins to trace what the browser does, as Chrome's own tools do. */
async function trace(page) {
  const browserTools = await browser.newCDPSession(page);
  const events = [];
  browserTools.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  await browserTools.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel", "blink.user_timing"] } });
  return async () => {
    const complete = new Promise((resolve) => browserTools.once("Tracing.tracingComplete", resolve));
    await browserTools.send("Tracing.end");
    await complete;
    return events;
  };
}

/** The frame that has an element; a view that is just being loaded is waited for. */
async function frameWith(page, selector) {
  for (const start = Date.now(); Date.now() - start < 20_000; ) {
    for (const frame of page.frames()) {
      if (await frame.locator(selector).count().catch(() => 0)) return frame;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`No frame has ${selector}.`);
}

/**
 * Waits for what the host tests say the user sees, takes a picture if they name one, and does what the user does then.
 *
 * Returns the texts of what is visible of each CSS selector that the tests want to read.
 */
async function beUser(page, { sees, lacks, does, reads, behind, frame, isInList, shoots }, picture) {
  const place = frame ? await frameWith(page, frame) : page;
  const spot = isInList ? place.locator(".quick-input-widget") : place;
  const visible = (text) => spot.getByText(text).or(spot.getByPlaceholder(text)).filter({ visible: true });
  await visible(sees).first().waitFor({ timeout: 20_000 }).catch(async (thrown) => {
    throw new Error(`${thrown.message}\nOn the page: ${await place.locator("body").innerText()}`);
  });
  if (shoots) await page.screenshot({ path: picture });
  if (lacks) await visible(lacks).first().waitFor({ state: "detached", timeout: 5_000 });
  const texts = {};
  for (const [name, selector] of Object.entries(reads)) texts[name] = await place.locator(selector).filter({ visible: true }).allInnerTexts();
  for (const [name, selector] of Object.entries(behind)) texts[name] = await place.locator(selector).evaluateAll(textsBehind);
  const returned = [];
  for (const [action, ...details] of does) returned.push(await ACTIONS[action](page, place, ...details));
  return { ...texts, alarms, returned };
}

/** Answers a request of the host tests with a `.done` file: what was read, or what went wrong. */
async function answer(page, request) {
  const file = path.join(config.pictures, request);
  const picture = file.replace(/\.request$/, ".png");
  const answer = { problem: "", texts: {} };
  const asked = JSON.parse(fs.readFileSync(file, "utf8"));
  const window = asked.window > 0 ? others[asked.window - 1] : page;
  try {
    answer.texts = await beUser(window, asked, picture);
  } catch (thrown) {
    answer.problem = thrown.message;
    await window.screenshot({ path: picture }).catch(() => undefined); // the window may be what is gone
  }
  fs.writeFileSync(`${file}.done`, JSON.stringify(answer));
  fs.rmSync(file);
}

/** Stops what turns or blinks. Runs in each frame. */
function standStill() {
  const still = new CSSStyleSheet();
  still.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important; }");
  document.adoptedStyleSheets.push(still);
}

try {
  if (!config.moves) await browser.addInitScript(standStill);
  await browser.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  const page = browser.pages()[0] ?? (await browser.newPage());
  page.on("pageerror", (error) => console.log("page error:", error.message));
  page.on("dialog", (dialog) => {
    alarms.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  browser.on("request", (request) => {
    if (new URL(request.url()).hostname.endsWith("example.org")) alarms.push(`request: ${request.url()}`);
  });
  // VS Code's own strings need a language pack; this is how the page of one says what its language is.
  if (config.language) await page.addInitScript((language) => (globalThis._VSCODE_NLS_LANGUAGE = language), config.language);
  await page.addInitScript(
    (options) => {
      const get = Element.prototype.getAttribute;
      Element.prototype.getAttribute = function (name) {
        const value = get.call(this, name);
        if (name !== "data-settings" || this.id !== "vscode-workbench-web-configuration") return value;
        const settings = JSON.parse(value);
        return JSON.stringify({ ...settings, developmentOptions: { ...settings.developmentOptions, ...options } });
      };
    },
    { extensions: [remote(config.tests)], extensionTestsPath: remote(path.join(config.tests, "index.cjs")) },
  );
  await page.goto(address);
  for (const start = Date.now(); !fs.existsSync(config.results); ) {
    if (Date.now() - start > DEADLINE_MS) throw new Error("The host tests never ended.");
    for (const request of fs.readdirSync(config.pictures).filter((name) => name.endsWith(".request"))) {
      await answer(page, request);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await page.screenshot({ path: path.join(config.pictures, "end.png") });
  console.log("shown at the end:", await page.locator(".notification-toast .notification-list-item-message").allInnerTexts());
} catch (thrown) {
  console.log(thrown.message);
  process.exitCode = 1;
} finally {
  await browser.close();
  fs.rmSync(profile, { recursive: true, force: true });
}
