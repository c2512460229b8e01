import { DOMWidgetModel, DOMWidgetView, type IJupyterWidgetRegistry } from "@jupyter-widgets/base";
import { STORED } from "./stored_output";

/** Where the widgets are registered; the same as in dra_lab/widgets/session_view.py, which says why. */
export const MODULE = "anywidget";
export const VERSION = "999.0.0-dra-lab";

interface Context {
  readonly model: DOMWidgetModel;
  readonly el: HTMLElement;
  readonly signal: AbortSignal;
}

interface Program {
  readonly default: { render(context: Context): Promise<(() => void) | undefined> };
}

/**
 * The programs by the class of their widget in Python, each a file of this extension that is fetched when it is drawn.
 */
const PROGRAMS: Readonly<Record<string, () => Promise<Program>>> = {
  "dra_lab.widgets.claim_canvas.ClaimCanvas": () => import("../programs/claim_canvas.js"),
  "dra_lab.widgets.cluster_bar.ClusterBar": () => import("../programs/cluster_bar.js"),
  "dra_lab.widgets.hardware_view.HardwareView": () => import("../programs/hardware_view.js"),
  "dra_lab.widgets.lesson_steps.LessonPicture": () => import("../programs/hardware_view.js"),
  "dra_lab.widgets.lesson.LessonView": () => import("../programs/lesson_view.js"),
  "dra_lab.widgets.plan_view.PlanView": () => import("../programs/plan_view.js"),
};

/** A widget of dra_lab; named as in the state that every front end gets. */
class AnyModel extends DOMWidgetModel {}

/** Draws a widget with the program of this extension, where anywidget would import the text in `_esm` as a Blob URL. */
class AnyView extends DOMWidgetView {
  private readonly ending = new AbortController();

  override async render(): Promise<void> {
    const name = String(this.model.get("_anywidget_id"));
    const load = PROGRAMS[name];
    if (!load) throw new Error(`dra-lab has no program for ${name}; reload the page after an upgrade of dra-lab`);
    addStyle(name, String(this.model.get("_css")));
    const { signal } = this.ending;
    const program = await load();
    const end = signal.aborted ? undefined : await program.default.render({ model: this.model, el: this.el, signal });
    if (signal.aborted) end?.();
    else signal.addEventListener("abort", () => end?.());
    this.store();
  }

  /** Let the notebook store what Python wants it to, now and after each change (stored_output.ts). */
  private store(): void {
    const tell = (): void => {
      const detail = { html: this.model.get("_stored") };
      this.el.dispatchEvent(new CustomEvent(STORED, { bubbles: true, detail }));
    };
    this.listenTo(this.model, "change:_stored", tell);
    tell();
    if (this.model.get("_stores")) return;
    this.model.set("_stores", true);
    this.touch();
  }

  override remove(): this {
    this.ending.abort();
    return super.remove();
  }
}

/** Put a widget's style sheet on the page, once. */
function addStyle(name: string, text: string): void {
  const known = [...document.head.querySelectorAll<HTMLStyleElement>("style[data-dra-lab]")];
  const found = known.find((style) => style.dataset.draLab === name);
  const style = found ?? document.head.appendChild(document.createElement("style"));
  style.dataset.draLab = name;
  if (style.textContent !== text) style.textContent = text;
}

export function registerWidgets(registry: IJupyterWidgetRegistry): void {
  registry.registerWidget({ name: MODULE, version: VERSION, exports: { AnyModel, AnyView } });
}
