// An ESLint rule: what a user reads goes through `l10n.t`, as one whole string that can be translated.
//
// What a string is for cannot be seen in it, so the rule goes by its looks: several words, or one with a capital letter, are
// prose. Texts for the log, types, comparisons and what VS Code's API is called are not.

const WORDS = /\p{L}[\p{L}’']*[,;:.!?]? [“(]?\p{L}/u;
const CAPITAL = /^\p{Lu}\p{Ll}+(…|:|\.)?$/u;
const BRANDS = new Set(["Handrail", "Handrail Review", "Anthropic", "OpenAI", "Ollama"]);
/** The names of events, keys and the like, which a program compares. */
const NAMES = new Set(["Enter", "Escape", "Tab"]);

function isProse(text) {
  const trimmed = text.trim().replace(/^Handrail: ?/, "");
  return !BRANDS.has(trimmed) && !NAMES.has(trimmed) && (WORDS.test(trimmed) || CAPITAL.test(trimmed));
}

/** Whether a call is that of `l10n.t` or `vscode.l10n.t`. */
function isTranslated({ type, callee }) {
  if (type !== "CallExpression" || callee.type !== "MemberExpression" || callee.property.name !== "t") return false;
  const { object } = callee;
  return object.name === "l10n" || object.property?.name === "l10n";
}

/** Whether a call writes to the log, which is for those who develop. */
function isLogged({ type, callee }) {
  if (type !== "CallExpression" || callee.type !== "MemberExpression") return false;
  const { object, property } = callee;
  return ["error", "warn", "info", "debug", "trace"].includes(property.name) && (object.name === "log" || object.property?.name === "log");
}

const UNREAD = new Set(["ImportDeclaration", "ExportNamedDeclaration", "ExportAllDeclaration", "TSLiteralType", "SwitchCase"]);
/** These log what was being done, and show the reason alone. */
const DOINGS = new Set(["showFailure"]);
const COMPARED = new Set(["===", "!==", "in"]);

function isUnread(node) {
  const { parent } = node;
  if (UNREAD.has(parent.type) && parent.declaration !== node) return true;
  if (parent.type === "BinaryExpression" && COMPARED.has(parent.operator)) return true;
  if (parent.type === "CallExpression" && DOINGS.has(parent.callee.name ?? parent.callee.property?.name)) return true;
  return (parent.type === "Property" || parent.type === "PropertyDefinition") && parent.key === node;
}

/** What style sheets and file systems read. */
function isForMachines({ type, key, callee }) {
  return (type === "Property" && key.name === "class") || (type === "CallExpression" && callee.object?.name === "path");
}

function isExempt(node) {
  if (isUnread(node)) return true;
  for (let each = node.parent; each; each = each.parent) if (isTranslated(each) || isLogged(each) || isForMachines(each)) return true;
  return false;
}

const rule = {
  meta: {
    type: "problem",
    messages: {
      wrap: "A user reads “{{text}}”: put all of the sentence into l10n.t, with {0} for what is put in.",
      literal: "The first argument of l10n.t is one string literal: that is what translators get.",
    },
  },
  create(context) {
    const report = (node, text) => {
      if (isProse(text) && !isExempt(node)) context.report({ node, messageId: "wrap", data: { text } });
    };
    return {
      Literal: (node) => {
        if (typeof node.value === "string") report(node, node.value);
      },
      TemplateLiteral: (node) => {
        report(node, node.quasis.map(({ value }) => value.cooked).join(" … "));
      },
      CallExpression: (node) => {
        const [first] = node.arguments;
        if (isTranslated(node) && (first?.type !== "Literal" || typeof first.value !== "string")) context.report({ node, messageId: "literal" });
      },
    };
  },
};

export default { rules: { translated: rule } };
