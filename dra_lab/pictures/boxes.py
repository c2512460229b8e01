"""Boxes, devices and words of a picture with their places in pixels, and the slice map of a partitioned GPU."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_lab.model.names import DeviceID
from dra_lab.pictures.captions import text_width, wrap
from dra_lab.pictures.partitions import Card, Part, profile_name
from dra_lab.topology.node_tree import Branch
from dra_lab.topology.places import Locality

WIDTH = 640.0
"""The width of a picture, in pixels."""

SIZE = 13.0
"""The size of all text on places and devices, in pixels."""

LINE = 17.0
"""The distance of two lines of text."""

MANY = 12
"""Up to this number, identical devices of one place are drawn one by one; more become one block with counts."""

PAD, GAP = 8.0, 6.0
"""The distance of what is in a box from its border, and from each other."""

SLICES, COUNTERS = "slices", "counters"
"""The levels of the boxes of partitioned devices: with a slice map, and without."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A device, or a block of like devices: `shape` is "square", "pill", "circle", "hexagon", "block" or "slice".

    `lines` is the device's name. A mark that is no slice has room for the sign of a request (`A1`) before the name, or
    with `sign_above` in a line of its own. `amount` says where there is room for the words about what is left of a
    shareable device: "beside" the name, "below" it, or "" for none. `part` is the place of a partition on its card.
    """

    localities: tuple[Locality, ...]
    shape: str
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    part: Part | None = None
    sign_above: bool = False
    amount: str = ""

    @property
    def locality(self) -> Locality:
        """Return the device, or the first one of a block."""
        return self.localities[0]


@dataclass(frozen=True, slots=True)
class BoxWords:
    """Text inside a place that is no heading, such as the name of a row; `x`, `y` is where its line begins."""

    text: str
    x: float
    y: float
    middle: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A place: a box with a heading, further boxes and devices; places of unknown locality are dotted.

    `lines` is the heading, the first one `heading_y` below the top, and `source` says below it where a derived place
    comes from. A socket with one NUMA node is
    one box; `outer` is then the socket. `card` is the partitioned device that a box of partitions stands for; `cells`
    are the places of its compute slices.
    """

    branch: Branch
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    source: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    marks: tuple[Mark, ...] = ()
    words: tuple[BoxWords, ...] = ()
    cells: tuple[tuple[float, float, float], ...] = ()
    outer: Branch | None = None
    card: Card | None = None
    heading_y: float = 16.0

    def all_marks(self) -> Iterator[Mark]:
        """Yield the devices of the box in the order in which they are read."""
        for frame in self.frames:
            yield from frame.all_marks()
        yield from self.marks


def bottom_of(frames: Sequence[Frame]) -> float:
    """Return where the last row of boxes ends."""
    return frames[-1].y + frames[-1].height


def in_rows(frames: Sequence[Frame], columns: int, width: float, top: float) -> list[Frame]:
    """Put boxes into rows of `columns`, those of a row equally high."""
    placed = []
    for start in range(0, len(frames), columns):
        row = frames[start : start + columns]
        height = max(frame.height for frame in row)
        for column, frame in enumerate(row):
            placed_frame = moved(frame, PAD + column * (width + GAP), top)
            placed.append(dataclasses.replace(placed_frame, height=height))
        top += height + GAP
    return placed


def moved(frame: Frame, dx: float, dy: float) -> Frame:
    """Return a box elsewhere, with all that is in it."""
    return dataclasses.replace(
        frame,
        x=frame.x + dx,
        y=frame.y + dy,
        frames=tuple(moved(inner, dx, dy) for inner in frame.frames),
        marks=tuple(dataclasses.replace(mark, x=mark.x + dx, y=mark.y + dy) for mark in frame.marks),
        words=tuple(dataclasses.replace(words, x=words.x + dx, y=words.y + dy) for words in frame.words),
        cells=tuple((x + dx, y + dy, width) for x, y, width in frame.cells),
    )


_ROW = 24.0
_CELL = 26.0

Parts = Mapping[DeviceID, Part]


def narrowest_map(card: Card, devices: Sequence[Locality]) -> float:
    """Return how narrow the slice map of a card may be: every slice is wide enough to hit."""
    return 2 * PAD + _label_width(devices) + max(card.slices, card.compute) * _CELL


def slice_map(card: Card, devices: Sequence[Locality], parts: Parts, width: float) -> Frame:
    """Return the box of a card at the origin, with its partitions as marks of the shape "slice"."""
    branch = Branch(SLICES, card.name, devices=tuple(devices))
    inner = width - 2 * PAD
    lines, source = _heading(card, devices, inner)
    top = 5 + LINE * (len(lines) + len(source))
    left = PAD + _label_width(devices)
    cell = (width - PAD - left) / card.slices
    words = [BoxWords("memory", PAD, top + 13)]
    words += [BoxWords(str(at), left + (at + 0.5) * cell, top + 13, middle=True) for at in range(card.slices)]
    y = top + LINE + 3
    marks = []
    for name, row in _profile_rows(devices, parts):
        words.append(BoxWords(name, PAD, y + _ROW / 2 + 4.5))
        for locality in row:
            part = parts[locality.device]
            place = (left + part.first * cell + 1, y, part.count * cell - 2, _ROW)
            marks.append(Mark((locality,), "slice", *place, (name,), part))
        y += _ROW + 3
    cells = []
    if card.compute:
        words.append(BoxWords("compute", PAD, y + 15))
        step = cell if card.compute <= card.slices else (width - PAD - left) / card.compute
        cells = [(left + at * step + 1, y, step - 2) for at in range(card.compute)]
        y += 24
    return Frame(branch, 0.0, 0.0, width, y + 4, lines, source, (), tuple(marks), tuple(words), tuple(cells), card=card)


def _profile_rows(devices: Sequence[Locality], parts: Parts) -> list[tuple[str, list[Locality]]]:
    """Return the rows: partitions of one name that do not overlap, large ones first."""
    by_name: dict[str, list[list[Locality]]] = defaultdict(list)
    sizes: dict[str, tuple[int, int]] = {}
    for locality in sorted(devices, key=lambda one: parts[one.device].first):
        part, name = parts[locality.device], profile_name(locality)
        sizes[name] = max(sizes.get(name, (0, 0)), (part.count, part.compute))
        ends = {id(row): parts[row[-1].device].first + parts[row[-1].device].count for row in by_name[name]}
        row = next((row for row in by_name[name] if ends[id(row)] <= part.first), None)
        if row is None:
            by_name[name].append([locality])
        else:
            row.append(locality)
    names = sorted(by_name, key=lambda name: (-sizes[name][0], -sizes[name][1], name))
    return [(name, row) for name in names for row in by_name[name]]


def _label_width(devices: Sequence[Locality]) -> float:
    names = {profile_name(locality) for locality in devices} | {"compute", "memory"}
    return math.ceil(max(text_width(name, SIZE) for name in names)) + 6.0


def _heading(card: Card, devices: Sequence[Locality], space: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    label = Counter(locality.label.partition(" MIG ")[0] for locality in devices).most_common(1)[0][0]
    facts = f"{card.compute} compute × {card.slices} memory slices" if card.compute else f"{card.slices} memory slices"
    if card.is_static:
        facts = f"fixed partitions, memory slices 0 to {card.slices - 1}"
    whole = f"{card.name} · {label} · {facts}"
    if text_width(whole, SIZE) <= space:
        return (whole,), ()
    return wrap(f"{card.name} · {label}", SIZE, space), wrap(facts, SIZE, space)
