// The claim as text that a person edits: the canvas follows after a pause, a broken line is marked, nothing is lost.
import type { PlanViewModel } from "../generated/models";
import { freshId, h, icon, refill } from "../view/dom";
import type { Sync } from "../view/sync";

/** How long a person pauses before the text is taken over, in milliseconds. */
export const PAUSE = 400;

/** Around the manifests: a button that opens the editor, and the editor in their place. */
export function yamlEditor(sync: Sync<PlanViewModel>, manifests: HTMLElement): HTMLElement {
  const id = freshId("claim-text");
  const area = h("textarea.dra-editor-text", {
    id,
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
    wrap: "off",
    "aria-label": "Claim as YAML",
    "aria-describedby": `${id}-told`,
  });
  const gutter = h("div.dra-editor-lines", { "aria-hidden": "true" });
  const told = h("p.dra-editor-told", { id: `${id}-told`, role: "status" });
  const back = h(
    "button.dra-button",
    { type: "button", hidden: true, onclick: () => begin() },
    "Back to the drawing's YAML",
  );
  const done = h("button.dra-button", { type: "button", onclick: () => end() }, icon("check"), "Done");
  const open = h(
    "button.dra-button.dra-editor-open",
    {
      type: "button",
      title: "Edit the claim as text; the canvas follows",
      onclick: () => (unfinished ? goOn() : begin()),
    },
    "Edit",
  );
  const fix = h("button.dra-button", { type: "button", hidden: true, onclick: () => correct() });
  const fixes = h("ul.dra-fixes", { hidden: true, "aria-label": "Corrections" });
  // Of the drawing's own text, beside the manifests.
  const fixDrawing = h("button.dra-button.dra-fix-open", {
    type: "button",
    title: "Correct the drawing; Ctrl+Z undoes",
    onclick: () => sync.send({ type: "fix-claim" }),
  });
  const drawingFixes = h("ul.dra-fixes", { "aria-label": "Corrections" });
  const editor = h(
    "section.dra-editor",
    { "aria-label": "Edit the claim", hidden: true },
    h("div.dra-editor-page", {}, gutter, area),
    fixes,
    h("div.dra-editor-foot", {}, told, h("span.dra-gap"), fix, back, done),
  );
  // The number of the latest text that was sent, 0 while nobody has typed; numbers go on where the page before ended.
  let sent = 0;
  let last = Math.max(sync.get("claim_answer").number ?? 0, sync.get("claim_number"));
  // A text that the drawing could not take is kept when the editor is closed.
  let unfinished = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The text for which corrections were asked, and whether they are being written: nobody types then.
  let asked = "";
  let quiet = false;

  const number = () => {
    const wrong = answer().line;
    const count = area.value.split("\n").length;
    gutter.replaceChildren(
      ...Array.from({ length: count }, (_, i) => h(i + 1 === wrong ? "span.is-wrong" : "span", {}, String(i + 1))),
    );
    gutter.scrollTop = area.scrollTop;
  };
  const answer = () => sync.get("claim_answer");
  const tell = () => {
    const now = answer();
    const mine = !editor.hidden && (now.number ?? 0) === sent && sent > 0;
    const words = mine ? (now.message ?? "") : "";
    const rows = mine ? (now.fixes ?? []) : [];
    fix.hidden = !rows.length || Boolean(now.text);
    fix.textContent = correctWords(rows.length);
    fixes.hidden = !rows.length;
    refill(
      fixes,
      ...rows.map((row) =>
        h("li", {}, `${now.text ? "Corrected: " : ""}${row.line ? `line ${row.line}, ` : ""}${row.text}`),
      ),
    );
    area.setAttribute("aria-invalid", String(words !== ""));
    back.hidden = words === "";
    refill(
      told,
      words ? icon("error") : null,
      words
        ? `${now.line ? `Line ${now.line}: ` : ""}${words.replace(/[.]$/, "")}. The drawing stays as it was.`
        : mine
          ? "The canvas shows this text."
          : "The canvas follows when you pause. Ctrl+Z takes back what you typed.",
    );
    told.classList.toggle("is-wrong", words !== "");
    number();
  };
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const send = () => {
    stop();
    sent = last += 1;
    sync.send({ type: "edit-claim", text: area.value, number: sent });
  };
  const correct = () => {
    stop();
    sent = last += 1;
    asked = area.value;
    sync.send({ type: "fix-claim", text: asked, number: sent });
  };
  const takeCorrected = () => {
    const now = answer();
    if (editor.hidden || !now.text || now.number !== sent || area.value !== asked || now.text === asked) return;
    asked = "";
    quiet = true;
    typeOver(area, now.text);
    quiet = false;
  };
  const offer = () => {
    const rows = sync.get("claim_fixes");
    fixDrawing.hidden = drawingFixes.hidden = !rows.length || !editor.hidden;
    fixDrawing.textContent = correctWords(rows.length);
    refill(drawingFixes, ...rows.map((row) => h("li", {}, row.text)));
  };
  const begin = () => {
    stop();
    area.value = sync.get("claim_text");
    sent = 0;
    area.setSelectionRange(0, 0);
    goOn();
  };
  const goOn = () => {
    editor.hidden = false;
    manifests.hidden = open.hidden = true;
    offer();
    tell();
    area.focus();
  };
  const end = () => {
    if (area.value !== sync.get("claim_text") && !(sent > 0 && answer().number === sent)) send();
    editor.hidden = true;
    manifests.hidden = open.hidden = false;
    offer();
    label();
    open.focus();
  };
  const label = () => {
    unfinished = sent > 0 && answer().number === sent && Boolean(answer().message);
    open.textContent = unfinished ? "Go on with your text" : "Edit";
  };
  area.addEventListener("input", () => {
    number();
    if (quiet) return;
    stop();
    timer = setTimeout(send, PAUSE);
  });
  area.addEventListener("scroll", () => (gutter.scrollTop = area.scrollTop));
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Escape") event.preventDefault(), end();
    // The canvas' own undo would take back the drawing while the text is being written.
    else if ((event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase())) {
      event.stopPropagation();
      const again = event.shiftKey || event.key.toLowerCase() === "y";
      // Inside JupyterLab the key alone does not always reach the text's own history.
      if (document.execCommand?.(again ? "redo" : "undo")) event.preventDefault();
    }
  });
  sync.watch(["claim_answer"], () => (takeCorrected(), tell(), label()));
  sync.watch(["claim_fixes"], offer);
  sync.watch(["claim_text", "claim_number"], () => {
    // What is being typed, waits or was refused is the person's, and so is the form of a text that the drawing shows.
    const settled = sent === 0 || (answer().number === sent && !answer().message);
    if (editor.hidden || timer !== undefined || !settled || (sent > 0 && sync.get("claim_number") === sent)) return;
    sent = 0;
    replaceText(area, sync.get("claim_text"));
    tell();
  });
  sync.atEnd(stop);
  return h("div.dra-yaml-pane", {}, open, fixDrawing, drawingFixes, manifests, editor);
}

function correctWords(count: number): string {
  return `Correct ${count} problem${count === 1 ? "" : "s"}`;
}

/** Write another text as if a person had typed it: Ctrl+Z brings the old one back. */
function typeOver(area: HTMLTextAreaElement, text: string): void {
  const [top, left] = [area.scrollTop, area.scrollLeft];
  area.focus();
  area.select();
  // The one way to change a text and keep the browser's own undo history; where it is missing the text is set.
  if (!document.execCommand?.("insertText", false, text)) area.value = text;
  area.setSelectionRange(0, 0);
  [area.scrollTop, area.scrollLeft] = [top, left];
}

/** Put another text in the place of one that is being looked at: the caret stays where it is read, and nothing scrolls. */
function replaceText(area: HTMLTextAreaElement, text: string): void {
  const old = area.value;
  if (text === old) return;
  const [from, to] = [moved(area.selectionStart, old, text), moved(area.selectionEnd, old, text)];
  const [top, left] = [area.scrollTop, area.scrollLeft];
  area.value = text;
  area.setSelectionRange(from, to);
  [area.scrollTop, area.scrollLeft] = [top, left];
}

/** Where a place of one text is in another: at its line where no line came or went, else behind or before what is equal. */
function moved(at: number, old: string, text: string): number {
  const [before, after] = [old.split("\n"), text.split("\n")];
  if (before.length === after.length) {
    const line = old.slice(0, at).split("\n").length - 1;
    const start = after.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    const column = at - before.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    return start + Math.min(column, after[line]?.length ?? 0);
  }
  const most = Math.min(old.length, text.length);
  let head = 0;
  while (head < most && old[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  return at <= head ? at : at >= old.length - tail ? at + text.length - old.length : head;
}
