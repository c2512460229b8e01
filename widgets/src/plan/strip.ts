// The answer strip: one sentence, its figures, and how far a solve is. It never moves and is never blank.
import type { AnswerRow, PlanViewModel } from "../generated/models";
import { h, icon, refill, type Icon } from "../view/dom";
import type { Sync } from "../view/sync";

/** How long the last answer may look like the present one, in milliseconds. */
export const STALE_AFTER = 150;

const SIGNS: Readonly<Record<NonNullable<AnswerRow["state"]>, Icon>> = {
  fits: "check",
  misfit: "cross",
  empty: "note",
  error: "error",
  stopped: "warning",
  solving: "dots",
};
/** What the sign says, for those who do not see it. */
const WORDS: Readonly<Record<NonNullable<AnswerRow["state"]>, string>> = {
  fits: "Fits",
  misfit: "Does not fit",
  empty: "Nothing drawn",
  error: "No answer",
  stopped: "Stopped",
  solving: "Planning",
};

export function strip(sync: Sync<PlanViewModel>): HTMLElement {
  const sign = h("span.dra-sign", { role: "img" });
  const sentence = h("h2.dra-sentence", { role: "status" });
  const figures = h("div.dra-figures");
  const work = h("div.dra-work", { role: "status" });
  const root = h("section.dra-answer", { "aria-label": "Answer" }, sign, h("div.dra-answer-text", {}, sentence, figures), work);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    const answer = sync.get("answer");
    const state = answer.state ?? "empty";
    root.dataset["state"] = state;
    sign.replaceChildren(icon(SIGNS[state]));
    sign.setAttribute("aria-label", WORDS[state]);
    const words = answer.sentence || WORDS[state];
    if (sentence.textContent !== words) sentence.textContent = words;
    sentence.title = words;
    figures.replaceChildren(...(answer.figures ?? []).map(figure));
    root.classList.toggle("has-figures", Boolean(answer.figures?.length));
  };
  const drawWork = () => {
    const answer = sync.get("answer");
    const waiting = Boolean(answer.stale) || answer.state === "solving";
    clearTimeout(timer);
    const show = () => {
      root.classList.toggle("is-stale", Boolean(answer.stale));
      const progress = answer.progress;
      const told = [progress?.text, progress?.bestText].filter(Boolean).join(", ");
      refill(
        work,
        answer.stale ? h("span.dra-for-previous", {}, "for the previous drawing") : null,
        h("span.dra-progress", { title: told }, told || "Planning ..."),
        h("button.dra-button", { type: "button", "data-key": "cancel", onclick: () => sync.send({ type: "cancel" }) }, "Cancel"),
      );
    };
    if (!waiting) {
      root.classList.remove("is-stale");
      work.replaceChildren();
    } else if (work.childElementCount) show();
    else timer = setTimeout(show, STALE_AFTER);
  };
  sync.watch(["answer"], () => {
    draw();
    drawWork();
  });
  sync.atEnd(() => clearTimeout(timer));
  return root;
}

function figure(row: NonNullable<AnswerRow["figures"]>[number]): HTMLElement {
  return h("span.dra-figure", { "data-tone": row.tone ?? "plain", title: row.title || null }, row.label ? `${row.label} ` : null, h("b", {}, row.value));
}
