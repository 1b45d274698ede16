// Runs steps inside VS Code's extension host, through the real API: those of the modules that the test names.
//
// Every step is recorded by name in the results file; a step that fails ends the run. The steps build on each other.
// A step named `reload` has the window reloaded, which begins this anew: what was done before is kept beside the results.
const fs = require("node:fs");
const vscode = require("vscode");
const { config, user } = require("./kit.cjs");

exports.run = async () => {
  const done = `${config.results}.done`;
  const results = { vscode: vscode.version, steps: fs.existsSync(done) ? JSON.parse(fs.readFileSync(done, "utf8")) : [] };
  const start = Date.now();
  try {
    for (const [name, step] of Object.entries(Object.assign({}, ...config.steps.map((name) => require(`./${name}.cjs`))))) {
      if (results.steps.some((before) => before.name === name)) continue;
      if (name === "reload") {
        fs.writeFileSync(done, JSON.stringify([...results.steps, { name, error: null }]));
        results.steps.push({ name, error: "the window was not reloaded; are there unsaved documents?" });
        await user({ sees: "Handrail", does: [["reload"]], picture: "reload" });
        await new Promise(() => undefined); // this extension host ends
      }
      results.steps.push({ name, error: "not run to its end" });
      const record = results.steps.at(-1);
      await step().then(
        () => (record.error = null),
        (thrown) => {
          record.error = String(thrown?.stack ?? thrown);
          throw thrown;
        },
      );
      record.seconds = (Date.now() - start) / 1000;
    }
  } finally {
    fs.writeFileSync(`${config.results}.tmp`, JSON.stringify(results, null, 1));
    fs.renameSync(`${config.results}.tmp`, config.results);
  }
};
