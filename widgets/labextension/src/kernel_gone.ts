import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { DocumentRegistry, IDocumentWidget } from "@jupyterlab/docregistry";
import type { Widget } from "@lumino/widgets";
import type { NotebookPanel } from "./auto_run";

/** The DOM events between widgets and this extension (`view/model.ts` says the same). */
const KERNEL_GONE = "dra-lab:kernel-gone";
const RUN_AGAIN = "dra-lab:run-again";

/** An output that has a tab of its own, as far as it is used here. */
type OutputTab = Widget & { content?: { path?: unknown; index?: unknown } };

/**
 * Tells the widgets of a notebook that its kernel was shut down or exchanged for another.
 *
 * A restart reaches them by their models; of a kernel that is gone nobody tells them, and they would look alive.
 */
export class KernelGone implements DocumentRegistry.WidgetExtension {
  constructor(private readonly app: JupyterFrontEnd) {}

  createNew(panel: IDocumentWidget, context: DocumentRegistry.Context): void {
    context.sessionContext.kernelChanged.connect((_, { oldValue }) => {
      if (!oldValue) return;
      const tabs = [...this.app.shell.widgets("main")].filter((tab: OutputTab) => tab.content?.path === context.path);
      const inside = [panel, ...tabs].map((widget) => widget.node);
      window.dispatchEvent(new CustomEvent(KERNEL_GONE, { detail: { inside } }));
    });
  }
}

/** Run the cells of a notebook up to the one that a widget is the output of, with a new kernel where there is none. */
async function runUpTo(app: JupyterFrontEnd, panel: NotebookPanel, index: number): Promise<void> {
  const { sessionContext } = panel.context;
  if (!sessionContext.session?.kernel) await sessionContext.restartKernel();
  const where = { semanticWidget: panel.id, activate: false };
  panel.content.activeCellIndex = index;
  if (index > 0) await app.commands.execute("notebook:run-all-above", where);
  panel.content.activeCellIndex = index;
  await app.commands.execute("notebook:run-cell", where);
}

/** Find the notebook and the number of the cell whose output holds an element, on its page or in a tab of its own. */
function cellOf(app: JupyterFrontEnd, element: Element): { panel: NotebookPanel; index: number } | undefined {
  const open = [...app.shell.widgets("main")];
  const shown = open.find((widget) => widget.node.contains(element));
  const tab = (shown as OutputTab | undefined)?.content;
  const path = tab?.path;
  const panels = open as NotebookPanel[];
  const panel =
    path === undefined
      ? (shown as NotebookPanel | undefined)
      : panels.find((one) => one.context?.path === path && one.content?.widgets);
  const cell = element.closest(".jp-Notebook .jp-Cell");
  const index = cell
    ? (panel?.content?.widgets?.findIndex((one) => one.node === cell) ?? -1)
    : Number(tab?.index ?? -1);
  return panel?.content?.widgets?.[index] ? { panel, index } : undefined;
}

/** Listen for the wish of a widget to be run again; it is told that somebody does it. */
export function listenForRunAgain(app: JupyterFrontEnd): () => void {
  const onEvent = (event: Event): void => {
    const element = (event as CustomEvent<{ element?: unknown } | null>).detail?.element;
    const found = element instanceof Element ? cellOf(app, element) : undefined;
    if (!found) return;
    event.preventDefault();
    void runUpTo(app, found.panel, found.index).catch((error) =>
      console.warn("dra-lab: the cells were not run;", error),
    );
  };
  window.addEventListener(RUN_AGAIN, onEvent);
  return () => window.removeEventListener(RUN_AGAIN, onEvent);
}
