"""The scene of a node: nested boxes and devices with their places in pixels; what a picture draws, without how.

The places depend on the node's devices and the width only, never on a plan or a drawing, so that a device is at the
same place every time. All text has one size; it wraps, and is neither scaled nor cut.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from msgspec.structs import replace

from dra_lab.index.in_use import Amount
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.pictures.boxes import (
    COUNTERS,
    GAP,
    LINE,
    MANY,
    PAD,
    SIZE,
    WIDTH,
    Frame,
    Mark,
    bottom_of,
    in_rows,
    narrowest_map,
    slice_map,
)
from dra_lab.pictures.captions import heading, text_width, wrap
from dra_lab.pictures.partitions import Card, Part, named_amounts, partitions
from dra_lab.sketch.kind_counts import KIND_PLURALS
from dra_lab.topology.node_tree import UNKNOWN, Branch, node_tree
from dra_lab.topology.places import Locality
from dra_lab.words.document import clean

_NARROWEST = {"socket": 200.0, "numaNode": 200.0, "pcieRoot": 110.0, "switch": 96.0, UNKNOWN: 200.0, COUNTERS: 200.0}
_BLOCK = (190.0, 320.0)
_ROOTS = ("pcieRoot", "switch")
_SIGN = "A1 "
"""The place of a request's sign before a name, so that a plan moves no device."""
SHAPES = {"gpu": ("square", 14.0, 74.0), "nic": ("pill", 24.0, 84.0), "cpu": ("circle", 16.0, 62.0)}
OTHER = ("hexagon", 30.0, 104.0)
"""The shape of a kind, how much of its width takes no text, and its least width."""
_WIDEST = 190.0


def node_scene(
    cluster: Cluster,
    node_name: str,
    width: float = WIDTH,
    *,
    worded: Collection[DeviceID] = (),
    folded: Collection[DeviceID] = (),
) -> Frame:
    """Return the outermost box of a node. Raises NodeError for a node that the cluster does not have.

    The state of `worded` devices is written below their name. PCIe roots with `folded` devices only are left out.
    """
    devices = {found.id: found.device for found in devices_on(gather_pools(cluster, node_name))}
    shareable = {name: device for name, device in devices.items() if device.allow_multiple_allocations}
    amounts = {}
    for name, device in shareable.items():
        totals = {key: parse_quantity(capacity.value) for key, capacity in device.capacity.items()}
        words = named_amounts({key: Amount(total, Fraction()) for key, total in totals.items() if total > 0})
        # what is left may have two decimals
        amounts[name] = [text_width(f"{found}.00 free", SIZE) for found in words.values()]
    tree = node_tree(cluster, node_name)
    layout = _Layout(partitions(cluster, node_name), amounts, worded)
    return layout.lay(_without(tree, folded) if folded else tree, width)


def roots_with_only(branch: Branch, devices: Collection[DeviceID]) -> int:
    """Return how many PCIe roots of a place have only these devices."""
    if branch.level == "pcieRoot":
        return _has_only(branch, devices)
    return sum(roots_with_only(inner, devices) for inner in branch.branches)


def _has_only(branch: Branch, devices: Collection[DeviceID]) -> bool:
    return all(one.device in devices for one in branch.all_devices())


def _without(branch: Branch, folded: Collection[DeviceID]) -> Branch:
    """Return a place without the PCIe roots that have folded devices only, and without places that are then empty."""
    drawn = (one for one in branch.branches if one.level != "pcieRoot" or not _has_only(one, folded))
    kept = (_without(inner, folded) for inner in drawn)
    return replace(branch, branches=tuple(inner for inner in kept if any(inner.all_devices())))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Lays out the places of one node, by what it knows of devices besides where they sit.

    `amounts` are how wide the words about what is left of each capacity of a shareable device may be, and `worded` the
    devices whose state is written below their name.
    """

    parts: Mapping[DeviceID, Part]
    amounts: Mapping[DeviceID, Sequence[float]]
    worded: Collection[DeviceID]

    def lay(self, branch: Branch, width: float, columns: int = 0) -> Frame:
        """Lay out a place at the origin; `columns` is how many boxes go side by side, 0 for as many as are best."""
        outer = None if _inner(branch) is branch else branch
        branch = _inner(branch)
        inner = width - 2 * PAD
        lines, source = _heading(branch, inner, outer)
        top = bottom = 5 + LINE * (len(lines) + len(source)) if lines else PAD
        frames: list[Frame] = []
        for level in dict.fromkeys(child.level for child in branch.branches):
            group = [child for child in branch.branches if child.level == level]
            placed = self._grid(group, inner, bottom, columns)
            frames += placed
            bottom = bottom_of(placed) + GAP
        cards, devices = self._cards(branch)
        if cards:
            widest = max(_narrowest_card(card, devices) for card, devices in cards.items())
            across = max(1, min(len(cards), int((inner + GAP) // (widest + GAP))))
            wide = (inner - (across - 1) * GAP) / across
            placed = in_rows([self._card(card, of, wide) for card, of in cards.items()], across, wide, bottom)
            frames += placed
            bottom = bottom_of(placed) + GAP
        marks = self._flow(devices, inner, bottom)
        if marks:
            bottom = max(mark.y + mark.height for mark in marks) + GAP
        height = bottom - GAP + PAD if bottom > top else bottom + 3
        return Frame(branch, 0.0, 0.0, width, height, lines, source, tuple(frames), tuple(marks), outer=outer)

    def _cards(self, branch: Branch) -> tuple[Mapping[Card, list[Locality]], list[Locality]]:
        cards: dict[Card, list[Locality]] = defaultdict(list)
        others = []
        for locality in branch.devices:
            part = self.parts.get(locality.device)
            if part is None:
                others.append(locality)
            else:
                cards[part.card].append(locality)
        return cards, others

    def _card(self, card: Card, devices: Sequence[Locality], width: float) -> Frame:
        if card.slices:
            return slice_map(card, devices, self.parts, width)
        branch = Branch(COUNTERS, card.name, devices=tuple(devices))
        lines = wrap(card.name, SIZE, width - 2 * PAD)
        # one line more is for what is left of the counters
        marks = self._flow(devices, width - 2 * PAD, 5 + LINE * (len(lines) + 1))
        bottom = max(mark.y + mark.height for mark in marks) + PAD
        return Frame(branch, 0.0, 0.0, width, bottom, lines, marks=tuple(marks), card=card)

    def _grid(self, group: Sequence[Branch], inner: float, top: float, wanted: int = 0) -> list[Frame]:
        """Put boxes of one level into the equal columns that give the least height, the boxes in them alike."""
        most = max(len(_inner(branch).branches) for branch in group)
        besides = [(left, left + self._widest_mark(group) + 2 * PAD) for left in self._besides(group)]
        narrowest = self._narrowest(group) if len(group) > 1 else 0.0
        best: list[Frame] = []
        for columns in (wanted,) if wanted else range(1, len(group) + 1):
            width = (inner - (columns - 1) * GAP) / columns
            for left, least in besides:
                if width >= least:
                    placed = in_rows([self._beside(branch, width, left) for branch in group], columns, width, top)
                    if not best or bottom_of(placed) < bottom_of(best) - 1:
                        best = placed
            if columns > 1 and width < narrowest:
                break
            for deeper in range(min(1, most), most + 1):
                space = (width - 2 * PAD - (deeper - 1) * GAP) / max(deeper, 1)
                if deeper > 1 and space < max(self._narrowest(_inner(branch).branches) for branch in group):
                    break
                placed = in_rows([self.lay(branch, width, columns=deeper) for branch in group], columns, width, top)
                if not best or bottom_of(placed) < bottom_of(best) - 1:
                    best = placed
        return best

    def _besides(self, group: Sequence[Branch]) -> list[float]:
        """Return how wide headings beside the devices are, long and short; [] if one of the boxes has boxes in it."""
        if any(branch.level not in _ROOTS or branch.branches or self._cards(branch)[0] for branch in group):
            return []
        names = ([heading(branch)[0] for branch in group], [clean(str(branch.value)) for branch in group])
        return [max(text_width(name, SIZE) for name in names) + PAD for names in names]

    def _beside(self, branch: Branch, width: float, left: float) -> Frame:
        """Lay out a place at the origin with its heading to the left of its devices."""
        name = heading(branch)[0]
        name = name if text_width(name, SIZE) <= left - PAD else clean(str(branch.value))
        found = self._flow(branch.devices, width - 2 * PAD - left, 3.0)
        marks = tuple(dataclasses.replace(mark, x=mark.x + left) for mark in found)
        height = max(mark.y + mark.height for mark in marks) + 3
        return Frame(branch, 0.0, 0.0, width, height, (name,), marks=marks, heading_y=marks[0].height / 2 + 7.5)

    def _widest_mark(self, group: Sequence[Branch]) -> float:
        return max(self._mark(members, WIDTH).width for branch in group for members in in_blocks(branch.devices))

    def _narrowest(self, group: Sequence[Branch]) -> float:
        """Return how narrow the boxes of one level may be: wide enough for every device in them."""
        needed = [_NARROWEST[branch.level] for branch in group]
        for branch in group:
            cards, devices = self._all(branch)
            needed += [_narrowest_card(card, of) + 4 * PAD for card, of in cards.items()]
            for locality in devices:
                amount = max(self.amounts.get(locality.device, ()), default=0.0)
                needed.append(self._mark((locality,), amount + OTHER[1] if amount else WIDTH).width + 4 * PAD)
        return max(needed, default=0.0)

    def _all(self, branch: Branch) -> tuple[Mapping[Card, list[Locality]], list[Locality]]:
        cards, devices = self._cards(branch)
        found, others = dict(cards), list(devices)
        for deeper in branch.branches:
            more, rest = self._all(deeper)
            found |= more
            others += rest
        return found, others

    def _flow(self, devices: Sequence[Locality], inner: float, top: float) -> list[Mark]:
        """Put devices into rows from left to right; more than MANY like devices are one block."""
        marks: list[Mark] = []
        x, row_height = 0.0, 0.0
        for members in in_blocks(devices):
            mark = self._mark(members, inner)
            if x and x + mark.width > inner:
                top, x, row_height = top + row_height + GAP, 0.0, 0.0
            marks.append(dataclasses.replace(mark, x=PAD + x, y=top))
            x += mark.width + GAP
            row_height = max(row_height, mark.height)
        heights: dict[float, float] = {}
        for mark in marks:
            heights[mark.y] = max(heights.get(mark.y, 0.0), mark.height)
        return [dataclasses.replace(mark, y=mark.y + (heights[mark.y] - mark.height) / 2) for mark in marks]

    def _mark(self, members: tuple[Locality, ...], space: float) -> Mark:
        locality = members[0]
        if len(members) > 1:
            width = min(max(_BLOCK[0], space), _BLOCK[1])
            plural = "devices" if locality.kind == "other" else KIND_PLURALS[locality.kind]
            name = kind_words("CPUs" if locality.kind == "cpu" else plural, guessed=locality.guessed)
            lines = wrap(
                f"{len(members)} {name}{'' if locality.kind == 'cpu' else f', {locality.label}'}", SIZE, width - 16
            )
            # the bar, and two lines of counts
            return Mark(members, "block", 0.0, 0.0, width, LINE * (len(lines) + 2) + 24, lines)
        shape, margin, least = SHAPES.get(locality.kind, OTHER)
        amounts, most = self.amounts.get(locality.device, ()), min(_WIDEST, space)
        amount = max(amounts, default=0.0)
        if amount:
            shape, margin = ("pill" if locality.kind == "cpu" else shape), max(margin, 20.0)
            most = min(space, max(_WIDEST, amount + margin))
        wrapped = wrap(_SIGN + clean(locality.name), SIZE, most - margin)
        # a name that has no place for a sign before it has one above it
        above = wrapped[0] == _SIGN.rstrip()
        lines = wrapped[1:] if above else (wrapped[0].removeprefix(_SIGN), *wrapped[1:])
        width = max(text_width(line, SIZE) for line in wrapped)
        beside = text_width(" ", SIZE) + amount
        fits = len(wrapped) == len(amounts) == 1 and width + beside + margin <= space
        where = "" if not amounts else "beside" if fits else "below"
        width = width + beside if where == "beside" else max(width, amount)
        width = min(max(math.ceil(width + margin), least), space)
        rows = len(wrapped) + (len(amounts) if where == "below" else 0) + (locality.device in self.worded)
        height = LINE * rows + 11 + (8 if amount else 0)
        if shape == "circle":
            width = height = max(width, height)
        return Mark(members, shape, 0.0, 0.0, width, height, lines, sign_above=above, amount=where)


def _narrowest_card(card: Card, devices: Sequence[Locality]) -> float:
    return narrowest_map(card, devices) if card.slices else _NARROWEST[COUNTERS]


def in_blocks(devices: Sequence[Locality]) -> list[tuple[Locality, ...]]:
    """Return the devices of a place in their order, more than MANY like ones together where the first of them is."""
    like: dict[tuple[str, str, str], list[Locality]] = defaultdict(list)
    for one in devices:
        like[one.kind, one.label, one.device.driver].append(one)
    found: dict[DeviceID, tuple[Locality, ...]] = {}
    for one in devices:
        group = like[one.kind, one.label, one.device.driver]
        members = tuple(group) if len(group) > MANY else (one,)
        found.setdefault(members[0].device, members)
    return list(found.values())


def _heading(branch: Branch, space: float, outer: Branch | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of a heading and of the source below it; the source stands beside the name if that fits."""
    if branch.level == "node":
        return (), ()
    name, source = heading(branch)
    if outer is not None:
        name = f"{heading(outer)[0]} · {name}"
    whole = f"{name} · {source}" if source else name
    if text_width(whole, SIZE) <= space:
        return (whole,), ()
    value = str(branch.value)
    if branch.level in _ROOTS and text_width(value, SIZE) <= space:
        return (clean(value),), ()
    return wrap(name, SIZE, space), wrap(source, SIZE, space) if source else ()


def _inner(branch: Branch) -> Branch:
    """Return the NUMA node of a socket that has only this one, else the branch itself: one box less to look through."""
    alone = branch.level == "socket" and len(branch.branches) == 1 and not branch.devices
    return branch.branches[0] if alone else branch
