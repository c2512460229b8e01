// Bundles each widget into one ES module and one style sheet beside the Python half:
// ../dra_lab/widgets/static/<stem>.{js,css}, and the program of a plan's page into ../dra_lab/pictures/static.
// The JupyterLab extension gets the same widgets with the parts that they share, such as React, in files of their own
// (labextension/programs). Other front ends get a widget's program as one text, which cannot import a file.

import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = join(here, "..", "dra_lab", "widgets", "static");
const watch = process.argv.includes("--watch");

/** The widgets, by the stem that both halves share. */
const STEMS = ["claim_canvas", "cluster_bar", "plan_view", "hardware_view", "lesson_view"];

const options = {
  entryPoints: STEMS.map((stem) => join(here, "src", `${stem}.ts`)),
  outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: !watch,
  sourcemap: watch ? "inline" : false,
  jsx: "automatic",
  // A browser has no `process`; where one is named, JupyterLab's builder would add a copy of Node's.
  define: { "process.env.NODE_ENV": '"production"', process: "undefined" },
  // Licences stay with the code that needs them: one LEGAL.txt a bundle, shipped in the wheel.
  legalComments: "linked",
  logLevel: "warning",
};

/** The program of a plan's page is a script in the page itself and no module. */
const page = {
  ...options,
  entryPoints: [join(here, "src", "plan_page.ts")],
  outdir: join(here, "..", "dra_lab", "pictures", "static"),
  format: "iife",
};

const shared = { ...options, outdir: join(here, "labextension", "programs"), splitting: true, legalComments: "none" };

mkdirSync(outdir, { recursive: true });
if (watch) {
  const context = await esbuild.context(options);
  await context.watch();
  await (await esbuild.context(page)).watch();
  await (await esbuild.context(shared)).watch();
  console.log("watching src/ ; Ctrl+C ends it");
} else {
  await esbuild.build(options);
  await esbuild.build(page);
  rmSync(shared.outdir, { recursive: true, force: true });
  await esbuild.build(shared);
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
