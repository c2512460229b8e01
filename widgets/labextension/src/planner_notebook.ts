/** The text of a planner notebook, and how to tell a planner cell from any other code. No JupyterLab in here. */

/** The flag in a notebook's metadata that asks for its planner cells to run when it opens. */
export const METADATA_KEY = "dra_lab";

export interface Cell {
  cell_type: string;
  source: string | string[];
}

export interface NotebookContent {
  nbformat: number;
  nbformat_minor: number;
  metadata: Record<string, unknown>;
  cells: Cell[];
}

/**
 * Write a fresh planner notebook.
 *
 * @param name the notebook's own name without its ending; the drawing file takes it, so no two notebooks share one
 * @param clusterFile name of a file beside the notebook to plan on, or null for the example
 */
export function plannerNotebook(name: string, clusterFile: string | null): NotebookContent {
  // File names are hostile: as JSON literals (which are Python literals too) they stay names.
  const file = `file=${JSON.stringify(`${name}.dralab.yaml`)}`;
  // `./` keeps a file called `sample:x` or `-` a file.
  const args = clusterFile === null ? file : `${JSON.stringify(`./${clusterFile}`)}, ${file}`;
  const title = clusterFile === null ? "# A plan" : `# A plan on ${markdownText(clusterFile)}`;
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {
      kernelspec: { name: "python3", display_name: "Python 3 (ipykernel)", language: "python" },
      [METADATA_KEY]: { run_on_open: true },
    },
    cells: [
      { cell_type: "markdown", id: "title", metadata: {}, source: title } as Cell,
      {
        cell_type: "code",
        id: "plan",
        // The planner is what counts; the code stays one click away.
        metadata: { jupyter: { source_hidden: true } },
        outputs: [],
        execution_count: null,
        source: ["from dra_lab import Lab", `lab = Lab(${args})`, "lab"].join("\n"),
      } as Cell,
    ],
  };
}

/** Quote text for one line of Markdown, whatever it holds. */
function markdownText(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]/g, " ").replace(/[\\`*_{}[\]()<>#+.!|~$&-]/g, "\\$&");
}

/** Say whether a notebook asks to be run when it opens. */
export function runsOnOpen(metadata: Record<string, unknown>): boolean {
  const ours = metadata[METADATA_KEY];
  return typeof ours === "object" && ours !== null && (ours as Record<string, unknown>).run_on_open === true;
}

// Strings as both JSON and Python read them. Control characters are out: a lone carriage return ends a line in Python.
const TEXT = String.raw`"(?:[^"\\\u0000-\u001f\u007f]|\\["\\bfnrt]|\\u[0-9a-fA-F]{4})*"`;
const NAME = "[A-Za-z][A-Za-z0-9_]*";
const LINES = [
  /^$/,
  /^#[\x20-\x7e]*$/,
  new RegExp(`^from dra_lab import ${NAME}(?:, ${NAME})*$`),
  new RegExp(`^lab(?:\\.${NAME})*$`),
];
const LAB = new RegExp(`^lab = Lab\\((?:(${TEXT})(?:, )?)?(?:file=(${TEXT}))?\\)$`);

/**
 * Say whether a cell does nothing but open the planner on files beside the notebook or on a sample.
 *
 * Only such a cell may run without a person asking for it: a notebook that came by mail must not run code because it
 * was opened. Live clusters, files elsewhere and calls of any other kind wait for a click.
 */
export function isPlannerCell(source: string): boolean {
  const lines = source.split("\n");
  let opens = 0;
  for (const line of lines) {
    const call = LAB.exec(line);
    if (call) {
      if (!isNearby(call[1]) || !isDrawing(call[2])) return false;
      opens += 1;
    } else if (!LINES.some((form) => form.test(line))) {
      return false;
    }
  }
  return opens === 1;
}

function isNearby(literal: string | undefined): boolean {
  if (literal === undefined) return true;
  const text = JSON.parse(literal) as string;
  if (/^sample:[A-Za-z0-9/_.-]+$/.test(text)) return !text.includes("..");
  if (!text.startsWith("./") && /[\\:]|^[/~]/.test(text)) return false;
  return !text.split(/[/\\]/).includes("..");
}

function isDrawing(literal: string | undefined): boolean {
  if (literal === undefined) return true;
  const text = JSON.parse(literal) as string;
  return text.endsWith(".dralab.yaml") && !/[/\\:~]/.test(text);
}

/** Say whether a name is one that a cluster's objects may be kept under. */
export function isClusterFile(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name) && !/\.dralab\.yaml$/i.test(name);
}

/** Choose the first of `plan`, `plan-2`, ... of which neither a notebook nor a drawing exists among `taken`. */
export function freshName(taken: Iterable<string>): string {
  const names = new Set(taken);
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? "plan" : `plan-${number}`;
    if (!names.has(`${name}.ipynb`) && !names.has(`${name}.dralab.yaml`)) return name;
  }
}
