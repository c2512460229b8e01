import type { JupyterFrontEnd } from "@jupyterlab/application";
import { runsOnceAt } from "./auto_run";
import { freshName, plannerNotebook } from "./planner_notebook";

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
