import { act } from "react";
import { createRoot } from "react-dom/client";
import { vi } from "vitest";

vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
// React listens once on a document, for good: not part of what a test counts.
createRoot(document.createElement("div"));

/** Draw what an event changes before the test goes on. */
function drawAfter<K extends string>(prototype: Record<K, (...given: never[]) => unknown>, name: K): void {
  const original = prototype[name];
  prototype[name] = function drawn(this: unknown, ...given: never[]): unknown {
    let result: unknown;
    act(() => {
      result = original.apply(this, given);
    });
    return result;
  };
}
drawAfter(EventTarget.prototype as never, "dispatchEvent");
drawAfter(HTMLElement.prototype as never, "click");

/** jsdom has no popovers: a panel is hidden and shown, and says so, as a browser does it. */
HTMLElement.prototype.togglePopover = function toggle(
  this: HTMLElement,
  options?: boolean | { force?: boolean },
): boolean {
  this.hidden = !(typeof options === "boolean" ? options : this.hidden);
  const newState = this.hidden ? "closed" : "open";
  this.dispatchEvent(Object.assign(new Event("beforetoggle"), { newState }));
  return !this.hidden;
};
document.addEventListener("click", ({ target }) => {
  const panel = (target as Element).closest("[popovertarget]")?.getAttribute("popovertarget");
  if (panel) document.getElementById(panel)?.togglePopover();
});

/** Let time pass, in milliseconds, and draw what it changes. */
export const pass = (time: number): void => act(() => void vi.advanceTimersByTime(time));

/** The kernel's side of a widget: values, listeners and what the browser said. */
export class FakeModel<M extends object> {
  readonly listeners = new Map<string, Set<() => void>>();
  readonly sent: { type: string; [key: string]: unknown }[] = [];
  saved = 0;

  constructor(readonly values: M) {}

  get(name: keyof M): unknown {
    return this.values[name];
  }
  set(name: keyof M & string, value: unknown): void {
    (this.values as Record<string, unknown>)[name] = value;
    this.listeners.get(`change:${name}`)?.forEach((listener) => void listener());
  }
  on(event: string, listener: () => void): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(listener));
  }
  off(event: string, listener: () => void): void {
    this.listeners.get(event)?.delete(listener);
  }
  save_changes(): void {
    this.saved += 1;
  }
  send(message: { type: string }): void {
    this.sent.push(message);
  }
  get listening(): number {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

/** Put a widget on the page; `outside` counts the listeners that it has on window and document. */
export function mount<M extends object>(widget: { render: unknown }, values: M) {
  const model = new FakeModel<M>(values);
  const el = document.body.appendChild(document.createElement("div"));
  const outside = new Set<string>();
  const spies = [window, document].map((target) => {
    const [add, remove] = [target.addEventListener.bind(target), target.removeEventListener.bind(target)];
    const key = (type: string, handler: unknown, capture: unknown) => `${type} ${capture === true} ${id(handler)}`;
    target.addEventListener = ((type: string, handler: EventListener, how: boolean | AddEventListenerOptions) => {
      // jsdom itself listens so, for good, once a selector is applied to a document that a view has parsed.
      if (typeof how !== "object" || !how.passive) outside.add(key(type, handler, how));
      add(type, handler, how);
    }) as never;
    target.removeEventListener = ((type: string, handler: EventListener, capture: boolean) => (
      outside.delete(key(type, handler, capture)), remove(type, handler, capture)
    )) as never;
    return () => ((target.addEventListener = add as never), (target.removeEventListener = remove as never));
  });
  let end: () => void = () => undefined;
  act(() => {
    end = (widget.render as (context: object) => () => void)({ model, el });
  });
  for (const panel of el.querySelectorAll<HTMLElement>("[popover]")) panel.hidden = true;
  return {
    model,
    el,
    outside,
    end: () => {
      act(end);
      spies.forEach((restore) => void restore());
    },
  };
}

const ids = new Map<unknown, number>();
function id(value: unknown): number {
  if (!ids.has(value)) ids.set(value, ids.size);
  return ids.get(value) ?? -1;
}

/** Let what a view draws after a message be drawn. */
export const drawn = (): Promise<void> => act(async () => undefined);

/** Type a text into a field, as a person does: React hears of it. */
export function type(field: HTMLInputElement, text: string): void {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(field, text);
  act(() => void field.dispatchEvent(new Event("input", { bubbles: true })));
}

/** Press a key on an element. */
export function press(target: Element, key: string): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
  return event;
}

export const HOSTILE = `<img src=x onerror="window.hacked=1">`;
