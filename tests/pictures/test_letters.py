"""Letters and colours of requests."""

from __future__ import annotations

import re

import pytest
from small_plans import SKETCH, request

from dra_lab import ClaimSketch
from dra_lab.pictures.letters import PALETTE, Colour, colours, letter, letters
from dra_lab.pictures.svg_elements import DARK, LIGHT, style_sheet


@pytest.mark.parametrize(("index", "expected"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_letters_count_like_columns_of_a_table(index: int, expected: str):
    assert letter(index) == expected


def test_requests_get_letters_in_the_order_of_the_drawing():
    assert letters(SKETCH) == {"gpu": "A", "nic": "B"}


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, 0 to 1 (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours `#rrggbb`, 1 to 21 (WCAG 2.2)."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colour", PALETTE, ids=lambda colour: colour.name)
def test_text_on_every_fill_is_readable(colour: Colour):
    assert contrast(colour.fill, colour.text) >= 4.5


def test_colours_repeat_and_letters_do_not():
    sketch = ClaimSketch(requests=tuple(request(f"r{n}", "c") for n in range(8)))
    assert colours(sketch)["r7"] == colours(sketch)["r0"]
    assert len(set(letters(sketch).values())) == 8


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
    return THEMES[request.param]


def test_names_on_paper_are_readable(theme):
    assert contrast(theme["ink"], theme["paper"]) >= 4.5


def test_headings_are_readable_however_deep_the_box(theme):
    paper = theme["paper"]
    for _ in range(5):
        paper = mix(theme["ink"], paper, 0.025)
    assert contrast(theme["ink"], paper) >= 4.5


def test_names_of_ineligible_devices_are_readable(theme):
    dim = float(re.search(r"ineligible text { fill-opacity: ([\d.]+)", style_sheet())[1])
    assert contrast(mix(theme["ink"], theme["paper"], dim), theme["paper"]) >= 4.5


def test_lines_that_carry_meaning_are_seen(theme):
    assert contrast(theme["warn"], theme["paper"]) >= 3
    assert contrast(theme["focus"], theme["paper"]) >= 3


def test_forced_colours_use_the_pairs_of_the_system():
    forced = style_sheet().split("forced-colors: active")[1]
    assert all(word in forced for word in ("Canvas;", "CanvasText;", "fill: Highlight;", "fill: HighlightText;"))
