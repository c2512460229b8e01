"""Texts that cannot be read for their place or size: cut by a box, over another text, or too small.

Text beyond the edge of a box that scrolls is not cut. Texts for screen readers alone are left out.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

_SCRIPT = (Path(__file__).parent / "legible.js").read_text(encoding="utf-8")


def illegible(page: Page, selector: str, *, figures: str = ".dra-tile-figure b", least: float = 11) -> list[str]:
    """Return a line for each text inside `selector` that is cut, lies over another one, or is too small.

    Args:
        page: The page.
        selector: Where to look. Fails where it shows no text: what finds nothing proves nothing.
        figures: The elements that hold a figure, which has 18 px or more and no ellipsis.
        least: The font size in pixels that every text has.
    """
    count, found = page.evaluate(_SCRIPT, [selector, figures, least])
    assert count, f"no visible text inside {selector}"
    return list(found)
