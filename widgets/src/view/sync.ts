// The one place where a view touches its model: reading, writing, messages, and listeners that end with the view.
import type { AnyModel } from "@anywidget/types";
import { Life } from "./life";

/** What the browser says to Python: always an object with a `type`. */
export type Message = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A model as a view sees it, for as long as the view lives. */
export class Sync<M extends object> {
  private readonly endings: (() => void)[] = [];
  private ended = false;
  readonly life: Life;

  constructor(
    private readonly model: AnyModel<M & Record<string, unknown>>,
    root?: Element,
  ) {
    this.life = new Life(model as unknown as AnyModel<never>, root);
  }

  get<K extends keyof M & string>(key: K): M[K] {
    return this.model.get(key) as M[K];
  }

  /** Write a value that Python takes as well; an equal one is not sent, and none once the kernel is gone. */
  set<K extends keyof M & string>(key: K, value: M[K]): void {
    if (this.life.isOver() || this.model.get(key) === value) return;
    this.model.set(key, value as (M & Record<string, unknown>)[K]);
    this.model.save_changes();
  }

  send(message: Message, piece?: ArrayBuffer): void {
    if (this.life.isOver()) return;
    if (piece) this.model.send(message, undefined, [piece]);
    else this.model.send(message);
  }

  /** Draw now, and once after every message that changes one of the traits. */
  watch(keys: readonly (keyof M & string)[], draw: () => void): void {
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        if (!this.ended) draw();
      });
    };
    for (const key of keys) {
      this.model.on(`change:${key}`, later);
      this.endings.push(() => this.model.off(`change:${key}`, later));
    }
    draw();
  }

  /** Listen outside the view (window, document) for as long as it lives. */
  listen<T extends Event>(target: EventTarget, type: string, handler: (event: T) => void, capture = false): void {
    target.addEventListener(type, handler as EventListener, capture);
    this.endings.push(() => target.removeEventListener(type, handler as EventListener, capture));
  }

  /** Run something when the view ends (clear a timer, disconnect an observer). */
  atEnd(ending: () => void): void {
    this.endings.push(ending);
  }

  end(): void {
    this.ended = true;
    this.life.end();
    for (const ending of this.endings.splice(0)) ending();
  }
}
