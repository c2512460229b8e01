// The manifests, their letters in the margin, and the lines of the highlighted request lit up.
import type { PlanViewModel } from "../generated/models";
import { h } from "../view/dom";
import { type Light, requestOf } from "../view/light";
import type { Sync } from "../view/sync";
import { lineNodes } from "./yaml_text";

export function yamlPanel(sync: Sync<PlanViewModel>, light: Light): HTMLElement {
  const code = h("div.dra-yaml", { role: "region", "aria-label": "Manifests as YAML", tabindex: 0 });
  const relight = () => {
    const request = requestOf(sync, light.now);
    const letter = request ? sync.get("badges")[request]?.letter : undefined;
    for (const line of code.children)
      line.classList.toggle("is-lit", letter !== undefined && line.getAttribute("data-letter") === letter);
  };
  sync.watch(["yaml", "yaml_marks", "badges"], () => {
    const marks = sync.get("yaml_marks");
    const badges = Object.entries(sync.get("badges"));
    const lines = sync.get("yaml").replace(/\n$/, "").split("\n");
    code.replaceChildren(
      ...lines.map((text, i) => {
        const letter = marks[String(i + 1)];
        const badge = badges.find(([, one]) => one.letter === letter);
        // The letter stands once, at the first line of what was written for a request.
        const mark = h("span.dra-mark", { "aria-hidden": "true" }, letter !== marks[String(i)] ? letter : "");
        const line = h(
          "div.dra-code-line",
          { "data-letter": letter ?? null, "data-request": badge?.[0] ?? null },
          mark,
          h("span.dra-code", {}, ...lineNodes(text)),
        );
        if (badge)
          line.style.cssText = `--dra-badge:${colour(badge[1].colour)};--dra-on-badge:${colour(badge[1].textColour)}`;
        return line;
      }),
    );
    relight();
  });
  code.addEventListener("pointerover", (event) =>
    light.point((event.target as Element).closest("[data-request]")?.getAttribute("data-request") ?? ""),
  );
  code.addEventListener("pointerleave", () => light.point(""));
  light.onChange(relight);
  return code;
}

/** Only a plain colour may go into a style. */
const colour = (text: string): string => (/^#[0-9a-f]{3,8}$/i.test(text) ? text : "currentColor");
