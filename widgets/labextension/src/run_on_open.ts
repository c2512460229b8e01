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
    const known = await this.alreadyPlans(kernel);
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
      const shown = ((cell as { outputs?: unknown[] }).outputs ?? []).length > 0;
      if (known && shown) continue;
      panel.content.activeCellIndex = index;
      await this.app.commands.execute("notebook:run-cell", { semanticWidget: panel.id, activate: false });
    }
  }

  /** Ask the kernel whether it already holds a planner: a page that is loaded again keeps the one it had. */
  private async alreadyPlans(kernel: {
    requestExecute(content: object): { done: Promise<{ content: unknown }> };
  }): Promise<boolean> {
    const question = { code: "", silent: true, user_expressions: { known: "'lab' in globals()" } };
    const reply = (await kernel.requestExecute(question).done).content as {
      user_expressions?: { known?: { data?: Record<string, string> } };
    };
    return reply.user_expressions?.known?.data?.["text/plain"] === "True";
  }
}

function tellThatItWaits(trusted: boolean): void {
  const reason = trusted ? "holds other code than a planner" : "was written elsewhere";
  Notification.info(`This plan ${reason}, so it waits for you: read its cell, then press Shift+Enter in it.`, {
    autoClose: 15_000,
  });
}
