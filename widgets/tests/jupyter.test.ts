import { afterEach, expect, test } from "vitest";
import { suppressShortcuts } from "../src/view/widget";

const ATTRIBUTE = "data-lm-suppress-shortcuts";
afterEach(() => document.body.replaceChildren());

function widget() {
  const root = document.body.appendChild(document.createElement("div"));
  const input = root.appendChild(document.createElement("input"));
  return { root, input, end: suppressShortcuts(root) };
}

test("the focused element itself is marked, since the notebook looks there first", () => {
  const { input, end } = widget();
  input.focus();
  expect(input.getAttribute(ATTRIBUTE)).toBe("true");
  end();
});

test("saving stays the notebook's key inside a widget", () => {
  const { input, end } = widget();
  input.focus();
  let seen: string | null = "not asked";
  document.addEventListener("keydown", () => (seen = input.getAttribute(ATTRIBUTE)), { capture: true, once: true });
  input.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true, bubbles: true }));
  expect(seen).toBeNull();
  end();
});

test("nothing is marked after the widget has gone", () => {
  const { input, end } = widget();
  end();
  input.focus();
  expect(input.hasAttribute(ATTRIBUTE)).toBe(false);
});
