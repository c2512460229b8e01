// The answer strip: one sentence, its figures, and how far a solve is. It never moves and is never blank.
import type { AnswerRow, PlanViewModel } from "../generated/models";
import { h, type Icon, icon, refill } from "../view/dom";
import type { Sync } from "../view/sync";

/** How long the last answer may look like the present one, in milliseconds. */
export const STALE_AFTER = 150;
/** How long something goes on after the answer until it is told, in milliseconds: mostly it is over sooner. */
export const AFTER = 500;

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
  const root = h(
    "section.dra-answer",
    { "aria-label": "Answer" },
    sign,
    h("div.dra-answer-text", {}, sentence, figures),
  );
  sync.watch(["answer"], () => {
    const answer = sync.get("answer");
    const state = answer.state ?? "empty";
    root.dataset["state"] = state;
    sign.replaceChildren(icon(SIGNS[state]));
    sign.setAttribute("aria-label", WORDS[state]);
    // How far it is stands beside it: a sentence that changes with every step would be read out with every step.
    const words = state === "solving" ? `${WORDS[state]} ...` : answer.sentence || WORDS[state];
    // An equal sentence is not set again: it would be read out again.
    if (sentence.textContent !== words) sentence.textContent = words;
    sentence.title = words;
    figures.replaceChildren(...(answer.figures ?? []).map(figure));
    root.classList.toggle("has-figures", Boolean(answer.figures?.length));
  });
  root.append(work(sync, root));
  return root;
}

/** How far a solve is, with Cancel; it also marks the strip as stale. Both only when the answer does not come at once. */
function work(sync: Sync<PlanViewModel>, strip: HTMLElement): HTMLElement {
  const root = h("div.dra-work", { role: "status" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (answer: AnswerRow) => {
    strip.classList.toggle("is-stale", Boolean(answer.stale));
    const told = [answer.progress?.text, answer.progress?.bestText].filter(Boolean).join(", ") || "Planning ...";
    refill(
      root,
      answer.stale ? h("span.dra-for-previous", {}, `for the previous ${answer.previous ?? "drawing"}`) : null,
      h("span.dra-progress", { title: told }, told),
      h(
        "button.dra-button",
        { type: "button", "data-key": "cancel", onclick: () => sync.send({ type: "cancel" }) },
        "Cancel",
      ),
    );
  };
  sync.watch(["answer"], () => {
    const answer = sync.get("answer");
    if (answer.trouble) {
      clearTimeout(timer);
      timer = undefined;
      strip.classList.add("is-stale");
      refill(
        root,
        h("span.dra-for-previous", {}, "for the previous drawing"),
        h("span.dra-trouble", { title: answer.trouble }, icon("error"), h("span", {}, answer.trouble)),
      );
    } else if (!answer.stale && answer.state !== "solving") {
      clearTimeout(timer);
      timer = undefined;
      strip.classList.remove("is-stale");
      refill(root);
      if (answer.after)
        timer = setTimeout(
          () => refill(root, h("span.dra-progress", { title: answer.after }, answer.after, " ...")),
          AFTER,
        );
    } else if (root.childElementCount && !root.querySelector(".dra-trouble")) show(answer);
    // Progress that is told often must not put the moment off.
    else timer ??= setTimeout(() => show(sync.get("answer")), STALE_AFTER);
  });
  sync.atEnd(() => clearTimeout(timer));
  return root;
}

function figure(row: NonNullable<AnswerRow["figures"]>[number]): HTMLElement {
  return h(
    "span.dra-figure",
    { "data-tone": row.tone ?? "plain", title: row.title || null },
    row.label ? `${row.label} ` : null,
    h("b", {}, row.value),
  );
}
