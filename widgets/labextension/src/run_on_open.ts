import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import type { DocumentRegistry, IDocumentWidget } from "@jupyterlab/docregistry";
import type { Widget } from "@lumino/widgets";
import { isPlannerCell, runsOnOpen, type NotebookContent } from "./planner_notebook";

/** What is used of JupyterLab's notebook panel; its package is not imported for three names. */
interface Notebook extends Widget {
  activeCellIndex: number;
  widgets: readonly { node: HTMLElement; model: { trusted: boolean } }[];
}
export type NotebookPanel = IDocumentWidget<Notebook>;

/**
 * Runs the planner cells of a notebook that asks for it when it opens.
 *
 * Two conditions protect whoever opens a notebook that somebody else wrote: Jupyter's own trust (the notebook was saved
 * or signed by this person), and the form of the cell (it does nothing but open the planner).
 */
export class RunOnOpen implements DocumentRegistry.WidgetExtension {
  constructor(private readonly app: JupyterFrontEnd) {}

  createNew(panel: IDocumentWidget, context: DocumentRegistry.Context): void {
    void this.run(panel as NotebookPanel, context).catch((error) => {
      // Opening must never fail because of us: the person can still run the cell by hand.
      console.warn("dra-lab: the planner cell was not run;", error);
    });
  }

  private async run(panel: NotebookPanel, context: DocumentRegistry.Context): Promise<void> {
    await context.ready;
    const notebook = context.model.toJSON() as unknown as NotebookContent;
    if (!runsOnOpen(notebook.metadata)) return;
    await panel.revealed;
    await context.sessionContext.ready;
    const kernel = context.sessionContext.session?.kernel;
    if (!kernel || panel.isDisposed) return;
    const known = await this.plannerOf(kernel);
    let done = 0;
    for (let index = 0; index < notebook.cells.length; index += 1) {
      const cell = notebook.cells[index];
      if (cell.cell_type !== "code") continue;
      const source = Array.isArray(cell.source) ? cell.source.join("") : cell.source;
      const trusted = panel.content.widgets[index]?.model.trusted ?? false;
      if (!trusted || !isPlannerCell(source)) {
        // The first cell that waits ends it: what comes after may need its result.
        if (done === 0) tellThatItWaits(trusted);
        return;
      }
      done += 1;
      if (known && shownIn(cell as Outputs).includes(known)) continue;
      // A model that is closed while the page still asks for it would be an error on the page.
      if (known) await loaded(panel.content.widgets[index]?.node);
      panel.content.activeCellIndex = index;
      await this.app.commands.execute("notebook:run-cell", { semanticWidget: panel.id, activate: false });
    }
  }

  /**
   * Ask the kernel for the model of the planner that it holds, "" for none: a page that is loaded again keeps it.
   *
   * The file may show an older one, of a kernel before: what a cell shows is saved some minutes after it ran.
   */
  private async plannerOf(kernel: {
    requestExecute(content: object): { done: Promise<{ content: unknown }> };
  }): Promise<string> {
    const question = { code: "", silent: true, user_expressions: { known: "globals()['lab'].model_id" } };
    const reply = (await kernel.requestExecute(question).done).content as {
      user_expressions?: { known?: { data?: Record<string, string> } };
    };
    return /^'([0-9a-f]+)'$/.exec(reply.user_expressions?.known?.data?.["text/plain"] ?? "")?.[1] ?? "";
  }
}

/** Seconds that the widgets of a page get to be there before their cell is run again all the same. */
const PATIENCE = 5;

/** Wait until no output of a cell waits for its widget. */
async function loaded(cell: HTMLElement | undefined): Promise<void> {
  const isLoading = () => [...(cell?.querySelectorAll(".jp-OutputArea-output") ?? [])].some((output) => output.textContent === "Loading widget...");
  for (let passed = 0; passed < PATIENCE && isLoading(); passed += 0.05) await new Promise((done) => setTimeout(done, 50));
}

interface Outputs {
  outputs?: { data?: Record<string, { model_id?: string } | undefined> }[];
}

/** The models of the widgets that a cell shows. */
function shownIn(cell: Outputs): (string | undefined)[] {
  return (cell.outputs ?? []).map((output) => output.data?.["application/vnd.jupyter.widget-view+json"]?.model_id);
}

function tellThatItWaits(trusted: boolean): void {
  const reason = trusted ? "holds other code than a planner" : "was written elsewhere";
  Notification.info(`This plan ${reason}, so it waits for you: read its cell, then press Shift+Enter in it.`, {
    autoClose: 15_000,
  });
}
