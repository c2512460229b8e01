/** The text of a planner notebook, and what is read of one. No JupyterLab in here. */

export interface Cell {
  cell_type: string;
  source: string | string[];
  outputs?: unknown[];
}

export interface NotebookContent {
  nbformat: number;
  nbformat_minor: number;
  metadata: Record<string, unknown>;
  cells: Cell[];
}

/**
 * Write a fresh planner notebook, with a random mark in its metadata (auto_run.ts).
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
      dra_lab: { created: randomMark() },
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

/** Draw 128 random bits; `randomUUID` is missing on a page without https. */
function randomMark(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the mark that a planner notebook got when it was created; "" for any other notebook. */
export function markOf(notebook: NotebookContent): string {
  const mark = (notebook.metadata.dra_lab as { created?: unknown } | null | undefined)?.created;
  return typeof mark === "string" ? mark : "";
}

/** Return the code of a notebook; `_code` of jupyter_launch.py returns the same. */
export function codeOf(notebook: NotebookContent): string {
  const cells = notebook.cells.filter((cell) => cell.cell_type === "code");
  return cells.map((cell) => [cell.source].flat().join("")).join("\n\n");
}

/** Say whether a notebook has an output. */
export function hasRun(notebook: NotebookContent): boolean {
  return notebook.cells.some((cell) => cell.outputs?.length);
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
