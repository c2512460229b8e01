"""SVG elements: escaping by construction, one function for each thing that is drawn, and the style sheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from dra_lab.pictures.captions import text_width
from dra_lab.words.document import clean

Element = ET.Element


def element(parent: Element | None, tag: str, **attributes: str | float) -> Element:
    """Add an element; `_` in attribute names stands for `-` (`class_` for `class`), numbers are written short."""
    named = {
        name.rstrip("_").replace("_", "-"): clean(value) if isinstance(value, str) else number(value)
        for name, value in attributes.items()
    }
    return ET.Element(tag, named) if parent is None else ET.SubElement(parent, tag, named)


def say(to: Element, **attributes: str) -> None:
    """Set attributes to text that may come from a cluster; `_` in names stands for `-`."""
    for name, value in attributes.items():
        to.set(name.rstrip("_").replace("_", "-"), clean(value))


def number(value: float) -> str:
    """Return a number with at most two decimals and no idle zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(parent: Element, words: str, x: float, y: float, class_: str = "") -> Element:
    """Add text; it is shown as it stands, whatever is in it. Screen readers get it from the label of its owner."""
    made = element(parent, "text", x=x, y=y, aria_hidden="true")
    if class_:
        made.set("class", class_)
    made.text = clean(words)
    # two lines of one label are two words, also for a screen reader
    made.tail = " "
    return made


def title(parent: Element, words: str) -> None:
    """Add a tooltip."""
    element(parent, "title").text = clean(words)


def label(item: Element, words: str) -> None:
    """Name an item for screen readers and in a tooltip: what is written on it first (WCAG 2.5.3), then `words`."""
    seen = " ".join(found.text or "" for found in item.iter("text"))
    name = ", ".join(part for part in (seen, clean(words)) if part)
    item.set("aria-label", name)
    tooltip = ET.Element("title")
    tooltip.text = name
    item.insert(0, tooltip)


def outline(parent: Element, shape: str, x: float, y: float, width: float, height: float, **more: str) -> Element:
    """Add the outline of a kind of device: "square", "slice", "pill", "circle" or "hexagon"."""
    if shape == "circle":
        return element(parent, "circle", cx=x + width / 2, cy=y + height / 2, r=width / 2, **more)
    if shape == "hexagon":
        edge = min(10.0, width / 4)
        corners = (
            (x + edge, y),
            (x + width - edge, y),
            (x + width, y + height / 2),
            (x + width - edge, y + height),
            (x + edge, y + height),
            (x, y + height / 2),
        )
        points = " ".join(f"{number(px)},{number(py)}" for px, py in corners)
        return element(parent, "polygon", points=points, stroke_linejoin="round", **more)
    radius = height / 2 if shape == "pill" else 3.0
    return element(parent, "rect", x=x, y=y, width=width, height=height, rx=radius, **more)


def backing(parent: Element, words: str, x: float, y: float, size: float) -> None:
    """Add the plain ground that keeps text readable on a pattern; `x`, `y` is the middle of the text."""
    width = text_width(clean(words), size) + 3
    element(
        parent,
        "rect",
        x=x - width / 2,
        y=y - size * 0.62,
        width=width,
        height=size * 1.24,
        rx=2.0,
        class_="dra-hw-backing",
    )


def patterns(parent: Element, prefix: str) -> None:
    """Add the patterns of the states: `<prefix>-hatch` (in use), `-cross` (tainted) and `-dots` (blocked)."""
    made = element(parent, "defs")
    _lines(made, f"{prefix}-hatch", 6.0, "dra-hw-line", both_ways=False)
    _lines(made, f"{prefix}-cross", 6.0, "dra-hw-warn-line", both_ways=True)
    element(_pattern(made, f"{prefix}-dots", 6.0), "circle", cx=3.0, cy=3.0, r=0.9, class_="dra-hw-dot")


def _pattern(parent: Element, name: str, step: float) -> Element:
    return element(
        parent,
        "pattern",
        id=name,
        width=step,
        height=step,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )


def _lines(parent: Element, name: str, step: float, class_: str, *, both_ways: bool) -> None:
    pattern = _pattern(parent, name, step)
    element(pattern, "line", x1=0.0, y1=0.0, x2=0.0, y2=step, class_=class_)
    if both_ways:
        element(pattern, "line", x1=0.0, y1=0.0, x2=step, y2=0.0, class_=class_)


def to_text(root: Element) -> str:
    """Return an element as text, the same for the same element."""
    return ET.tostring(root, encoding="unicode")


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
