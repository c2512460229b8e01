"""Contrast of every text on every state, in the themes of the file itself and of JupyterLab."""

from __future__ import annotations

import re

import pytest

from dra_lab.pictures.letters import contrast
from dra_lab.pictures.svg_elements import DARK, LIGHT, style_sheet

# Paper is --jp-layout-color1 and ink --jp-ui-font-color1 of JupyterLab 4's two themes; light ink is black at 0.87.
THEMES = {
    "file, light": LIGHT,
    "file, dark": DARK,
    "JupyterLab Light": LIGHT | {"paper": "#ffffff", "ink": "#212121"},
    "JupyterLab Dark": DARK | {"paper": "#111111", "ink": "#ffffff"},
    "JupyterLab Dark, raised": DARK | {"paper": "#212121", "ink": "#ffffff"},
}


def mix(top: str, under: str, opacity: float) -> str:
    """Return the colour of `top` painted over `under` with an opacity."""
    pairs = ((int(top[at : at + 2], 16), int(under[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(a * opacity + b * (1 - opacity)):02x}" for a, b in pairs)


@pytest.fixture(params=sorted(THEMES))
def theme(request):
    """One theme after the other."""
    return THEMES[request.param]


def test_names_on_paper_are_readable(theme):
    """Free devices, and the grounds of text on patterns: ink on paper."""
    assert contrast(theme["ink"], theme["paper"]) >= 4.5


def test_headings_are_readable_however_deep_the_box(theme):
    """Each box shades the paper a little; five deep, ink still reads."""
    paper = theme["paper"]
    for _ in range(5):
        paper = mix(theme["ink"], paper, 0.025)
    assert contrast(theme["ink"], paper) >= 4.5


def test_names_of_ineligible_devices_are_readable(theme):
    """Their text is dimmed, and still 4.5:1."""
    dim = float(re.search(r"ineligible text { fill-opacity: ([\d.]+)", style_sheet())[1])
    assert contrast(mix(theme["ink"], theme["paper"], dim), theme["paper"]) >= 4.5


def test_lines_that_carry_meaning_are_seen(theme):
    """Borders of tainted devices and the focus ring have 3:1 against the paper."""
    assert contrast(theme["warn"], theme["paper"]) >= 3
    assert contrast(theme["focus"], theme["paper"]) >= 3


def test_forced_colours_use_the_pairs_of_the_system():
    """Under forced colours chosen devices are Highlight with HighlightText, the rest CanvasText on Canvas."""
    forced = style_sheet().split("forced-colors: active")[1]
    assert all(word in forced for word in ("Canvas;", "CanvasText;", "fill: Highlight;", "fill: HighlightText;"))
