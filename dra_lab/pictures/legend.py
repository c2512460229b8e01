"""The legend under the hardware picture: what the shapes, patterns and letters that occur in it mean."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.driver_profile import kind_words
from dra_lab.pictures.boxes import LINE, SIZE
from dra_lab.pictures.captions import text_width, wrap
from dra_lab.pictures.device_states import Shown, State
from dra_lab.pictures.letters import PALETTE
from dra_lab.pictures.marks import PATTERNS, Ink
from dra_lab.pictures.svg_elements import Element, element, outline, text

_LONGER = {
    State.BLOCKED: "blocked by another partition",
    State.SKIPPED: "skipped: kube-scheduler does not use this pool",
}
"""Longer words for the states whose own word says too little."""

_KINDS = {"gpu": ("square", 14.0, "GPU"), "nic": ("pill", 22.0, "NIC"), "cpu": ("circle", 14.0, "CPU")}
_OTHER = ("hexagon", 18.0, "other device")
_ROW = 21.0
_ICON = 20.0
_HIGH = 14.0


def add_legend(
    root: Element,
    prefix: str,
    width: float,
    top: float,
    *,
    states: Ink,
    domain: bool,
    shown: Shown,
) -> float:
    """Add the legend below `top` and return where it ends.

    Only what occurs on the picture is in it. `domain` adds the line around an NVLink domain, `shown` the signs of a
    comparison with kube-scheduler. Screen readers get the same from the labels of the picture and its devices.
    """
    group = element(root, "g", class_="dra-hw-legend", aria_hidden="true")
    found = states.states.values()
    entries: list[tuple[str, str, str, float, str]] = []
    if any(state.chosen for state in found):
        entries.append(("chosen", "chosen", "", _ICON, "square"))
    if shown.compared:
        theirs = "only kube-scheduler without links" if shown.without_links else "only kube-scheduler"
        if any(state.chosen and not state.scheduler for state in found):
            entries.append(("chosen dra-hw-only-best", "only best", "", _ICON, "square"))
        if any(state.scheduler and not state.chosen for state in found):
            entries.append(("free dra-hw-only-k", theirs, "", _ICON, "square"))
    there = {state.state for state in found if not state.chosen}
    there |= {State.UNHEALTHY} if any(state.unhealthy for state in found) else set()
    entries += [
        (state.css, _LONGER.get(state, state.value), PATTERNS.get(state, ""), _ICON, "square")
        for state in State
        if state in there
    ]
    if any(state.unplaced for state in found):
        entries.append(("no-place", "no place left", "", _ICON, "square"))
    if domain:
        entries.append(("nvlink", "NVLink domain", "", _ICON, "square"))
    sure = {locality.kind for locality in states.localities.values() if not locality.guessed}
    kinds = {locality.kind for locality in states.localities.values()}
    shapes = [(kind, *shape) for kind, shape in _KINDS.items() if kind in kinds]
    shapes += [("other", *_OTHER)] if kinds - _KINDS.keys() else []
    if len(shapes) > 1:
        entries += [
            ("free", kind_words(words, guessed=kind in kinds - sure), "", icon, shape)
            for kind, shape, icon, words in shapes
        ]
    x, y = 2.0, top
    for class_, words, pattern, icon, shape in entries:
        needed = icon + 6 + text_width(words, SIZE) + 12
        if x > 2.0 and x + needed > width + 12:
            x, y = 2.0, y + _ROW
        _entry(group, (class_, words, pattern, icon, shape), prefix, x, y)
        x += needed
    return y + (_ROW if entries else 0.0) + 4


def add_notes(root: Element, width: float, top: float, notes: Sequence[str]) -> float:
    """Add sentences below `top` and return where they end."""
    group = element(root, "g", class_="dra-hw-notes", aria_hidden="true")
    for line in (line for note in notes for line in wrap(note, SIZE, width - 4)):
        text(group, line, 2.0, top + 12, "dra-hw-heading")
        top += LINE
    return top


def _entry(group: Element, entry: tuple[str, str, str, float, str], prefix: str, x: float, y: float) -> None:
    class_, words, pattern, icon, shape = entry
    item = element(group, "g", class_=f"dra-hw-{class_}")
    outline(item, shape, x, y, icon, _HIGH, class_="dra-hw-frame-nvlink" if class_ == "nvlink" else "dra-hw-shape")
    if "chosen" in class_:
        item.set("style", f"--dra-hw-fill:{PALETTE[0].fill};--dra-hw-on:{PALETTE[0].text}")
        text(item, "A", x + icon / 2, y + 7.5, "dra-hw-strong")
    sign = "K" if "only-k" in class_ else "×" if class_ == "blocked" else "✕" if class_ == "no-place" else ""
    if sign:
        text(item, sign, x + icon / 2, y + 7.5, "dra-hw-strong")
    if class_ == "unhealthy":
        element(item, "line", x1=x, y1=y, x2=x + icon, y2=y + _HIGH, class_="dra-hw-sick")
    if class_ == "shared":
        element(item, "rect", x=x + 3, y=y + 8, width=icon / 2 - 3, height=4.0, class_="dra-hw-bar-used")
    if pattern:
        outline(item, shape, x, y, icon, _HIGH, class_="dra-hw-pattern", fill=f"url(#{prefix}-{pattern})")
    # outside the item, so that the text is not dimmed or coloured with the sign
    text(group, words, x + icon + 6, y + 12, "dra-hw-heading")
