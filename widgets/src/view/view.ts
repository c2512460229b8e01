// What every view does around its content: its classes, the notebook's shortcuts, and an orderly end.
import type { AnyModel, Render } from "@anywidget/types";
import { suppressShortcuts } from "../jupyter";
import { lostLine } from "./life";
import { Sync } from "./sync";

/** Make anywidget's `render` of a function that fills an element; everything it began ends with the view. */
export function view<M extends object>(
  className: string,
  fill: (root: HTMLElement, sync: Sync<M>) => void,
): Render<M & Record<string, unknown>> {
  return ({ model, el }) => {
    const sync = new Sync<M>(model as AnyModel<M & Record<string, unknown>>, el);
    const classes = ["dra-widget", "dra-view", className];
    el.classList.add(...classes);
    sync.atEnd(suppressShortcuts(el));
    fill(el, sync);
    sync.life.subscribe(() => {
      el.classList.add("is-lost");
      el.append(lostLine());
    });
    return () => {
      sync.end();
      el.replaceChildren();
      el.classList.remove(...classes, "is-lost");
    };
  };
}

/** Call the latest request after a pause, in milliseconds; `now` calls at once. */
export function debounced<T>(pause: number, call: (value: T) => void): { later(value: T): void; end(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    later(value) {
      clearTimeout(timer);
      timer = setTimeout(() => call(value), pause);
    },
    end: () => clearTimeout(timer),
  };
}
