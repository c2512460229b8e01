// A widget's module is loaded before its program runs.

export interface Context {
  readonly model: unknown;
  readonly el: HTMLElement;
  readonly signal?: AbortSignal;
}

interface Program {
  render(context: Context): () => void;
}

/**
 * Make the widget of a program that runs when a view of it is first drawn.
 *
 * anywidget gives a module two seconds to run; later it drops every message to the widget for good. React and what
 * draws
 * with it can take that long on a busy machine. esbuild keeps an imported program in the same file, as a function.
 */
export const late = (load: () => Promise<Program>) => ({
  async render(context: Context): Promise<(() => void) | undefined> {
    const program = await load();
    return context.signal?.aborted ? undefined : program.render(context);
  },
});
