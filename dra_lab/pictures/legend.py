"""The legend under the hardware picture: what shapes, patterns and letters mean. Always there."""

from __future__ import annotations

from dra_lab.pictures.captions import text_width
from dra_lab.pictures.letters import PALETTE
from dra_lab.pictures.shapes import Element, element, outline, text

_STATES = (
    ("free", "free", ""),
    ("in-use", "in use", "hatch"),
    ("shared", "partly in use", "dots"),
    ("tainted", "tainted", "cross"),
    ("ineligible", "not eligible", ""),
    ("chosen", "chosen", ""),
)
_KINDS = (("square", 14.0, "GPU"), ("pill", 22.0, "NIC"), ("circle", 14.0, "CPU"), ("hexagon", 18.0, "other"))
_ROW = 20.0
_ICON = 18.0


def add_legend(
    root: Element,
    prefix: str,
    width: float,
    top: float,
    *,
    compared: bool,
    unread: str = "",
    unhealthy: bool = False,
    without_links: bool = False,
) -> float:
    """Add the legend below `top` and return where it ends.

    `compared` adds the signs of the comparison with kube-scheduler, with `without_links` of what it takes by counts and
    selectors only; `unread` says what is not known of devices in use (`free_words.unread_words`); `unhealthy` adds that
    sign. Screen readers get the same from the labels of the picture and its devices.
    """
    group = element(root, "g", class_="dra-hw-legend", aria_hidden="true")
    x, y = 2.0, top
    entries = [(*entry, _ICON, "square") for entry in _STATES]
    if unhealthy:
        entries += [("in-use dra-hw-unhealthy", "reported unhealthy", "", _ICON, "square")]
    if compared:
        entries += [("chosen dra-hw-only-best", "only best", "", _ICON, "square")]
        theirs = "only kube-scheduler without links" if without_links else "only kube-scheduler"
        entries += [("free dra-hw-only-k", theirs, "", _ICON, "square")]
    kinds = [("free", words, "", icon, shape) for shape, icon, words in _KINDS]
    for class_, words, pattern, icon, shape in (*entries, *kinds):
        room = icon + 5 + text_width(words, 11) + 12
        if x + room > width:
            x, y = 2.0, y + _ROW
        _entry(group, (class_, words, pattern, icon, shape), prefix, x, y)
        x += room
    if unread:
        y += _ROW
        text(group, f"{unread[0].upper()}{unread[1:]}.", 2.0, y + 11, "dra-hw-heading")
    return y + _ROW


def _entry(group: Element, entry: tuple[str, str, str, float, str], prefix: str, x: float, y: float) -> None:
    class_, words, pattern, icon, shape = entry
    item = element(group, "g", class_=f"dra-hw-{class_}")
    outline(item, shape, x, y, icon, 14.0, class_="dra-hw-shape")
    if "chosen" in class_:
        item.set("style", f"--dra-hw-fill:{PALETTE[0].fill};--dra-hw-on:{PALETTE[0].text}")
        text(item, "A", x + icon / 2, y + 7.5, "dra-hw-small dra-hw-strong")
    if "unhealthy" in class_:
        text(item, "×", x + icon / 2, y + 7.5, "dra-hw-small dra-hw-strong")
    if "only-k" in class_:
        text(item, "K", x + icon / 2, y + 7.5, "dra-hw-small dra-hw-strong")
    if pattern:
        outline(item, shape, x, y, icon, 14.0, class_="dra-hw-pattern", fill=f"url(#{prefix}-{pattern})")
    # outside the item, so that the text is not dimmed or coloured with the sign
    text(group, words, x + icon + 5, y + 11, "dra-hw-heading")
