import { expect, test } from "vitest";
import { drawn, press } from "./fake_model";
import { button, plan } from "./plan_view_model";

const MISFIT = {
  state: "misfit",
  sentence: "Does not fit. No node has 5 free NICs.",
  fixes: [
    { title: "Ask for 4", brings: "fits on 1 of 4 nodes", number: 3 },
    { title: "Prefer the link", brings: "fits on 2 of 4 nodes", number: 1 },
  ],
} as const;

test("the verdict reads the drawing back, and a click on a figure explains it", () => {
  const { el } = plan();
  expect(el.querySelector(".dra-asked")!.textContent).toBe("You ask for 2 GPUs.");
  const tile = el.querySelector<HTMLElement>(".dra-tile-figure")!;
  expect(tile.textContent).toBe("2 of 2GPUs paired");
  tile.click();
  expect(tile.getAttribute("aria-expanded")).toBe("true");
  expect(el.querySelector(".dra-explained")!.textContent).toContain("What it counts.");
});

test("the difference to kube-scheduler is one press away", () => {
  const { el, model } = plan();
  button(el, "Show the difference").click();
  expect(model.sent).toEqual([{ type: "show-difference" }]);
});

test("a change for the previous drawing cannot be applied", async () => {
  const { el, model } = plan({ answer: { ...MISFIT, stale: true, trouble: "half written" } });
  await drawn();
  press(el.querySelector(".dra-answer")!, "Enter");
  button(el, "Ask for 4").click();
  expect(model.sent).toEqual([]);
});

test("why not says the tests of a node with what is left after each", () => {
  const bars = [{ label: "free", count: 0, of: 8, note: "a/b uses 8", short: true }];
  const { el } = plan({ why_not: { title: "Why not n1?", requests: [{ title: "gpu: 2 GPUs", bars }] } });
  expect(button(el, "Why not n1?")).toBeTruthy();
  expect(el.querySelector(".dra-bars tr[data-short]")!.textContent).toBe("free a/b uses 80");
});

test.each(["b g0", "b pci-0"])("a node or device is found by each of its names: %s", async (words) => {
  const nodes = [
    { id: "node-a", label: "a" },
    { id: "node-b", label: "b" },
  ];
  const columns = ["device", "node", "published name"];
  const devices = { columns, ids: ["d/p/g0"], rows: [["g0", "node-b", "pci-0"]], total: 1 };
  const { el, model } = plan({ nodes, devices });
  const field = el.querySelector<HTMLInputElement>(".dra-find input")!;
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(field, words);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
  press(field, "Enter");
  expect(model.sent).toEqual([{ type: "look-at", node: "node-b", device: "d/p/g0" }]);
});
