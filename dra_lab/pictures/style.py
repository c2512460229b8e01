"""The look of the hardware picture: one style sheet for JupyterLab's themes, other hosts, and files without a host.

Two colours come from the host, ink and paper; the others are chosen so that they fit any light or any dark theme.
Without a host the browser's preference decides. With forced colours the system's own pairs are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "warn": "#8a5a00",
    "sick": "#b42318",
    "focus": "#0b62c4",
}
DARK = {
    "paper": "#16191d",
    "ink": "#e8eaed",
    "warn": "#e3b341",
    "sick": "#ff8a80",
    "focus": "#6cb2ff",
}
"""The colours of a picture without a host, by what they are for."""

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

_RULES = "\n" + (Path(__file__).parent / "hardware.css").read_text(encoding="utf-8")


def style_sheet() -> str:
    """Return the style sheet that every picture carries; it touches nothing outside `.dra-hw`."""
    values = {"light": _own(LIGHT), "dark": _own(DARK)}
    for theme, colours in (("light", LIGHT), ("dark", DARK)):
        values |= {f"{theme}_paper": colours["paper"], f"{theme}_ink": colours["ink"]}
    return _THEMED % values + _RULES


def _own(colours: Mapping[str, str]) -> str:
    return " ".join(f"--dra-hw-{name}: {value};" for name, value in colours.items() if name not in ("paper", "ink"))
