import { afterEach, beforeAll, expect, test, vi } from "vitest";
import * as widget from "../src/canvas/canvas";
import type { ClaimCanvasModel, ClaimSketch } from "../src/generated/models";
import { FakeModel } from "./fake_model";

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

// jsdom has none of its own
vi.stubGlobal("CSS", { escape: (text: string) => text });

const SKETCH: ClaimSketch = { requests: [{ name: "gpu", exactly: { deviceClassName: "c" } }] };

function mount(values: Partial<ClaimCanvasModel> = {}) {
  const model = new FakeModel<ClaimCanvasModel>({
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
