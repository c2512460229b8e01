"""The scene of a node: nested boxes and devices with their places in pixels; what a picture draws, without how.

The places depend on the node's devices only, never on a plan or a drawing, so that a device is at the same place every
time. The arrangement with the least height is taken; devices wrap, so that hundreds of them fit the same width.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dra_lab.model.cluster import Cluster
from dra_lab.pictures.captions import heading, short_name, shorten, text_width
from dra_lab.topology.locality import Locality
from dra_lab.topology.tree import UNKNOWN, Branch, node_tree

WIDTH = 460.0
"""The width of a picture at 1:1, in pixels."""

_PAD = 7.0
_GAP = 7.0
_HEAD = 19.0
_SUB = 12.0
_HEAD_SIZE = 11.0
_NAME_SIZE = 11.0
_SMALL_SIZE = 9.0
_SUB_SIZE = 9.5
_MANY = 12
_NARROWEST = {"socket": 200.0, "numaNode": 200.0, "pcieRoot": 96.0, "switch": 84.0, UNKNOWN: 300.0}


@dataclass(frozen=True, slots=True)
class Mark:
    """A device: `shape` is "square", "pill", "circle" or "hexagon"; `small` ones have room for one line only.

    `caption` is the device's short name, in two lines where it has a line break.
    """

    locality: Locality
    shape: str
    x: float
    y: float
    width: float
    height: float
    caption: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A place: a box with a heading, further boxes and devices; places of unknown locality are dotted.

    `caption` is the heading as it fits, `source` a second line that says where a derived place comes from, or "".
    A socket with one NUMA node is one box; `outer` is then the socket.
    """

    branch: Branch
    x: float
    y: float
    width: float
    height: float
    caption: str
    source: str = ""
    frames: tuple[Frame, ...] = ()
    marks: tuple[Mark, ...] = ()
    outer: Branch | None = None

    @property
    def dotted(self) -> bool:
        """Say whether it is the box of the devices of unknown locality."""
        return self.branch.level == UNKNOWN

    def all_marks(self) -> Iterator[Mark]:
        """Yield the devices of the box in the order in which they are read."""
        for frame in self.frames:
            yield from frame.all_marks()
        yield from self.marks


def node_scene(cluster: Cluster, node_name: str, width: float = WIDTH) -> Frame:
    """Return the outermost box of a node. Raises NodeError for a node that the cluster does not have."""
    return _lay(node_tree(cluster, node_name), width, node_title(cluster, node_name))


def node_title(cluster: Cluster, node_name: str) -> str:
    """Return the node's machine type from its labels, or ""."""
    labels = cluster.node_named(node_name).metadata.labels
    return labels.get("node.kubernetes.io/instance-type") or labels.get("beta.kubernetes.io/instance-type") or ""


def _lay(branch: Branch, width: float, title: str = "", columns: int = 0) -> Frame:
    """Lay out a place at the origin; `columns` is how many boxes go side by side in it, 0 for as many as are best."""
    outer = None if _inner(branch) is branch else branch
    branch = _inner(branch)
    inner = width - 2 * _PAD
    # the node's own heading is bold, which is a little wider
    caption, source = _heading(branch, inner / 1.12 if branch.level == "node" else inner, title, outer)
    top = _HEAD + (_SUB if source else 0.0)
    bottom = top
    frames: list[Frame] = []
    for level in dict.fromkeys(child.level for child in branch.branches):
        group = [child for child in branch.branches if child.level == level]
        placed = _grid(group, inner, bottom, columns)
        frames += placed
        bottom = max(frame.y + frame.height for frame in placed) + _GAP
    marks = _flow(branch.devices, inner, bottom)
    if marks:
        bottom = max(mark.y + mark.height for mark in marks) + _GAP
    height = bottom - _GAP + _PAD if bottom > top else bottom
    return Frame(branch, 0.0, 0.0, width, height, caption, source, tuple(frames), tuple(marks), outer)


def _heading(branch: Branch, room: float, title: str, outer: Branch | None) -> tuple[str, str]:
    """Return heading and second line of a box: one line if it fits, else the source below, else its short form."""
    name, source = heading(branch, title)
    if outer is not None:
        name = f"{heading(outer)[0]} · {name}"
    if not source:
        return (name if text_width(name, _HEAD_SIZE) <= room else shorten(name, _HEAD_SIZE, room)), ""
    whole = f"{name} ({source})" if branch.level != "node" else f"{name} · {source}"
    if text_width(whole, _HEAD_SIZE) <= room:
        return whole, ""
    if branch.level != "node":
        # the second half is the part that matters to who writes a manifest: who publishes none
        for told in (source, source.split("; ")[-1]):
            if text_width(told, _SUB_SIZE) <= room:
                return shorten(name, _HEAD_SIZE, room), told
    return shorten(name if branch.level == "node" else f"{name} (derived)", _HEAD_SIZE, room), ""


def _inner(branch: Branch) -> Branch:
    """Return the NUMA node of a socket that has only this one, else the branch itself: one box less to look through."""
    alone = branch.level == "socket" and len(branch.branches) == 1 and not branch.devices
    return branch.branches[0] if alone else branch


def _grid(group: Sequence[Branch], inner: float, top: float, wanted: int = 0) -> list[Frame]:
    """Put boxes of one level into the equal columns that give the least height, the boxes in them alike."""
    most = max(len(_inner(branch).branches) for branch in group)
    best: list[Frame] = []
    for columns in (wanted,) if wanted else range(1, len(group) + 1):
        width = (inner - (columns - 1) * _GAP) / columns
        if columns > 1 and width < _narrowest(group):
            break
        for deeper in range(min(1, most), most + 1):
            room = (width - 2 * _PAD - (deeper - 1) * _GAP) / max(deeper, 1)
            if deeper > 1 and room < max(_narrowest(_inner(branch).branches) for branch in group):
                break
            placed = _rows([_lay(branch, width, columns=deeper) for branch in group], columns, width, top)
            if not best or _bottom(placed) < _bottom(best) - 1:
                best = placed
    return best


def _narrowest(group: Sequence[Branch]) -> float:
    """Return how narrow the boxes of one level may be: wide enough for every device in them."""
    devices = (locality for branch in group for locality in branch.all_devices())
    widest = max((_mark(locality, small=False, room=WIDTH).width for locality in devices), default=0.0)
    return max((widest + 2 * _PAD, *(_NARROWEST[branch.level] for branch in group)))


def _bottom(frames: Sequence[Frame]) -> float:
    return frames[-1].y + frames[-1].height


def _rows(frames: Sequence[Frame], columns: int, width: float, top: float) -> list[Frame]:
    placed = []
    for start in range(0, len(frames), columns):
        row = frames[start : start + columns]
        height = max(frame.height for frame in row)
        for column, frame in enumerate(row):
            moved = _move(frame, _PAD + column * (width + _GAP), top)
            placed.append(dataclasses.replace(moved, height=height))
        top += height + _GAP
    return placed


def _move(frame: Frame, dx: float, dy: float) -> Frame:
    return dataclasses.replace(
        frame,
        x=frame.x + dx,
        y=frame.y + dy,
        frames=tuple(_move(inner, dx, dy) for inner in frame.frames),
        marks=tuple(dataclasses.replace(mark, x=mark.x + dx, y=mark.y + dy) for mark in frame.marks),
    )


def _flow(devices: Sequence[Locality], inner: float, top: float) -> list[Mark]:
    """Put devices into rows from left to right."""
    many = {kind for kind, count in Counter(locality.kind for locality in devices).items() if count > _MANY}
    marks: list[Mark] = []
    x, row_height = 0.0, 0.0
    for locality in devices:
        mark = _mark(locality, small=locality.kind in many, room=inner)
        gap = 4.0 if mark.small else _GAP
        if x and x + mark.width > inner:
            top, x, row_height = top + row_height + gap, 0.0, 0.0
        marks.append(dataclasses.replace(mark, x=_PAD + x, y=top))
        x += mark.width + gap
        row_height = max(row_height, mark.height)
    return _centred(marks)


def _centred(marks: Sequence[Mark]) -> list[Mark]:
    heights: dict[float, float] = {}
    for mark in marks:
        heights[mark.y] = max(heights.get(mark.y, 0.0), mark.height)
    return [dataclasses.replace(mark, y=mark.y + (heights[mark.y] - mark.height) / 2) for mark in marks]


def _mark(locality: Locality, *, small: bool, room: float) -> Mark:
    short = short_name(locality)
    lines = [short] if small or len(short) < (5 if locality.kind == "cpu" else 8) else _lines(short)
    if locality.kind == "cpu":
        side = 26.0 if small else 42.0
        caption = "\n".join(shorten(line, _SMALL_SIZE, side - 4) for line in lines)
        return Mark(locality, "circle", 0.0, 0.0, side, side, caption, small=small)
    shape, margin, least, most, height = {
        "gpu": ("square", 10.0, 42.0, 78.0, 40.0),
        "nic": ("pill", 22.0, 58.0, 124.0, 34.0),
    }.get(locality.kind, ("hexagon", 30.0, 58.0, 124.0, 34.0))
    if small:
        margin, least, most, height = margin / 2 + 2, 28.0, 64.0, 24.0
    size = _SMALL_SIZE if small else _SUB_SIZE if len(lines) > 1 else _NAME_SIZE
    widest = max(text_width(line, size) for line in lines)
    width = min(max(math.ceil(widest + margin), least), most, room)
    caption = "\n".join(shorten(line, size, width - margin) for line in lines)
    return Mark(locality, shape, 0.0, 0.0, width, height, caption, small=small)


def _lines(name: str) -> list[str]:
    """Return the one or two lines of a name: `112 CPUs` and `ens3f0np0 vf0` are two."""
    return [line for line in name.split(" ", 1) if line]
