// The PCIe/NUMA graph page over the view, shut off from the notebook by a sandbox.
import type { HardwareViewModel } from "../generated/models";
import { h, icon } from "../view/dom";
import type { Sync } from "../view/sync";

export function graphPanel(sync: Sync<HardwareViewModel>, back: () => HTMLElement): HTMLElement {
  const root = h("section.dra-graph", { "aria-label": "PCIe and NUMA graph", hidden: true });
  const close = () => {
    sync.send({ type: "close-graph" });
    back().focus();
  };
  root.addEventListener("keydown", (event) => event.key === "Escape" && (event.preventDefault(), close()));
  sync.watch(["graph_html"], () => {
    const page = sync.get("graph_html");
    const opens = root.hidden && page !== "";
    root.hidden = !page;
    if (!page) {
      root.replaceChildren();
      return;
    }
    const frame = h("iframe", { sandbox: "allow-scripts", title: `Graph of ${sync.get("node")}` });
    // The page follows the browser's colour scheme, which is not JupyterLab's theme.
    const light = document.body.dataset["jpThemeLight"];
    const theme = light === undefined ? "" : ` class="dra-${light === "false" ? "dark" : "light"}"`;
    frame.srcdoc = page.replace('<html lang="en">', `<html lang="en"${theme}>`);
    const button = h("button.dra-button", { type: "button", onclick: close }, icon("cross"), "Close");
    root.replaceChildren(h("div.dra-graph-head", {}, h("h3", {}, `Graph of ${sync.get("node")}`), button), frame);
    if (opens) button.focus();
  });
  return root;
}
