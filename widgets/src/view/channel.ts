// The one place where a widget touches its model: reading, writing, messages.
import { Life } from "./life";

/** What is used of the model that anywidget gives to a widget. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
}

/** A model with traits `M` that takes messages `S`; nothing is written or sent once its kernel is gone. */
export class Channel<M extends object, S extends object> {
  readonly life: Life;

  constructor(
    private readonly model: Model,
    root?: Element,
  ) {
    this.life = new Life(model, root);
  }

  get<K extends keyof M & string>(name: K): M[K] {
    return this.model.get(name) as M[K];
  }

  /** Write values that Python takes as well, in one message; what is equal already is not sent. */
  set(values: Partial<M>): void {
    if (this.life.isOver()) return;
    const changed = Object.entries(values).filter(([name, value]) => this.model.get(name) !== value);
    for (const [name, value] of changed) this.model.set(name, value);
    if (changed.length) this.model.save_changes();
  }

  /** Change values for the views of this page only: Python is not told. */
  show(values: Partial<M>): void {
    if (this.life.isOver()) return;
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
  }

  send(message: S, piece?: ArrayBuffer): void {
    if (this.life.isOver()) return;
    if (piece) this.model.send(message, undefined, [piece]);
    else this.model.send(message);
  }

  /** Call after each change of a trait; returns what ends that. */
  on(name: keyof M & string, call: () => void): () => void {
    this.model.on(`change:${name}`, call);
    return () => this.model.off(`change:${name}`, call);
  }
}
