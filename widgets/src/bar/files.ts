// Files that a person drops or chooses: read as text and sent to Python, as long as they fit into one message.
import { counted } from "../view/dom";
import type { Sync } from "../view/sync";

/** Jupyter closes the connection on a message of more than 10 MiB; JSON makes text longer. */
export const MAX_BYTES = 7 * 1024 * 1024;
const ENDINGS = /\.(json|ya?ml)$/i;

export interface ReadFiles {
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** Why nothing is sent, or what was left out; "" when all is well. */
  readonly problem: string;
}

/** Read JSON and YAML files; others are left out by name, and too much at once is refused with what to do instead. */
export async function readFiles(list: Iterable<File>): Promise<ReadFiles> {
  const all = [...list];
  const fitting = all.filter((file) => ENDINGS.test(file.name));
  const others = all.filter((file) => !ENDINGS.test(file.name)).map((file) => file.name);
  const bytes = fitting.reduce((sum, file) => sum + file.size, 0);
  if (bytes > MAX_BYTES) {
    const size = (bytes / 1024 / 1024).toFixed(1);
    return { files: [], problem: `${counted(fitting.length, "file")} of ${size} MB in all is too much for the browser, which sends at most 7 MB. Save it beside the notebook and give its path.` };
  }
  if (!fitting.length) return { files: [], problem: `${others.join(", ") || "Nothing"} is no .json, .yaml or .yml file.` };
  try {
    const files = await Promise.all(fitting.map(async (file) => ({ name: file.name, text: await file.text() })));
    return { files, problem: others.length ? `Left out, since they are no JSON or YAML: ${others.join(", ")}` : "" };
  } catch (error) {
    return { files: [], problem: `The files cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/**
 * Take files that are dropped on the planner that a view is part of, or on the view alone in a cell.
 *
 * The listeners stand on the document, since a view does not know the planner around it before it is put there; they run
 * before JupyterLab's own, which would upload the files.
 */
export function takeDrops<M extends object>(sync: Sync<M>, root: HTMLElement, take: (files: FileList) => void): void {
  const around = () => root.closest<HTMLElement>(".dra-lab") ?? root;
  const concerns = (event: DragEvent) => (event.dataTransfer?.types.includes("Files") ?? false) && around().contains(event.target as Node);
  const mark = (now: boolean) => around().classList.toggle("is-over", now);
  const on = (type: string, act: (event: DragEvent) => void) =>
    sync.listen<DragEvent>(
      document,
      type,
      (event) => {
        if (!concerns(event)) return;
        event.preventDefault();
        event.stopPropagation();
        act(event);
      },
      true,
    );
  on("dragover", () => mark(true));
  on("dragleave", (event) => mark(around().contains(event.relatedTarget as Node | null)));
  on("drop", (event) => {
    mark(false);
    if (event.dataTransfer) take(event.dataTransfer.files);
  });
}
