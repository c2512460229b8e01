import { afterEach, beforeAll, expect, test, vi } from "vitest";
import * as widget from "../src/canvas/canvas";
import type { ClaimCanvasModel, ClaimSketch } from "../src/generated/models";

beforeAll(() => {
  // What jsdom lacks and React Flow asks for when it is mounted.
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", false);
});
afterEach(() => document.body.replaceChildren());

/** The kernel's side of the model: values, listeners, and what was sent. */
class FakeModel {
  readonly listeners = new Map<string, Set<() => void>>();
  readonly sent: unknown[] = [];
  saved = 0;
  constructor(readonly values: ClaimCanvasModel) {}
  get(name: keyof ClaimCanvasModel) {
    return this.values[name];
  }
  set(name: string, value: unknown) {
    (this.values as unknown as Record<string, unknown>)[name] = value;
    this.listeners.get(`change:${name}`)?.forEach((listener) => void listener());
  }
  on(event: string, listener: () => void) {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(listener));
  }
  off(event: string, listener: () => void) {
    this.listeners.get(event)?.delete(listener);
  }
  save_changes() {
    this.saved += 1;
  }
  send(message: unknown) {
    this.sent.push(message);
  }
  get listening() {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

// jsdom has none of its own
vi.stubGlobal("CSS", { escape: (text: string) => text });

const SKETCH: ClaimSketch = { requests: [{ name: "gpu", exactly: { deviceClassName: "c" } }] };

function mount(values: Partial<ClaimCanvasModel> = {}) {
  const model = new FakeModel({
    sketch: {},
    status: {},
    palette: [],
    positions: {},
    history: {},
    problems: [],
    gang: {},
    configured: {},
    highlight: "",
    mode: "plan",
    problem: "",
    read_only: false,
    height: 300,
    ...values,
  });
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el } as never) as () => void;
  return { model, el, end };
}
const shown = (el: Element, selector: string) =>
  vi.waitFor(() => {
    const found = el.querySelector(selector);
    if (!found) throw new Error(`no ${selector}`);
    return found as HTMLElement;
  });

test("taking the widget down leaves no listener on the model or the window", async () => {
  const windowListeners = {
    add: vi.spyOn(window, "addEventListener"),
    remove: vi.spyOn(window, "removeEventListener"),
  };
  const { model, el, end } = mount({ sketch: SKETCH });
  await shown(el, ".dra-box");
  expect(model.listening).toBeGreaterThan(0);
  end();
  await vi.waitFor(() => expect(model.listening).toBe(0));
  const ours = (calls: unknown[][]) =>
    calls.filter(([name, , capture]) => name === "keydown" && capture === true).length;
  expect(ours(windowListeners.remove.mock.calls)).toBe(ours(windowListeners.add.mock.calls));
  expect(el.querySelector(".dra-canvas")).toBeNull();
});

test("text from a cluster is text", async () => {
  const hostile = "<img src=x onerror=alert(1)>";
  const { el, end } = mount({
    sketch: SKETCH,
    status: { requests: { gpu: { label: hostile, text: hostile } } },
    palette: [{ key: "k", label: hostile, deviceClass: "c" }],
  });
  await shown(el, ".dra-box");
  expect(el.querySelector("img")).toBeNull();
  expect((await shown(el, ".dra-box-class")).textContent).toBe(hostile);
  end();
});

test("the palette tells the use of devices in the words of Python, which knows what was read", async () => {
  const row = { key: "k", label: "GPU", deviceClass: "c", use: "1,200, use unknown" };
  const { el, end } = mount({ sketch: SKETCH, palette: [row] });
  expect((await shown(el, ".dra-chip small")).textContent).toBe("1,200, use unknown");
  end();
});

test("undo is asked of Python and not done here", async () => {
  const { model, el, end } = mount({ sketch: SKETCH, history: { canUndo: true } });
  (await shown(el, "[aria-label='Undo (Ctrl+Z)']")).click();
  expect(model.sent).toEqual([{ type: "undo" }]);
  expect(model.values.sketch).toBe(SKETCH);
  end();
});

test("a canvas to look at offers nothing that changes it", async () => {
  const { el, end } = mount({ sketch: SKETCH, read_only: true, palette: [{ key: "k", label: "x", deviceClass: "c" }] });
  await shown(el, ".dra-box");
  expect((await shown(el, ".dra-chip")).matches(":disabled")).toBe(true);
  expect(el.querySelector(".dra-stepper button, [aria-label^='Undo'], [aria-label^='Clear'], .dra-delete")).toBeNull();
  end();
});

test("the frame of a gang says what is kept together, and Delete removes it", async () => {
  const gang = { size: 4, level: "rack", hierarchy: "fabric", words: "1 gang of 4 pods, all in one rack", levels: [] };
  const { model, el, end } = mount({ sketch: SKETCH, gang });
  const frame = await shown(el, '.react-flow__node[data-id="g:"]');
  expect(frame.getAttribute("aria-label")).toBe(`Gang: ${gang.words}. Enter edits it, Delete removes it.`);
  (await shown(el, '.react-flow__node[data-id="g:"] .dra-frame-head')).click();
  expect((await shown(el, ".dra-inspector h3")).textContent).toBe("Pods that start together");
  (await shown(el, ".dra-delete")).click();
  expect(model.sent).toContainEqual({ type: "set-gang", gang: null });
  end();
});

test("the link between all pods of a gang is tied to the requests that it binds, and Delete removes it", async () => {
  const sames = [{ name: "rail", label: "rail", requests: ["nic"] }];
  const own = { link: "same rails in all pods", values: "rails 2 and 6", same: ["rail"], sames };
  const gang = { size: 4, words: "1 gang of 4 pods, all on the same rails", levels: [], ...own };
  const { model, el, end } = mount({ sketch: SKETCH, gang });
  const knot = await shown(el, '.react-flow__node[data-id="s:"]');
  expect(knot.getAttribute("aria-label")).toBe(
    "Link: same rails in all pods, rails 2 and 6. Enter edits it, Delete removes it.",
  );
  (await shown(el, ".dra-knot.is-same")).click();
  expect((await shown(el, ".dra-inspector h3")).textContent).toBe("Link: same rails in all pods");
  expect(el.querySelector(".dra-inspector .dra-note")?.textContent).toContain("The plan uses the rails 2 and 6.");
  (await shown(el, ".dra-delete")).click();
  expect(model.sent.at(-1)).toMatchObject({ type: "set-gang", gang: { size: 4, same: [] } });
  end();
});

test("G asks for a frame around what is drawn", async () => {
  const { model, el, end } = mount({ sketch: SKETCH });
  await shown(el, ".dra-box");
  el.querySelector(".dra-board")?.dispatchEvent(new KeyboardEvent("keydown", { key: "g", bubbles: true }));
  expect(model.sent).toEqual([{ type: "make-gang" }]);
  end();
});
