"""Boxes, devices and words of a picture with their places in pixels, and the sizes that all pictures share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dra_lab.pictures.partitions import Card, Part
from dra_lab.topology.locality import Locality
from dra_lab.topology.node_tree import Branch

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
