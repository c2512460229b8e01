import { expect, test } from "vitest";
import { arrange, fitting } from "../src/components/table";
import { drawn, HOSTILE } from "./fake_model";
import { fakeTimers, plan } from "./plan_view_model";

fakeTimers();

test("a suggestion that sets selectors can be applied, another can be read", async () => {
  const { el, model } = plan();
  model.set("suggestions", [{ title: "Place both on NUMA node 0", number: 0 }, { title: "Relax the link" }]);
  await drawn();
  const buttons = [...el.querySelectorAll("button")].filter((one) => one.textContent!.startsWith("Apply"));
  expect(buttons.length).toBe(1);
  buttons[0]!.click();
  expect(model.sent).toEqual([{ type: "apply-suggestion", number: 0 }]);
});

test("a goal that is not proven says how good it may still get", async () => {
  const { el, model } = plan();
  const open = { goal: "unpaired", label: "GPUs paired", best: 2, number: "4 of 6", caption: "GPUs paired" };
  model.set("goals", [{ ...open, bound: 1, atBest: "5 of 6 GPUs paired" }]);
  await drawn();
  expect(el.querySelector(".dra-goal-value")!.textContent).toBe(
    "4 of 6 GPUs paired not proven, at best 5 of 6 GPUs paired, gap 1",
  );
});

test("a column of the devices has room for its longest text, to a limit", () => {
  const rows = [["a-node.of.a-long.domain.example.org"], ["n"], ["x".repeat(253)]];
  const width = (count: number) =>
    fitting(
      ["node"],
      rows.slice(0, count).map((cells) => ({ id: "", cells })),
    )[0] ?? 0;
  expect(width(1)).toBeGreaterThan(34 * 7);
  expect(width(2)).toBe(width(1));
  expect(width(3)).toBe(340);
  const { el } = plan({
    devices: { columns: ["node"], ids: ["d/p/g0"], rows: rows.slice(0, 1), total: 1 },
    chosen: {},
  });
  expect(el.querySelector<HTMLElement>(".dra-long-table")!.style.getPropertyValue("--dra-columns")).toContain(
    `${width(1)}px`,
  );
});

test("chosen devices come first in the table with the letter of their request", () => {
  const { el } = plan({
    devices: { columns: ["device"], ids: ["d/p/n0", "d/p/g0"], rows: [["n0"], ["g0"]], total: 2 },
  });
  expect([...el.querySelectorAll(".dra-tbody .dra-tr")].map((row) => row.textContent)).toEqual(["A gpug0", "n0"]);
});

test("a table of ninety thousand rows puts only those on the page that can be seen", () => {
  const ids = Array.from({ length: 90_000 }, (_, i) => `d/p/${i}`);
  const { el } = plan({
    devices: { columns: ["device"], ids, rows: ids.map((id) => [id]), total: ids.length },
    chosen: {},
  });
  expect(el.querySelectorAll(".dra-tbody .dra-tr").length).toBeLessThan(60);
  expect(el.querySelector(".dra-tpane")!.getAttribute("aria-rowcount")).toBe("90001");
});

test("a table is filtered by every word and sorted as people count", () => {
  const rows = ["gpu-10 busy", "gpu-9 free", "nic-1 free"].map((text, i) => ({
    id: String(i),
    cells: text.split(" "),
  }));
  const names = (list: readonly { cells: readonly string[] }[]) => list.map((row) => row.cells[0]);
  expect(names(arrange(rows, "GPU free", -1, false))).toEqual(["gpu-9"]);
  expect(names(arrange(rows, "", 0, false))).toEqual(["gpu-9", "gpu-10", "nic-1"]);
  expect(names(arrange(rows, "", 0, true))).toEqual(["nic-1", "gpu-10", "gpu-9"]);
});

test("a colour can only be a colour", async () => {
  const { el, model } = plan({ yaml: "kind: Pod\n" });
  model.set("badges", { gpu: { letter: "A", colour: "red;background:url(http://x)", textColour: "#fff" } });
  model.set("yaml_marks", { "1": "A" });
  await drawn();
  expect(el.querySelector("[data-letter]")).not.toBeNull();
  expect(el.innerHTML).not.toContain("url(");
});

test("counts after each test are a table, and text of a cluster stays text", async () => {
  const { el, model } = plan({ reasons: [{ rule: "link", subject: "", message: "no" }] });
  model.set("why", {
    lines: [`Fragmentation: ${HOSTILE}`],
    tried: ["Tried in vain"],
    funnels: [
      {
        title: "gpu: 5 needed",
        columns: ["nodes", "published"],
        legend: [["class 1", HOSTILE]],
        rows: [["n1", "8"]],
        more: 3,
      },
    ],
  });
  await drawn();
  expect(el.querySelector(".dra-funnel")!.textContent).toContain(`gpu: 5 needednodespublishedn183 more kinds of nodes`);
  expect(el.querySelector(".dra-why .dra-points li")!.textContent).toBe(`Fragmentation: ${HOSTILE}`);
});
