import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { Widget } from "@lumino/widgets";
import type { NotebookPanel } from "./auto_run";

/** The DOM event by which a widget asks for a tab of its own; `detail.element` is any element of it. */
export const EVENT = "dra-lab:open-in-tab";

/** JupyterLab's command for it; Notebook 7 has it too, but no tabs: only JupyterLab's shell has a `mode`. */
const SHOW = "notebook:create-output-view";

/**
 * Show the output of the notebook cell that holds `element` in a tab of its own, without the code.
 *
 * @returns whether there was such a cell: an output that already has its own tab, or another page, has none
 */
export async function openInTab(app: JupyterFrontEnd, element: Element | null): Promise<boolean> {
  const node = element?.closest(".jp-Notebook .jp-Cell");
  const open = [...app.shell.widgets("main")];
  const panel = open.find((widget) => node && widget.node.contains(node)) as NotebookPanel | undefined;
  const index = panel?.content?.widgets?.findIndex((cell) => cell.node === node) ?? -1;
  if (!panel || index < 0) return false;
  await app.commands.execute(SHOW, { path: panel.context.path, index });
  const view = [...app.shell.widgets("main")].find((widget) => !open.includes(widget));
  if (view) asTab(app, view, panel);
  return true;
}

/** JupyterLab splits the notebook for a new view of an output; the planner wants the whole width instead. */
function asTab(app: JupyterFrontEnd, view: Widget, panel: NotebookPanel): void {
  const name = panel.context.path.split("/").pop() ?? "";
  view.title.label = `DRA Lab: ${name.replace(/\.ipynb$/, "")}`;
  app.shell.add(view, "main", { mode: "tab-after", ref: panel.id, activate: true });
  app.shell.activateById(view.id);
}

/** Listen for the event and call `openInTab`; returns what ends it. */
export function listen(app: JupyterFrontEnd): () => void {
  const onEvent = (event: Event): void => {
    const asked = (event as CustomEvent<{ element?: unknown } | null>).detail?.element;
    if (!app.commands.hasCommand(SHOW) || !("mode" in app.shell)) return;
    // Says to the widget that somebody listens.
    event.preventDefault();
    const from = asked instanceof Element ? asked : event.target instanceof Element ? event.target : null;
    void openInTab(app, from ?? document.activeElement);
  };
  window.addEventListener(EVENT, onEvent);
  return () => window.removeEventListener(EVENT, onEvent);
}
