// Copy and Write to folder, at the end of the tab bar.
import type { PlanViewModel } from "../generated/models";
import { copyText } from "../view/copy";
import { freshId, h, icon, onEnter, refill } from "../view/dom";
import { popover } from "../view/popover";
import type { Sync } from "../view/sync";

/** How long a button says that it was done, in milliseconds. */
const DONE = 2000;

/** `select` marks the text on the screen where the clipboard is barred. */
export function tools(sync: Sync<PlanViewModel>, select: () => void): { root: HTMLElement; panel: HTMLElement } {
  const told = h("span.dra-told", { role: "status" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  sync.atEnd(() => clearTimeout(timer));
  const say = (words: string) => {
    told.textContent = words;
    clearTimeout(timer);
    timer = setTimeout(() => (told.textContent = ""), DONE);
  };
  const copy = async () => say(await copyText(sync.get("yaml"), select));
  const write = h("button.dra-button", { type: "button" }, icon("folder"), "Write to folder");
  const over = popover(sync, write, "Write the manifests to a folder", () => field);
  const id = freshId("folder");
  const field = h("input.dra-field", { id, type: "text", spellcheck: "false", autocomplete: "off" });
  const result = h("div.dra-written", { role: "status" });
  const force = h("input", { type: "checkbox" });
  const send = () => {
    sync.send({ type: "write", folder: field.value, ...(force.checked && { overwrite: true }) });
    // Asked for once: the next change by hand is found again.
    force.checked = false;
  };
  onEnter(field, send);
  over.panel.classList.add("dra-write-panel");
  over.panel.append(
    h("label.dra-hint", { for: id }, "Folder, seen from the notebook"),
    h("div.dra-row", {}, field, h("button.dra-button.dra-primary", { type: "button", onclick: send }, "Write")),
    h("label.dra-hint.dra-force", {}, force, "Overwrite files that were changed by hand"),
    result,
  );
  sync.watch(["folder"], () => (field.value = sync.get("folder")));
  sync.watch(["written", "problem"], () => {
    const [files, problem] = [sync.get("written"), sync.get("problem")];
    refill(
      result,
      problem ? h("p.dra-wrong", {}, problem) : null,
      files.length ? h("p.dra-good", {}, "Written:") : null,
      files.length ? h("ul", {}, ...files.map((file) => h("li", {}, h("code", {}, file)))) : null,
    );
  });
  const root = h(
    "div.dra-tools-right",
    {},
    told,
    h("button.dra-button", { type: "button", onclick: () => void copy() }, icon("copy"), "Copy"),
    write,
  );
  return { root, panel: over.panel };
}
