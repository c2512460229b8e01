import type { ILabShell } from "@jupyterlab/application";
import { PageConfig } from "@jupyterlab/coreutils";

/** What `dra-lab` says to a JupyterLab that it starts (jupyter_config/labconfig/page_config.json). */
const WIDE = "draLabWide";

/** Whether this window was opened on a notebook, as `dra-lab` does it, and not on JupyterLab itself. */
export const opensNotebook = (path: string): boolean => /\/tree\/[^?]*\.ipynb$/.test(path);

/**
 * Close the file browser in a window that is opened for the first time, on a planner, by `dra-lab`.
 *
 * With it a window of 1280 px leaves the planner less than the 960 px from which it has two columns, and the picture is
 * off the screen. JupyterLab remembers how a person leaves its side bars: such a window is no fresh one, and stays.
 */
export function wideAtFirst(shell: ILabShell, settled: Promise<unknown>): void {
  if (PageConfig.getOption(WIDE) !== "true" || !opensNotebook(window.location.pathname)) return;
  void Promise.all([shell.restored, settled]).then(([layout]) => {
    if (layout.fresh) shell.collapseLeft();
  });
}
