// The claim as text that a person edits: the canvas follows after a pause, a broken line is marked, nothing is lost.
import type { PlanViewModel } from "../generated/models";
import { freshId, h, icon, refill } from "../view/dom";
import type { Sync } from "../view/sync";

/** How long a person pauses before the text is taken over, in milliseconds. */
export const PAUSE = 400;

/** Around the manifests: a button that opens the editor, and the editor in their place. */
export function yamlEditor(sync: Sync<PlanViewModel>, manifests: HTMLElement): HTMLElement {
  const id = freshId("claim-text");
  const area = h("textarea.dra-editor-text", { id, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Claim as YAML", "aria-describedby": `${id}-told` });
  const gutter = h("div.dra-editor-lines", { "aria-hidden": "true" });
  const told = h("p.dra-editor-told", { id: `${id}-told`, role: "status" });
  const back = h("button.dra-button", { type: "button", hidden: true, onclick: () => begin() }, "Back to the drawing's YAML");
  const done = h("button.dra-button", { type: "button", onclick: () => end() }, icon("check"), "Done");
  const open = h("button.dra-button.dra-editor-open", { type: "button", title: "Edit the claim as text; the canvas follows", onclick: () => (unfinished ? goOn() : begin()) }, "Edit");
  const editor = h("section.dra-editor", { "aria-label": "Edit the claim", hidden: true }, h("div.dra-editor-page", {}, gutter, area), h("div.dra-editor-foot", {}, told, h("span.dra-gap"), back, done));
  let sent = 0;
  // A text that the drawing could not take is kept when the editor is closed.
  let unfinished = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  sync.atEnd(() => clearTimeout(timer));

  const number = () => {
    const wrong = answer().line;
    const count = area.value.split("\n").length;
    gutter.replaceChildren(...Array.from({ length: count }, (_, i) => h(i + 1 === wrong ? "span.is-wrong" : "span", {}, String(i + 1))));
    gutter.scrollTop = area.scrollTop;
  };
  const answer = () => sync.get("claim_answer");
  const tell = () => {
    const now = answer();
    const mine = !editor.hidden && (now.number ?? 0) === sent && sent > 0;
    const words = mine ? (now.message ?? "") : "";
    area.setAttribute("aria-invalid", String(words !== ""));
    back.hidden = words === "";
    refill(told, words ? icon("error") : null, words ? `${now.line ? `Line ${now.line}: ` : ""}${words.replace(/[.]$/, "")}. The drawing stays as it was.` : mine ? "The canvas shows this text." : "The canvas follows when you pause. Ctrl+Z takes back what you typed.");
    told.classList.toggle("is-wrong", words !== "");
    number();
  };
  const send = () => {
    clearTimeout(timer);
    sent += 1;
    sync.send({ type: "edit-claim", text: area.value, number: sent });
  };
  const begin = () => {
    clearTimeout(timer);
    area.value = sync.get("claim_text");
    sent = 0;
    area.setSelectionRange(0, 0);
    goOn();
  };
  const goOn = () => {
    editor.hidden = false;
    manifests.hidden = open.hidden = true;
    tell();
    area.focus();
  };
  const end = () => {
    if (area.value !== sync.get("claim_text") && !(sent > 0 && answer().number === sent)) send();
    editor.hidden = true;
    manifests.hidden = open.hidden = false;
    label();
    open.focus();
  };
  const label = () => {
    unfinished = sent > 0 && answer().number === sent && Boolean(answer().message);
    open.textContent = unfinished ? "Go on with your text" : "Edit";
  };
  area.addEventListener("input", () => {
    number();
    clearTimeout(timer);
    timer = setTimeout(send, PAUSE);
  });
  area.addEventListener("scroll", () => (gutter.scrollTop = area.scrollTop));
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Escape") (event.preventDefault(), end());
    // The canvas' own undo would take back the drawing while the text is being written.
    else if ((event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase())) event.stopPropagation();
  });
  sync.watch(["claim_answer"], () => (tell(), label()));
  sync.watch(["claim_text"], () => {
    // What is being typed is the person's; only an editor that nobody has touched follows the drawing.
    if (!editor.hidden && sent === 0 && timer === undefined) (area.value = sync.get("claim_text")), number();
  });
  return h("div.dra-yaml-pane", {}, open, manifests, editor);
}
