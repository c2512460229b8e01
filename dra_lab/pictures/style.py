"""The look of the hardware picture: one style sheet for JupyterLab's themes, other hosts, and files without a host.

Two colours come from the host, ink and paper; the others are chosen so that they fit any light or any dark theme.
Without a host the browser's preference decides. With forced colours the system's own pairs are used.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "warn": "#8a5a00",
    "sick": "#b42318",
    "focus": "#0b62c4",
    "ok": "#0f6b4a",
    "on-ok": "#ffffff",
}
DARK = {
    "paper": "#16191d",
    "ink": "#e8eaed",
    "warn": "#e3b341",
    "sick": "#ff8a80",
    "focus": "#6cb2ff",
    "ok": "#4cc38a",
    "on-ok": "#0b1f16",
}
"""The colours of a picture without a host, by what they are for."""

DIM = 0.78
"""Opacity of the text on devices that are not eligible."""

_THEMED = """
.dra-hw {
  --dra-hw-paper: var(--jp-layout-color1, var(--vscode-editor-background, %(light_paper)s));
  --dra-hw-ink: var(--jp-ui-font-color1, var(--vscode-editor-foreground, %(light_ink)s));
  %(light)s
  font-family: var(--jp-ui-font-family, system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif);
  font-size: 13px; max-width: 100%%; height: auto; display: block;
}
@media (prefers-color-scheme: dark) {
  .dra-hw {
    --dra-hw-paper: var(--jp-layout-color1, var(--vscode-editor-background, %(dark_paper)s));
    --dra-hw-ink: var(--jp-ui-font-color1, var(--vscode-editor-foreground, %(dark_ink)s));
    %(dark)s
  }
}
[data-jp-theme-light="true"] .dra-hw {
  %(light)s
}
[data-jp-theme-light="false"] .dra-hw {
  %(dark)s
}
"""

_RULES = """
.dra-hw { --dra-hw-blocked: color-mix(in srgb, var(--dra-hw-ink) 9%%, var(--dra-hw-paper)); }
.dra-hw text { fill: var(--dra-hw-ink); text-anchor: middle; dominant-baseline: central; stroke: none;
  pointer-events: none; font-variant-numeric: tabular-nums; }
.dra-hw .dra-hw-heading { text-anchor: start; dominant-baseline: auto; }
.dra-hw .dra-hw-start { text-anchor: start; }
.dra-hw .dra-hw-middle { text-anchor: middle; }
.dra-hw .dra-hw-strong { font-weight: 600; }
.dra-hw .dra-hw-ground { fill: var(--dra-hw-paper); stroke: none; }
.dra-hw .dra-hw-frame { fill: var(--dra-hw-ink); fill-opacity: .025; stroke: var(--dra-hw-ink); stroke-opacity: .28; }
.dra-hw .dra-hw-frame-node { fill: var(--dra-hw-paper); fill-opacity: 1; }
.dra-hw .dra-hw-frame-unknown { stroke-dasharray: 1.5 3; stroke-linecap: round; stroke-opacity: .8; }
.dra-hw .dra-hw-frame-nvlink { stroke: var(--dra-hw-ink); stroke-opacity: .9; stroke-width: 2;
  stroke-dasharray: 9 4 2 4; fill: none; }
.dra-hw .dra-hw-frame-node.dra-hw-frame-nvlink { fill: var(--dra-hw-paper); }
.dra-hw .dra-hw-shape { fill: var(--dra-hw-paper); stroke: var(--dra-hw-ink); stroke-width: 1.25; }
.dra-hw .dra-hw-pattern { stroke: none; pointer-events: none; }
.dra-hw .dra-hw-line { stroke: var(--dra-hw-ink); stroke-opacity: .55; stroke-width: 1.2; }
.dra-hw .dra-hw-dot { fill: var(--dra-hw-ink); fill-opacity: .55; stroke: none; }
.dra-hw .dra-hw-bar { fill: var(--dra-hw-paper); stroke: none; }
.dra-hw .dra-hw-bar-edge { fill: none; stroke: var(--dra-hw-ink); stroke-width: 1; }
.dra-hw .dra-hw-bar-used { fill: var(--dra-hw-ink); fill-opacity: .6; stroke: none; }
.dra-hw .dra-hw-bar-taken, .dra-hw .dra-hw-bar-other { stroke: none; }
.dra-hw .dra-hw-bar-only-k { fill: var(--dra-hw-paper); stroke: var(--dra-hw-ink); stroke-width: 2;
  stroke-dasharray: 6 3; }
.dra-hw .dra-hw-bar-chosen { fill: var(--dra-hw-fill); stroke: var(--dra-hw-ink); stroke-width: 1; }
.dra-hw .dra-hw-warn-line { stroke: var(--dra-hw-warn); stroke-width: 1.2; }
.dra-hw .dra-hw-backing { fill: var(--dra-hw-paper); stroke: none; }
.dra-hw .dra-hw-tainted .dra-hw-shape { stroke: var(--dra-hw-warn); }
.dra-hw .dra-hw-unhealthy .dra-hw-shape { stroke: var(--dra-hw-sick); stroke-width: 2.5; }
.dra-hw .dra-hw-sick { stroke: var(--dra-hw-sick); stroke-width: 2.5; }
.dra-hw .dra-hw-blocked .dra-hw-shape { fill: var(--dra-hw-blocked); stroke-dasharray: 1.5 2.5; }
.dra-hw .dra-hw-unknown .dra-hw-shape { stroke-dasharray: 4 4; }
.dra-hw .dra-hw-skipped .dra-hw-shape { stroke-dasharray: 8 3 1.5 3; }
.dra-hw .dra-hw-ineligible .dra-hw-shape { stroke-width: 1; stroke-dasharray: 1.5 2.5; stroke-opacity: .8; }
.dra-hw .dra-hw-ineligible text { fill-opacity: %(dim)s; }
.dra-hw .dra-hw-chosen .dra-hw-shape { fill: var(--dra-hw-fill); stroke: var(--dra-hw-ink); stroke-width: 3;
  stroke-dasharray: none; stroke-opacity: 1; }
.dra-hw .dra-hw-chosen text { fill: var(--dra-hw-on); fill-opacity: 1; }
.dra-hw .dra-hw-only-best .dra-hw-shape { stroke-dasharray: 6 3; }
.dra-hw .dra-hw-only-k .dra-hw-shape { stroke-width: 3; stroke: var(--dra-hw-ink); stroke-dasharray: 6 3;
  stroke-opacity: 1; }
.dra-hw .dra-hw-only-k text { fill-opacity: 1; }
.dra-hw .dra-hw-letter { font-weight: 700; }
.dra-hw .dra-hw-device { cursor: default; }
.dra-hw .dra-hw-edge { stroke: var(--dra-hw-ink); stroke-opacity: .45; stroke-width: 1.25; }
.dra-hw .dra-hw-device:hover .dra-hw-shape, .dra-hw .dra-hw-lit .dra-hw-shape { stroke: var(--dra-hw-focus);
  stroke-width: 3; stroke-opacity: 1; }
.dra-hw [tabindex]:focus { outline: none; }
.dra-hw [tabindex]:focus-visible { outline: 2px solid var(--dra-hw-focus); outline-offset: 2px; border-radius: 4px; }
.dra-hw .dra-hw-fits { fill: var(--dra-hw-ok); stroke: var(--dra-hw-ok); stroke-width: 1.25; }
.dra-hw .dra-hw-on-fit { fill: var(--dra-hw-on-ok); }
@media (forced-colors: active) {
  .dra-hw { --dra-hw-paper: Canvas; --dra-hw-ink: CanvasText; --dra-hw-warn: CanvasText;
    --dra-hw-sick: CanvasText; --dra-hw-blocked: Canvas; --dra-hw-focus: Highlight;
    --dra-hw-ok: CanvasText; --dra-hw-on-ok: Canvas; forced-color-adjust: none; }
  .dra-hw .dra-hw-chosen .dra-hw-shape { fill: Highlight; }
  .dra-hw .dra-hw-chosen text { fill: HighlightText; }
  .dra-hw .dra-hw-ineligible text { fill-opacity: 1; }
}
"""


def style_sheet() -> str:
    """Return the style sheet that every picture carries; it touches nothing outside `.dra-hw`."""
    values = {"light": _own(LIGHT), "dark": _own(DARK)}
    for theme, colours in (("light", LIGHT), ("dark", DARK)):
        values |= {f"{theme}_paper": colours["paper"], f"{theme}_ink": colours["ink"]}
    return _THEMED % values + _RULES % {"dim": DIM}


def _own(colours: Mapping[str, str]) -> str:
    return " ".join(f"--dra-hw-{name}: {value};" for name, value in colours.items() if name not in ("paper", "ink"))
