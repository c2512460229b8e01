import { afterEach, beforeEach, expect, test } from "vitest";
import { keepFocus } from "../src/view/focus";

let root: HTMLElement;
let end: () => void;
beforeEach(() => {
  root = document.body.appendChild(document.createElement("div"));
  end = keepFocus(root);
});
afterEach(() => {
  end();
  document.body.replaceChildren();
});

/** Let what watches the page see what changed. */
const seen = () => new Promise<void>((done) => setTimeout(done));
const at = (id: string) => root.querySelector<HTMLElement>(`#${id}`)!;
const focused = () => document.activeElement?.id;

test("a list that is drawn again gives the focus to the element with the same key", async () => {
  root.innerHTML = `<button id="other"></button><ul><li><button id="old" data-key="b"></button></li></ul>`;
  at("old").focus();
  root.innerHTML = `<button id="other"></button><ul><li><button id="new" data-key="b"></button></li></ul>`;
  await seen();
  expect(focused()).toBe("new");
});

test("an element that is gone gives the focus to the nearest one that Tab would reach", async () => {
  root.innerHTML = `<button id="far"></button><div><p><button id="gone"></button></p><button id="near"></button></div>`;
  at("gone").focus();
  root.querySelector("p")!.remove();
  await seen();
  expect(focused()).toBe("near");
});

test("an item of a picture gives the focus away as a button does", async () => {
  root.innerHTML = `<div><svg><g tabindex="0" id="gone"></g></svg><button id="near"></button></div>`;
  root.querySelector<SVGElement>("#gone")!.focus();
  root.querySelector("svg")!.remove();
  await seen();
  expect(focused()).toBe("near");
});

test("a part of a view can say where its focus goes", async () => {
  root.innerHTML = `<button id="home"></button><div data-home="#home"><button id="gone"></button><button id="near"></button></div>`;
  at("gone").focus();
  at("gone").remove();
  await seen();
  expect(focused()).toBe("home");
});

test.each(["hidden", "disabled"])("an element that becomes %s gives the focus away", async (attribute) => {
  root.innerHTML = `<button id="was"></button><button id="near"></button>`;
  at("was").focus();
  at("was").setAttribute(attribute, "");
  await seen();
  expect(focused()).toBe("near");
});

test("a person who pressed elsewhere on the page keeps the focus there", async () => {
  root.innerHTML = `<button id="was"></button><button id="near"></button>`;
  at("was").focus();
  document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }));
  at("was").blur();
  at("was").remove();
  await seen();
  expect(document.activeElement).toBe(document.body);
});
