"""What tells signs on the screen apart without a hue: functions for the page, which see greys through `grey`."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def signs_function(name: str) -> str:
    """Return the function of a file of this folder, beside the `grey` of grey.js."""
    grey, function = ((_HERE / file).read_text(encoding="utf-8").strip() for file in ("grey.js", name))
    return f"(...given) => {{ const grey = {grey}; return ({function})(...given); }}"
