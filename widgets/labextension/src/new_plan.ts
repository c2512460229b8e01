import type { JupyterFrontEnd } from "@jupyterlab/application";
import { freshName, plannerNotebook } from "./planner_notebook";

/** How often another window may take the chosen name before we give up. */
const TRIES = 20;

/**
 * Create a planner notebook in a folder and open it; it runs by itself (run_on_open.ts).
 *
 * @param folder where, as the contents manager of JupyterLab names it
 * @param clusterFile name of a file in that folder to plan on, or null for the example
 */
export async function newPlan(app: JupyterFrontEnd, folder: string, clusterFile: string | null): Promise<unknown> {
  const contents = app.serviceManager.contents;
  const blank = await contents.newUntitled({ path: folder, type: "notebook" });
  const [path, name] = await rename(app, folder, blank.path);
  // Saved by this person on this server, so signed by it: a notebook that only arrived in the folder is not.
  await contents.save(path, { type: "notebook", format: "json", content: plannerNotebook(name, clusterFile) });
  return app.commands.execute("docmanager:open", { path, factory: "Notebook" });
}

/** Give the blank notebook a name that is its own, and its drawing's too. */
async function rename(app: JupyterFrontEnd, folder: string, blank: string): Promise<[path: string, name: string]> {
  const contents = app.serviceManager.contents;
  const listing = await contents.get(folder, { content: true });
  const taken = new Set((listing.content as { name: string }[]).map((item) => item.name));
  const prefix = blank.slice(0, blank.lastIndexOf("/") + 1);
  for (let number = 0; ; number += 1) {
    const name = freshName(taken);
    try {
      const renamed = await contents.rename(blank, `${prefix}${name}.ipynb`);
      return [renamed.path, name];
    } catch (error) {
      if (number >= TRIES) throw error;
      taken.add(`${name}.ipynb`);
    }
  }
}
