// Bundles each widget into one ES module and one style sheet beside the Python half: ../dra_lab/widgets/static/<stem>.{js,css}.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = join(here, "..", "dra_lab", "widgets", "static");
const watch = process.argv.includes("--watch");

/** The widgets, by the stem that both halves share. */
const STEMS = ["claim_canvas", "cluster_bar", "plan_view", "hardware_view"];

/**
 * Widgets whose program is carried as text, which is a module of its own that runs a moment later.
 *
 * anywidget gives a module two seconds to run through; later it drops every message to the widget for good. React and
 * what draws with it can take that long on a machine that is busy, a text is there at once.
 */
const LATE = ["claim_canvas"];

const entryPoints = STEMS.map((stem) => {
  const found = ["ts", "tsx"].map((ending) => join(here, "src", `${stem}.${ending}`)).filter(existsSync);
  if (found.length !== 1) throw new Error(`src/${stem}.ts or .tsx: expected one file, found ${found.length}`);
  return found[0];
});

const options = {
  entryPoints,
  outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: !watch,
  sourcemap: watch ? "inline" : false,
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  // Licences stay with the code that needs them: one LEGAL.txt a bundle, shipped in the wheel.
  legalComments: "linked",
  logLevel: "warning",
};

/** A module that is through at once, and shows something when the program in `source`, an ES module, has run. */
function runsLater(source) {
  return `const url = URL.createObjectURL(new Blob([${JSON.stringify(source)}], { type: "text/javascript" }));
const program = import(url).finally(() => URL.revokeObjectURL(url));
export default {
  async render(context) {
    const { default: widget } = await program;
    return context.signal?.aborted ? undefined : widget.render(context);
  },
};
`;
}

mkdirSync(outdir, { recursive: true });
if (watch) {
  const context = await esbuild.context(options);
  await context.watch();
  console.log("watching src/ ; Ctrl+C ends it");
} else {
  await esbuild.build(options);
  for (const stem of LATE) {
    const file = join(outdir, `${stem}.js`);
    writeFileSync(file, runsLater(readFileSync(file, "utf8")));
  }
  for (const file of readdirSync(outdir).filter((name) => /\.(js|css)$/.test(name))) {
    const bytes = readFileSync(join(outdir, file));
    console.log(
      file.padEnd(20),
      String(bytes.length).padStart(8),
      "bytes",
      String(gzipSync(bytes).length).padStart(8),
      "gzip",
    );
  }
}
