"""Devices as SVG: the outline of one, a block of identical ones, a partition on its slice map; and the legend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_lab.model.driver_profile import kind_words
from dra_lab.model.names import DeviceID, split_request
from dra_lab.pictures.boxes import LINE, SIZE, Frame, Mark
from dra_lab.pictures.captions import KIND_NAMES, device_words, locality_words, text_width, wrap
from dra_lab.pictures.device_states import DeviceState, OnTop, State
from dra_lab.pictures.letters import PALETTE, Colour
from dra_lab.pictures.partitions import profile_name
from dra_lab.pictures.scene import OTHER, SHAPES
from dra_lab.pictures.svg_elements import Element, backing, element, label, outline, say, text
from dra_lab.topology.places import Locality

PATTERNS: Mapping[State, str] = {State.IN_USE: "hatch", State.TAINTED: "cross", State.BLOCKED: "dots"}
"""The pattern over an outline, of the states that have one."""

_WRITTEN = (State.TAINTED, State.BLOCKED, State.UNHEALTHY, State.SKIPPED, State.UNKNOWN)
"""The states that are written where there is room for a word."""

_PLURAL = {State.INELIGIBLE: "do not match"}


@dataclass(frozen=True, slots=True)
class Ink:
    """What drawing a device needs to know besides its place."""

    prefix: str
    states: Mapping[DeviceID, DeviceState]
    letters: Mapping[str, str]
    colours: Mapping[str, Colour]
    localities: Mapping[DeviceID, Locality]
    compared: bool
    numbers: Mapping[DeviceID, int]

    def sign(self, device: DeviceID) -> str:
        """Return the letter of a device's request with its number in it: `A1`, or `K A1` for kube-scheduler alone."""
        state = self.states[device]
        sign = f"{self.letter(state.chosen or state.scheduler)}{self.numbers.get(device, '')}"
        return sign if state.chosen else f"K {sign}" if state.scheduler else "✕" if state.unplaced else ""

    def letter(self, reference: str) -> str:
        """Return the letter of a request of the drawing, "" for none."""
        return self.letters.get(split_request(reference)[0], "?") if reference else ""

    def colour(self, reference: str) -> Colour:
        """Return the colour of a request of the drawing."""
        return self.colours.get(split_request(reference)[0], PALETTE[0])


def add_mark(parent: Element, mark: Mark, ink: Ink, level: int) -> None:
    """Add a device or a block of devices as an item of the tree."""
    if len(mark.localities) > 1:
        _block(parent, mark, ink, level)
        return
    state = ink.states[mark.locality.device]
    sign = ink.sign(mark.locality.device)
    item = _item(parent, level, ["dra-hw-device", *_classes(state, compared=ink.compared)])
    say(item, data_id=str(mark.locality.device), data_kind=mark.locality.kind, data_state=state.state.value)
    if reference := state.chosen or state.scheduler:
        say(item, data_request=split_request(reference)[0])
    _outline(item, mark, state, ink)
    if mark.shape == "slice":
        _slice_words(item, mark, state, ink)
    else:
        _device_words(item, mark, state, sign)
    label(item, _words(mark.locality, state, ink))


def _item(parent: Element, level: int, classes: Sequence[str]) -> Element:
    item = element(parent, "g", role="treeitem", aria_level=str(level), tabindex="-1")
    item.set("class", " ".join(classes))
    return item


def _outline(item: Element, mark: Mark, state: DeviceState, ink: Ink) -> None:
    place = (mark.shape, mark.x, mark.y, mark.width, mark.height)
    outline(item, *place, class_="dra-hw-shape")
    if state.chosen:
        colour = ink.colour(state.chosen)
        # custom properties, because a plain style would also win over forced colours
        item.set("style", f"--dra-hw-fill:{colour.fill};--dra-hw-on:{colour.text}")
    elif state.state in PATTERNS:
        outline(item, *place, class_="dra-hw-pattern", fill=f"url(#{ink.prefix}-{PATTERNS[state.state]})")
    if state.unplaced:
        outline(item, mark.shape, mark.x + 4, mark.y + 4, mark.width - 8, mark.height - 8, class_="dra-hw-inner")
    if state.unhealthy:
        right, bottom = mark.x + mark.width, mark.y + mark.height
        for x1, y1, x2, y2 in ((mark.x, mark.y, mark.x + 9, mark.y + 9), (right - 9, bottom - 9, right, bottom)):
            element(item, "line", x1=x1, y1=y1, x2=x2, y2=y2, class_="dra-hw-sick")


def _classes(state: DeviceState, *, compared: bool) -> list[str]:
    sick = ["dra-hw-unhealthy"] * state.unhealthy + ["dra-hw-no-place"] * bool(state.unplaced)
    if state.chosen:
        same = not compared or state.scheduler
        return ["dra-hw-chosen", *sick] if same else ["dra-hw-chosen", "dra-hw-only-best", *sick]
    found = [f"dra-hw-{state.state.css}", *sick]
    return list(dict.fromkeys([*found, "dra-hw-only-k"] if state.scheduler else found))


def _device_words(item: Element, mark: Mark, state: DeviceState, sign: str) -> None:
    """Write sign and name, the state, and what is left or taken of a shareable device, around the middle."""
    lines = list(mark.lines)
    if sign and mark.sign_above:
        lines.insert(0, sign)
    elif sign:
        whole = f"{sign} {lines[0]}"
        lines[0] = whole if text_width(whole, SIZE) <= mark.width - 8 else f"{sign[0]} {lines[0]}"
    if mark.amount == "beside":
        lines[-1] += f" {state.amounts[0]}"
    else:
        lines += state.amounts
    word = "unhealthy" if state.unhealthy else state.state.value if state.state in _WRITTEN else ""
    space = mark.height - (8 if state.amounts else 0)
    if word and not sign and LINE * (len(lines) + 1) <= space and text_width(word, SIZE) <= mark.width - 4:
        lines.append(word)
    x, y = mark.x + mark.width / 2, mark.y + space / 2 - (len(lines) - 1) * LINE / 2
    for at, line in enumerate(lines):
        if not state.chosen and (state.state in PATTERNS or state.unhealthy):
            backing(item, line, x, y + at * LINE, SIZE)
        text(item, line, x, y + at * LINE, "dra-hw-letter" if sign and at == 0 else "")
    if state.amounts:
        edge = mark.height / 3 if mark.shape == "pill" else 8.0
        parts = [("used", state.used, ""), ("taken-now", state.taken, "")]
        _bar(item, mark.x + edge, mark.y + mark.height - 12, mark.width - 2 * edge, 7.0, parts)


def _bar(item: Element, x: float, y: float, width: float, height: float, parts: list[tuple[str, float, str]]) -> None:
    """Add a bar: a part of its width each, with a class and a style; what is left over is free."""
    at = x
    element(item, "rect", x=x, y=y, width=width, height=height, rx=2.0, class_="dra-hw-bar")
    for class_, share, style in parts:
        if share > 0:
            made = element(item, "rect", x=at, y=y, width=share * width, height=height, class_=f"dra-hw-bar-{class_}")
            if style:
                made.set("style" if style.startswith("--") else "fill", style)
            at += share * width
    element(item, "rect", x=x, y=y, width=width, height=height, rx=2.0, class_="dra-hw-bar-edge")


def _slice_words(item: Element, mark: Mark, state: DeviceState, ink: Ink) -> None:
    """Write on a partition what fits: its letter, who uses it, or what blocks it."""
    options: tuple[str, ...] = ()
    if state.chosen or state.scheduler:
        options = (ink.sign(mark.locality.device), ink.letter(state.chosen or state.scheduler))
    elif state.state is State.IN_USE:
        holder = state.holders[0].rpartition("/")[2] if state.holders else ""
        options = (f"in use by {holder}", "in use") if holder else ("in use",)
    elif state.state is State.BLOCKED:
        blockers = [ink.states[one] for one in state.blockers if one in ink.states]
        chosen = next((one.chosen for one in blockers if one.chosen), "")
        found = ink.localities.get(state.blockers[0]) if state.blockers else None
        by = ink.letter(chosen) or (profile_name(found) if found is not None else "")
        options = (f"blocked by {by}", "blocked", "×") if by else ("blocked", "×")
    elif state.state in _WRITTEN:
        options = (state.state.value, "!")
    line = next((line for line in options if text_width(line, SIZE) <= mark.width - 4), "")
    if not line:
        return
    x, y = mark.x + mark.width / 2, mark.y + mark.height / 2
    if not state.chosen and state.state in PATTERNS:
        backing(item, line, x, y, SIZE)
    text(item, line, x, y, "dra-hw-letter" if state.chosen or state.scheduler else "")


def add_cells(parent: Element, frame: Frame, ink: Ink) -> None:
    """Add the compute slices of a card: the chosen ones, those in use, and the free ones, from left to right."""
    owners: list[tuple[str, str, str]] = []
    for chosen in (True, False):
        for mark in sorted(frame.marks, key=lambda mark: mark.x):
            state, part = ink.states[mark.locality.device], mark.part
            if part is not None and bool(state.chosen) is chosen and (state.chosen or state.holders):
                style = f"--dra-hw-fill:{ink.colour(state.chosen).fill};--dra-hw-on:{ink.colour(state.chosen).text}"
                owner = ("chosen", ink.letter(state.chosen), style) if chosen else ("in-use", "", "")
                owners += [owner] * part.compute
    for (x, y, width), (class_, letter, style) in zip(
        frame.cells, [*owners, *[("free", "", "")] * len(frame.cells)], strict=False
    ):
        cell = element(parent, "g", class_=f"dra-hw-{class_}", aria_hidden="true")
        outline(cell, "square", x, y, width, 18.0, class_="dra-hw-shape")
        if style:
            cell.set("style", style)
        if class_ == "in-use":
            outline(cell, "square", x, y, width, 18.0, class_="dra-hw-pattern", fill=f"url(#{ink.prefix}-hatch)")
        if letter:
            text(cell, letter, x + width / 2, y + 9, "dra-hw-letter")


# ------------------------------------------------------------ blocks


def _block(parent: Element, mark: Mark, ink: Ink, level: int) -> None:
    """Add a block of like devices: its name, a bar, and how many are chosen, in use, not available and free."""
    states = [ink.states[locality.device] for locality in mark.localities]
    taken = Counter(
        (split_request(state.chosen or state.scheduler)[0], not state.chosen)
        for state in states
        if state.chosen or state.scheduler
    )
    rest = Counter(state.state for state in states if not (state.chosen or state.scheduler))
    counts = [
        (f"{'K ' if only_theirs else ''}{ink.letter(request)} {count}", count)
        for (request, only_theirs), count in taken.items()
    ]
    counts += [
        (f"{rest[state]} {_PLURAL.get(state, state.value)}", rest[state])
        for state in State
        if rest[state] and state != State.FREE
    ]
    if not rest[State.UNKNOWN]:
        counts.append((f"{rest[State.FREE]} free", rest[State.FREE]))
    words = " · ".join(line for line, _ in counts)
    lines = wrap(words, SIZE, mark.width - 16)
    if len(lines) > 2:
        others = sum(rest.values()) - rest[State.FREE] - rest[State.IN_USE] - rest[State.UNKNOWN]
        shown = [*counts[: len(taken)], (f"{rest[State.IN_USE]} in use", 1), (f"{others} not available", 1), counts[-1]]
        lines = wrap(" · ".join(line for line, _ in shown), SIZE, mark.width - 16)
    item = _item(parent, level, ["dra-hw-device", "dra-hw-block"])
    say(item, data_ids=" ".join(str(one.device) for one in mark.localities), data_kind=mark.locality.kind)
    if taken:
        say(item, data_request=" ".join(dict.fromkeys(request for request, _ in taken)))
    outline(item, "square", mark.x, mark.y, mark.width, mark.height, class_="dra-hw-shape")
    total, y = len(states), mark.y + 15
    for line in mark.lines:
        text(item, line, mark.x + 8, y, "dra-hw-start dra-hw-strong")
        y += LINE
    parts = [
        ("only-k", n / total, "") if only_theirs else ("chosen", n / total, f"--dra-hw-fill:{ink.colour(request).fill}")
        for (request, only_theirs), n in taken.items()
    ]
    parts.append(("taken", rest[State.IN_USE] / total, f"url(#{ink.prefix}-hatch)"))
    others = sum(rest.values()) - rest[State.FREE] - rest[State.IN_USE]
    parts.append(("other", others / total, f"url(#{ink.prefix}-cross)"))
    _bar(item, mark.x + 8, y - 7, mark.width - 16, 10.0, parts)
    for at, line in enumerate(lines):
        text(item, line, mark.x + 8, y + 16 + at * LINE, "dra-hw-start")
    chosen = ", ".join(one.name for one in mark.localities if ink.states[one.device].chosen)
    held = ", ".join(dict.fromkeys(holder for state in states for holder in state.holders))
    facts = (words, f"chosen: {chosen}" if chosen else "", f"in use by {held}" if held else "")
    label(item, f"{'; '.join(fact for fact in facts if fact)}. {locality_words(mark.locality)}")


# ------------------------------------------------------------ words


def _words(locality: Locality, state: DeviceState, ink: Ink) -> str:
    parts = []
    if state.chosen:
        parts.append(f"chosen for request {state.chosen} ({ink.letter(state.chosen)})")
    if ink.compared and state.chosen and not state.scheduler:
        parts.append("not allocated by kube-scheduler")
    if state.chosen and split_request(state.scheduler)[0] not in ("", split_request(state.chosen)[0]):
        parts.append(f"allocated by kube-scheduler for request {state.scheduler} ({ink.letter(state.scheduler)})")
    if state.scheduler and not state.chosen:
        parts.append(f"allocated by kube-scheduler for request {state.scheduler} ({ink.letter(state.scheduler)})")
    if state.unplaced:
        parts.append(f"no place is left for request {state.unplaced}")
    parts.extend(state.why or ([] if state.chosen else [state.state.value]))
    if not state.holders:
        parts += state.amounts
    device = locality.device
    return f"{device_words(locality)}: {'; '.join(parts)}. {locality_words(locality)}. Published as {device}"


_LONGER = {
    State.BLOCKED: "blocked by another partition",
    State.SKIPPED: "skipped: kube-scheduler does not use this pool",
}
"""Longer words for the states whose own word says too little."""

_ICONS = {"pill": 22.0, "hexagon": 18.0}
"""How wide the shapes of kinds are in the legend that are not as wide as high."""

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
    shown: OnTop,
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
    drawn = [kind for kind in SHAPES if kind in kinds] + ["other"] * bool(kinds - SHAPES.keys())
    for kind in drawn if len(drawn) > 1 else ():
        shape, words = SHAPES.get(kind, OTHER)[0], "other device" if kind == "other" else KIND_NAMES[kind]
        words = kind_words(words, guessed=kind in kinds - sure)
        entries.append(("free", words, "", _ICONS.get(shape, 14.0), shape))
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
