// node grow.mjs CONFIG.json: shows texts in the page's own Prose, once whole and once as they grow, in a real browser.
// Prints a JSON list of the texts that do not look the same, or whose complete blocks were made anew.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(path.join(config.playwright, "/"))("playwright-core");
const { build } = createRequire(path.join(config.extension, "/"))("esbuild");
const { outputFiles } = await build({
  stdin: { contents: `export { Prose } from "./markdown";`, resolveDir: path.join(config.extension, "webview"), loader: "ts" },
  bundle: true,
  write: false,
  format: "iife",
  globalName: "page",
});

/** What the page makes of a text that comes in these pieces; and whether its first block, if complete, stays when more comes. */
function grown(pieces) {
  const nothing = () => undefined;
  const prose = new globalThis.page.Prose({ copy: nothing, apply: nothing, link: nothing });
  document.body.replaceChildren(prose.element);
  let text = "";
  for (const piece of pieces) {
    text += piece;
    prose.show(text);
  }
  const html = prose.element.outerHTML;
  const first = prose.element.childElementCount > 1 ? prose.element.firstElementChild : null;
  prose.show(`${text}\n\nThe end.`);
  return { html, isKept: first === null || first === prose.element.firstElementChild };
}

const browser = await chromium.launch({ executablePath: config.chromium, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  await page.addScriptTag({ content: outputFiles[0].text });
  const found = [];
  for (const text of config.texts) {
    const whole = await page.evaluate(grown, [text]);
    for (const steps of config.steps) {
      const size = Math.ceil(text.length / steps) || 1;
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [""]; // code units: characters may be cut
      const grew = await page.evaluate(grown, pieces);
      if (grew.html !== whole.html || !grew.isKept) found.push({ text, size, whole: whole.html, grown: grew.html });
    }
  }
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
}
