/**
 * What runs by itself: the cells of a notebook that this very click, or this start of the server, has created.
 *
 * The notebook carries a random mark. The page keeps each mark together with the path and the code of its notebook, in
 * memory only. Content that is the same, or a signature of Jupyter for it, is never enough. All other planner notebooks
 * wait for the person, and so does a new one in a folder whose Python files could be imported in place of ours.
 */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import type { DocumentRegistry, IDocumentWidget } from "@jupyterlab/docregistry";
import type { Widget } from "@lumino/widgets";
import { codeOf, freshName, hasRun, markOf, type NotebookContent, plannerNotebook } from "./planner_notebook";

/** What is used of JupyterLab's notebook panel; its package is not imported for three names. */
interface Notebook extends Widget {
  activeCellIndex: number;
  widgets: readonly { node: HTMLElement; model: { type: string; trusted: boolean } }[];
}
export type NotebookPanel = IDocumentWidget<Notebook>;

/** A notebook that was created here: its path on the server, the mark in its metadata, and its code. */
interface Created {
  readonly path: string;
  readonly mark: string;
  readonly source: string;
}

/** What was created here and has not run, by its mark. */
const created = new Map<string, Created>();

/** Let a notebook that was just created run when it opens. */
function runsOnceAt(path: string, notebook: NotebookContent): void {
  const mark = markOf(notebook);
  created.set(mark, { path, mark, source: codeOf(notebook) });
}

/** Take the notebook that the start of this server created, where `dra-lab` started it (jupyter_launch.py). */
function takeFromServer(): void {
  const told = PageConfig.getOption("draLabCreated");
  if (!told) return;
  const notebook = JSON.parse(told) as Created;
  created.set(notebook.mark, notebook);
}

/** Say whether a notebook at a path is one that was created here, unchanged; each is so once. */
function takeCreated(path: string, notebook: NotebookContent): boolean {
  const known = created.get(markOf(notebook));
  if (!known || known.path !== path || known.source !== codeOf(notebook) || hasRun(notebook)) return false;
  return created.delete(known.mark);
}

/**
 * A Python expression: names in the kernel's folder that Python could import, such as `dra_lab.py` or `numpy/`.
 *
 * Any of them counts, since packages also try to import names that are not installed. It uses only modules that every
 * kernel has loaded. A folder with too much in it counts as one with Python files.
 */
const IMPORTABLE = `(lambda os, sys, ends: ", ".join(sorted(
 name for name in (os.listdir() if {"", os.getcwd()} & set(sys.path) else ())
 if name.endswith(ends) or name.isidentifier() and os.path.isdir(name) and any(
  number > 1000 or any(file.endswith(ends) for file in files)
  for number, (_, _, files) in enumerate(os.walk(name, followlinks=True))))[:3]))(
 __import__("os"), __import__("sys"), (".py", ".pyc", ".pyw", ".pyd", ".so"))`;

type Kernel = { requestExecute(content: object): { done: Promise<{ content: unknown }> } };

/** Return what lies in a kernel's folder that Python could import; "" if there is nothing. Throws if it cannot say. */
async function importable(kernel: Kernel): Promise<string> {
  const question = { code: "", silent: true, user_expressions: { names: IMPORTABLE } };
  const reply = (await kernel.requestExecute(question).done).content as {
    user_expressions?: { names?: { data?: Record<string, string> } };
  };
  const text = reply.user_expressions?.names?.data?.["text/plain"];
  if (text === undefined) throw new Error("the kernel did not answer which files Python could import");
  return text.replace(/^(['"])(.*)\1$/, "$2");
}

/** Runs a notebook that was created here; any other planner notebook gets a line that says how to run it. */
export class AutoRun implements DocumentRegistry.WidgetExtension {
  constructor(private readonly app: JupyterFrontEnd) {
    takeFromServer();
  }

  createNew(panel: IDocumentWidget, context: DocumentRegistry.Context): void {
    void this.open(panel as NotebookPanel, context).catch((error) => {
      // Opening must never fail because of us: the person can still run the cell by hand.
      console.warn("dra-lab: the planner cell was not run;", error);
    });
  }

  private async open(panel: NotebookPanel, context: DocumentRegistry.Context): Promise<void> {
    await context.ready;
    const notebook = context.model.toJSON() as unknown as NotebookContent;
    if (!markOf(notebook)) return;
    const isOurs = takeCreated(context.path, notebook);
    await panel.revealed;
    await context.sessionContext.ready;
    const kernel = context.sessionContext.session?.kernel;
    if (!kernel || panel.isDisposed) return;
    const found = await importable(kernel);
    if (isOurs && !found) return this.runWhole(panel, context);
    const isTrusted = panel.content.widgets.every(({ model }) => model.type !== "code" || model.trusted);
    // A stored answer has a button of its own (stored_output.ts).
    if (isTrusted && !found && hasRun(notebook)) return;
    const told = this.tellThatItWaits(isTrusted, found, () => this.runCells(panel, context));
    panel.disposed.connect(() => Notification.dismiss(told));
  }

  /**
   * Run the cells, and once more if the kernel ends meanwhile: Jupyter starts it again, and runs nothing.
   *
   * Then the notebook is saved, so that a page that is loaded again shows the planner that its kernel has.
   */
  private async runWhole(panel: NotebookPanel, context: DocumentRegistry.Context): Promise<void> {
    const { sessionContext } = context;
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
        if (!restarted && !panel.isDisposed) await context.save();
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
    const { cells } = context.model.toJSON() as unknown as NotebookContent;
    for (let index = 0; index < cells.length && !panel.isDisposed; index += 1) {
      if (cells[index].cell_type !== "code") continue;
      panel.content.activeCellIndex = index;
      await this.app.commands.execute("notebook:run-cell", { semanticWidget: panel.id, activate: false });
    }
  }

  /** Say why a notebook waits; its code is behind a button only if Jupyter trusts it and nothing else would run. */
  private tellThatItWaits(isTrusted: boolean, found: string, run: () => Promise<void>): string {
    // JupyterLab cuts a message after 140 characters.
    const why = found
      ? `Python could import ${found.slice(0, 40)} in place of dra_lab. Look at it, then press Shift+Enter in the cell.`
      : isTrusted
        ? "This plan waits for you."
        : "This plan was not written here. Read its cell, then press Shift+Enter in it.";
    const button = { label: "Run the cell to plan", callback: () => void run() };
    return Notification.info(why, { autoClose: false, actions: isTrusted && !found ? [button] : [] });
  }
}

/**
 * Seconds after its cell in which a planner is still being opened: Jupyter finds out within three that a kernel died.
 */
const SETTLED = 10;

/** Seconds that Jupyter gets to start a kernel again. */
const START = 60;

/** Seconds in which a kernel that was started again should be heard; then the page connects to it again. */
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
 * until it connects again.
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

/** The creation of the notebook before: the next one must find it in the folder. */
let before: Promise<unknown> = Promise.resolve();

/**
 * Create a planner notebook in a folder and open it; it runs by itself (auto_run.ts).
 *
 * It gets its name at once: a blank notebook that is renamed while the file browser lists the folder makes JupyterLab
 * say that the folder was not found.
 *
 * @param folder where, as the contents manager of JupyterLab names it
 * @param clusterFile name of a file in that folder to plan on, or null for the example
 */
export async function newPlan(app: JupyterFrontEnd, folder: string, clusterFile: string | null): Promise<unknown> {
  const created = before.then(() => create(app, folder, clusterFile));
  before = created.catch(() => undefined);
  return app.commands.execute("docmanager:open", { path: await created, factory: "Notebook" });
}

/** Write the notebook under a name that is its own, and its drawing's too; returns its path. */
async function create(app: JupyterFrontEnd, folder: string, clusterFile: string | null): Promise<string> {
  const contents = app.serviceManager.contents;
  const listing = (await contents.get(folder, { content: true })).content as { name: string }[];
  const name = freshName(listing.map((item) => item.name));
  const path = `${folder && !/[/:]$/.test(folder) ? `${folder}/` : folder}${name}.ipynb`;
  const content = plannerNotebook(name, clusterFile);
  await contents.save(path, { type: "notebook", format: "json", content });
  runsOnceAt(path, content);
  return path;
}
