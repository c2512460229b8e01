import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import type { DocumentRegistry, IDocumentWidget } from "@jupyterlab/docregistry";
import type { Widget } from "@lumino/widgets";
import { isPlannerCell, type NotebookContent, runsOnOpen } from "./planner_notebook";

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
 *
 * A kernel that ends while the planner opens is started again by Jupyter, which runs nothing: the cells are run once
 * more.
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
    if (!runsOnOpen((context.model.toJSON() as unknown as NotebookContent).metadata)) return;
    await panel.revealed;
    const { sessionContext } = context;
    await sessionContext.ready;
    for (let tries = 1; ; tries += 1) {
      let [isRunning, restarted] = [true, false];
      const onStatus = (_: unknown, status: string): void => {
        // Who restarts the kernel by hand once the planner is there wants it empty.
        restarted ||= status === "autorestarting" || (isRunning && status === "restarting");
      };
      sessionContext.statusChanged.connect(onStatus);
      try {
        await this.runCells(panel, context);
        isRunning = false;
        await until(() => restarted || panel.isDisposed, SETTLED);
      } catch (error) {
        // What a kernel was asked before it ended is given up as an error; any other is none of ours to try again.
        if (!restarted) throw error;
      } finally {
        sessionContext.statusChanged.disconnect(onStatus);
      }
      if (!restarted || panel.isDisposed || tries === TRIES) return;
      await started(() => sessionContext.session?.kernel, panel);
    }
  }

  private async runCells(panel: NotebookPanel, context: DocumentRegistry.Context): Promise<void> {
    const notebook = context.model.toJSON() as unknown as NotebookContent;
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

/**
 * Seconds after its cell in which a planner is still being opened: Jupyter finds out within three that a kernel died.
 */
const SETTLED = 10;

/** Seconds that Jupyter gets to start a kernel again. */
const START = 60;

/** Seconds in which a kernel that was started again should be heard; then the page connects to it anew. */
const HEARD = 4;

/** How often the cells are run when the kernel ends meanwhile; one that ends each time is left to the person. */
const TRIES = 2;

/** Look every 50 ms until something is so, or the seconds are over. */
async function until(isSo: () => boolean, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds && !isSo(); passed += 0.05) await new Promise((done) => setTimeout(done, 50));
}

/** What is used of a kernel's connection. */
interface Connection {
  status: string;
  connectionStatus: string;
  reconnect(): Promise<void>;
}

/**
 * Wait until a kernel that Jupyter starts again can be asked.
 *
 * One that ended right after its start gets new ports, and the page may still be tied to the old ones: it hears nothing
 * until it connects anew.
 */
async function started(kernel: () => Connection | null | undefined, panel: { isDisposed: boolean }): Promise<void> {
  const isOver = (): boolean =>
    panel.isDisposed || (kernel()?.status === "idle" && kernel()?.connectionStatus === "connected");
  for (let waited = 0; waited < START && !isOver(); waited += HEARD) {
    await until(isOver, HEARD);
    if (!isOver())
      await kernel()
        ?.reconnect()
        .catch(() => undefined);
  }
}

/** Wait until no output of a cell waits for its widget. */
async function loaded(cell: HTMLElement | undefined): Promise<void> {
  const outputs = () => [...(cell?.querySelectorAll(".jp-OutputArea-output") ?? [])];
  await until(() => !outputs().some((output) => output.textContent === "Loading widget..."), PATIENCE);
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
