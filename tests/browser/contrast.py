"""Contrast of text with what lies behind it, in HTML and in SVG (axe does not judge SVG text).

The formula is WCAG 2.2's relative luminance and contrast ratio. The painting order gives the background: the HTML
ancestors' backgrounds, and for SVG text the filled shapes under the middle of the text. Patterns and gradients have no
one colour: each of their opaque colours is held against the text, and the worst counts.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

_SCRIPT = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def low_contrast(page: Page, selector: str, minimum: float = 4.5) -> list[str]:
    """Return one line for each text inside `selector` with less contrast than `minimum`, the worst first.

    Fails when there is no text at all: a selector that finds nothing proves nothing. Disabled controls are left out, as
    WCAG does.
    """
    rows = page.evaluate(_SCRIPT, [selector])
    assert rows, f"no visible text inside {selector}"
    low = sorted((row["worst"], row["text"], row["at"]) for row in rows if row["worst"] < minimum)
    return [f"{worst}: {text!r} at {at}" for worst, text, at in low]
