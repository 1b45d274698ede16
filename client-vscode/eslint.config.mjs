import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

import l10n from "./eslint-l10n.mjs";

export default defineConfig(
  { ignores: ["out/", "bundled/"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts", "webview/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      complexity: ["error", 10],
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 60],
      "max-params": ["error", 5],
      // Numbers read well inside text; objects do not.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["src/**/*.ts", "webview/**/*.ts"],
    plugins: { l10n },
    rules: { "l10n/translated": "error" },
  },
  {
    // What is shown is escaped for its surface in one place.
    files: ["src/**/*.ts"],
    ignores: ["src/present.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "MemberExpression[object.name='window'][property.name=/^(show(Information|Warning|Error)Message|showQuickPick|createQuickPick|showInputBox|createInputBox|withProgress|setStatusBarMessage|createOutputChannel|createWebviewPanel|createTerminal)$/]",
          message: "Show it with present.ts, which escapes for the surface.",
        },
        { selector: "Identifier[name='MarkdownString']", message: "Markdown interprets what it shows; use plain text." },
      ],
    },
  },
  {
    // A page of ours makes elements and texts, never HTML of a text.
    files: ["webview/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|srcdoc|href|src)$/]",
          message: "Make elements with dom.ts: what is shown may be a model's text.",
        },
      ],
    },
  },
  { files: ["src/protocol.ts"], rules: { "max-lines": "off" } }, // made from the server's own values
  { files: ["*.mjs"], languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } } },
);
