// Whether the kernel behind a view still answers. A kernel that is restarted, shut down or exchanged takes the model
// with
// it; the view stays on the page and would look alive.
import type { Model } from "./channel";

/**
 * What the JupyterLab extension says on `window` when a notebook has lost its kernel: `detail.inside` are the pages.
 */
export const KERNEL_GONE = "dra-lab:kernel-gone";
/** What a view asks of the extension: run the cells up to its own. */
export const RUN_AGAIN = "dra-lab:run-again";

/** Events of a model after which nothing can be sent: its connection is lost, the kernel closed it, it is gone. */
const LAST = ["comm_live_update", "comm:close", "destroy"] as const;

export class Life {
  private over = false;
  private readonly calls = new Set<() => void>();
  private readonly endings: (() => void)[] = [];

  constructor(model: Model, root?: Element) {
    const end = () => this.lose();
    for (const name of LAST) {
      model.on(name, end);
      this.endings.push(() => model.off(name, end));
    }
    const gone = (event: Event) => {
      const pages = (event as CustomEvent<{ inside?: Element[] } | null>).detail?.inside ?? [];
      if (root && pages.some((page) => page.contains(root))) this.lose();
    };
    window.addEventListener(KERNEL_GONE, gone);
    this.endings.push(() => window.removeEventListener(KERNEL_GONE, gone));
  }

  /** Whether nothing that is said here arrives any more; it never becomes false again. */
  readonly isOver = (): boolean => this.over;

  /** Call when it is over; returns what ends that. */
  readonly subscribe = (call: () => void): (() => void) => {
    this.calls.add(call);
    return () => this.calls.delete(call);
  };

  end(): void {
    for (const ending of this.endings.splice(0)) ending();
    this.calls.clear();
  }

  private lose(): void {
    if (this.over) return;
    this.over = true;
    for (const call of [...this.calls]) call();
  }
}

export const LOST = "The kernel has stopped. This is the last answer; run the cell to continue.";

/** Ask for the cells of an element to be run; returns whether somebody does it. */
export function runAgain(element: Element): boolean {
  return !window.dispatchEvent(new CustomEvent(RUN_AGAIN, { detail: { element }, cancelable: true }));
}
