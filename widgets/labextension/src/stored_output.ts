import type { DocumentRegistry, IDocumentWidget } from "@jupyterlab/docregistry";
import { type Panel, Widget } from "@lumino/widgets";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const HTML = "text/html";

/** Where ipywidgets has its renderer in the order of a notebook's renderers. */
const RANK = -10;

/** The DOM event by which a view says what the notebook should store in its place (`detail.html`). */
export const STORED = "dra-lab:stored";

/** As in view/model.ts: runs the cells up to the one that holds `detail.element`. */
const RUN_AGAIN = "dra-lab:run-again";

/** The mark of a document of dra_lab (dra_lab/words/document.py). */
const OURS = 'class="dra-result"';

/** Seconds that a widget gets to appear before what is stored stands in for it. */
const PATIENCE = 1.5;

type Data = Record<string, unknown>;

/** What is used of JupyterLab's renderers; its packages are not imported for a few names. */
interface MimeModel {
  readonly data: Data;
  readonly trusted: boolean;
  setData(options: { data: Data }): void;
}
interface Renderer extends Panel {
  renderModel(model: MimeModel): Promise<void>;
}
interface Factory {
  readonly safe: boolean;
  readonly mimeTypes: readonly string[];
  createRenderer(options: object): Renderer;
}
interface Rendermime {
  getFactory(mimeType: string): Factory | undefined;
  addFactory(factory: Factory, rank?: number): void;
  createRenderer(mimeType: string): Renderer;
}

/** Lets the notebook store the answer of a planner beside its widget, and shows it where there is no kernel. */
export class StoredOutputs implements DocumentRegistry.WidgetExtension {
  createNew(panel: IDocumentWidget): void {
    const rendermime = (panel.content as Widget & { rendermime?: Rendermime }).rendermime;
    if (!rendermime) return;
    const add = rendermime.addFactory.bind(rendermime);
    const withStored = (factory: Factory): Factory => ({
      ...factory,
      createRenderer: (options) => {
        const renderer = factory.createRenderer(options);
        new StoredOutput(renderer, rendermime);
        return renderer;
      },
    });
    // ipywidgets gives the notebook another factory as soon as its kernel is known.
    rendermime.addFactory = (factory, rank) =>
      add(factory.mimeTypes.includes(WIDGET) ? withStored(factory) : factory, rank);
    const present = rendermime.getFactory(WIDGET);
    if (present) add(withStored(present), RANK);
  }
}

/** What is stored of a widget's output, and the renderer of ipywidgets that it stands in for while there is none. */
class StoredOutput {
  private model: MimeModel | undefined;
  private shown = "";
  private readonly render: Renderer["renderModel"];
  private readonly watch = new MutationObserver(() => this.look());
  private timer = 0;

  constructor(
    private readonly renderer: Renderer,
    private readonly rendermime: Rendermime,
  ) {
    this.render = renderer.renderModel.bind(renderer);
    renderer.renderModel = (model) => this.renderModel(model);
    renderer.node.addEventListener(STORED, this);
    renderer.disposed.connect(() => this.end());
    this.watch.observe(renderer.node, { childList: true });
  }

  handleEvent(event: Event): void {
    const html = (event as CustomEvent<{ html?: unknown } | null>).detail?.html;
    const model = this.model;
    if (typeof html !== "string" || !html || !model || textOf(model.data[HTML]) === html) return;
    model.setData({ data: { ...model.data, [HTML]: html } });
  }

  /** Draw an output; a widget that is shown stays as it is when only what is stored of it has changed. */
  private async renderModel(model: MimeModel): Promise<void> {
    const id = (model.data[WIDGET] as { model_id?: string } | undefined)?.model_id ?? "";
    this.model = model;
    if (id && id === this.shown && this.renderer.node.childElementCount) return;
    this.shown = id;
    for (const widget of [...this.renderer.widgets]) widget.dispose();
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.look(true), PATIENCE * 1000);
    await this.render(model);
  }

  /** Show what is stored if ipywidgets says that there is no such widget, or is still looking for it (`isLate`). */
  private look(isLate = false): void {
    const { node } = this.renderer;
    const says = node.childElementCount ? "" : (node.textContent ?? "");
    if (says.startsWith("Error displaying widget") || (isLate && says.startsWith("Loading widget"))) this.standIn();
  }

  private standIn(): void {
    const { model, renderer } = this;
    if (!model || !textOf(model.data[HTML]).includes(OURS)) return;
    const stored = this.rendermime.createRenderer(HTML);
    this.shown = "";
    renderer.node.textContent = "";
    renderer.addWidget(new RunAgain());
    renderer.addWidget(stored);
    void stored.renderModel(model);
  }

  private end(): void {
    window.clearTimeout(this.timer);
    this.watch.disconnect();
  }
}

/** The line above what is stored, with the way back to the planner. */
class RunAgain extends Widget {
  constructor() {
    super();
    const words = document.createElement("span");
    words.textContent = "This is the answer that the notebook stored.";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "jp-mod-styled jp-mod-minimal";
    button.textContent = "Run the cell to plan";
    button.addEventListener("click", () => {
      window.dispatchEvent(new CustomEvent(RUN_AGAIN, { detail: { element: this.node }, cancelable: true }));
    });
    this.node.append(words, " ", button);
    this.node.style.padding = "4px 8px";
  }
}

/** The text of a value of an output: one string, or its lines. */
const textOf = (value: unknown): string => (Array.isArray(value) ? value.join("") : String(value ?? ""));
