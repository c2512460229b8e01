/** The JupyterLab half of dra_lab: a launcher card, commands, and new planner notebooks that run by themselves. */

import { IJupyterWidgetRegistry } from "@jupyter-widgets/base";
import { ILabShell, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import { IDefaultFileBrowser } from "@jupyterlab/filebrowser";
import { ILauncher } from "@jupyterlab/launcher";
import { LabIcon } from "@jupyterlab/ui-components";
import { AutoRun, newPlan } from "./auto_run";
import { KernelGone, listenForRunAgain } from "./kernel_gone";
import { listen, openInTab } from "./open_in_tab";
import { isClusterFile } from "./planner_notebook";
import { StoredOutputs } from "./stored_output";
import { registerWidgets } from "./widget_programs";

/** A square GPU and a pill-shaped NIC tied by a knot: the shapes that they have on the hardware picture. */
const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 22 22">
    <g class="jp-icon3" fill="#616161">
      <path d="M2 2h8v8H2zm2 2v4h4V4z" fill-rule="evenodd"/>
      <rect x="9" y="15" width="12" height="6" rx="3"/>
      <circle cx="15" cy="8" r="2"/>
    </g>
    <path class="jp-icon3" stroke="#616161" fill="none" stroke-width="1.5" d="M10 6.5 13.2 7.5M15 10v5"/>
  </svg>`;

const icon = new LabIcon({ name: "dra-lab:plan", svgstr });

/** The same for the launcher, whose cards under "Notebook" take an address only; a blue that both themes carry. */
const iconUrl = `data:image/svg+xml,${encodeURIComponent(svgstr.replaceAll("#616161", "#1e88e5"))}`;

/** What `dra-lab` says to a JupyterLab that it starts (jupyter_config/labconfig/page_config.json). */
const WIDE = "draLabWide";

/** Whether this window was opened on a notebook, as `dra-lab` does it, and not on JupyterLab itself. */
const opensNotebook = (path: string): boolean => /\/tree\/[^?]*\.ipynb$/.test(path);

/**
 * Close the file browser in a window that is opened for the first time, on a planner, by `dra-lab`.
 *
 * With it a window of 1280 px leaves the planner less than the 960 px from which it has two columns, and the picture is
 * off the screen. JupyterLab remembers how a person leaves its side bars: such a window is no fresh one, and stays.
 */
function wideAtFirst(shell: ILabShell, settled: Promise<unknown>): void {
  if (PageConfig.getOption(WIDE) !== "true" || !opensNotebook(window.location.pathname)) return;
  void Promise.all([shell.restored, settled]).then(([layout]) => {
    if (layout.fresh) shell.collapseLeft();
  });
}

const NEW_PLAN = "dra-lab:new-plan";
const PLAN_WITH = "dra-lab:plan-with";
const OPEN_IN_TAB = "dra-lab:open-in-tab";
const CATEGORY = "DRA Lab";

function addCommands(app: JupyterFrontEnd, browser: IDefaultFileBrowser | null): void {
  const selected = () => {
    const items = browser ? [...browser.selectedItems()] : [];
    return items.length === 1 ? items[0] : undefined;
  };
  app.commands.addCommand(NEW_PLAN, {
    label: "DRA Lab: new plan",
    caption: "Draw a claim and see where it fits best",
    icon: (args) => (args.isPalette ? undefined : icon),
    execute: (args) => newPlan(app, (args.cwd as string | undefined) ?? browser?.model.path ?? "", null),
  });
  app.commands.addCommand(PLAN_WITH, {
    label: "Plan with DRA Lab",
    caption: "Open a new plan on the cluster in this file",
    icon,
    isVisible: () => isClusterFile(selected()?.name ?? ""),
    execute: async (args) => {
      const path = (args.path as string | undefined) ?? selected()?.path;
      if (path === undefined) return undefined;
      const cut = path.lastIndexOf("/");
      // A drive's own colon (`RTC:plan.yaml`) is no part of the name.
      const name = app.serviceManager.contents.localPath(path).split("/").pop() ?? path;
      return newPlan(app, cut < 0 ? path.slice(0, path.length - name.length) : path.slice(0, cut), name);
    },
  });
  app.commands.addCommand(OPEN_IN_TAB, {
    label: "DRA Lab: open in a tab",
    caption: "Show the planner of the current cell without the code",
    execute: (args) => {
      const id = args.elementId;
      return openInTab(app, typeof id === "string" ? document.getElementById(id) : currentCell());
    },
  });
}

/** The active cell of the notebook that is on the screen. */
function currentCell(): Element | null {
  const shown = [
    ...document.querySelectorAll(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell.jp-mod-active"),
  ];
  return document.activeElement?.closest(".jp-Notebook .jp-Cell") ?? shown[0] ?? null;
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: "dra-lab:plugin",
  description: "Launcher card and commands of the planner; new planner notebooks that run by themselves.",
  autoStart: true,
  optional: [ICommandPalette, ILauncher, IDefaultFileBrowser, ILabShell, IJupyterWidgetRegistry],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
    shell: ILabShell | null,
    widgets: IJupyterWidgetRegistry | null,
  ) => {
    addCommands(app, browser);
    if (widgets) registerWidgets(widgets);
    if (shell) wideAtFirst(shell, Promise.all([app.restored, browser?.model.restored]));
    app.docRegistry.addWidgetExtension("Notebook", new AutoRun(app));
    app.docRegistry.addWidgetExtension("Notebook", new KernelGone(app));
    app.docRegistry.addWidgetExtension("Notebook", new StoredOutputs());
    listen(app);
    listenForRunAgain(app);
    palette?.addItem({ command: NEW_PLAN, category: CATEGORY, args: { isPalette: true } });
    palette?.addItem({ command: OPEN_IN_TAB, category: CATEGORY });
    launcher?.add({ command: NEW_PLAN, category: "Notebook", rank: 10, kernelIconUrl: iconUrl });
    app.contextMenu.addItem({ command: PLAN_WITH, selector: '.jp-DirListing-item[data-isdir="false"]', rank: 1 });
  },
};

export default plugin;
