"""Moves as a picture: the nodes that take part as bars of pods, with a numbered arrow from node to node."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.running import Move
from dra_lab.model.running_pods import running_pods
from dra_lab.pictures.boxes import SIZE
from dra_lab.pictures.captions import KIND_NAMES, text_width
from dra_lab.pictures.charts.amounts import Amounts, amounts_on
from dra_lab.pictures.svg_elements import (
    Element,
    element,
    outline,
    patterns,
    say,
    style_sheet,
    text,
    title,
    to_text,
)
from dra_lab.topology.locality import kinds
from dra_lab.topology.node_tree import natural_order
from dra_lab.words.facts import KINDS, counted
from dra_lab.words.moves_document import move_steps

WIDTH = 760.0
"""The width of the picture in pixels."""

MOST_NODES = 30
"""Nodes that are drawn; the first moves come first, and the text has all of them."""

_BAR, _PAD, _EDGE = 24.0, 7.0, 6.0
"""The height of a bar, the distance of bars from each other, and of everything from the border."""

_LABEL, _LANE, _LANES = 150.0, 28.0, 8
"""The widths of the longest name that is not cut and of a lane of arrows, and how many lanes there are."""

_HEAD = 6.0

_WORDS: Mapping[State, str] = {
    "stays": "stays",
    "leaves": "leaves",
    "lost": "has no next place",
    "arrives": "arrives",
    "new": "new pod",
    "used": "in use, pod not read",
    "free": "free",
    "blocked": "not available",
}
_PATTERNS: Mapping[State, str] = {"used": "hatch", "blocked": "dots"}
_STYLE = "\n" + (Path(__file__).parent / "moves.css").read_text(encoding="utf-8")


def moves_svg(
    cluster: Cluster, moves: Sequence[Move], plan: Plan | None = None, *, kind: str = "", width: float = WIDTH
) -> str:
    """Return the picture of moves as one `<svg>` element that stands on its own, in light and dark.

    Only nodes that a pod leaves or reaches are drawn, each with its devices now and then. A screen reader gets the
    steps in words. The pods have moved in `cluster` (`Plan.on` of an answer). `plan` has new pods to draw. `kind` is
    that of the devices that are counted, a key of KINDS; default: the first that a pod holds. Raises InputError if
    nothing moves, or no pod that moves has such devices.
    """
    held = moved_kinds(cluster, moves)
    if not moves or not held:
        raise InputError("no pod moves or leaves a node, so that there are no moves to draw")
    if kind and kind not in held:
        raise InputError(f"no pod that moves holds {KINDS.get(kind, kind)}; give one of {', '.join(held)}")
    order = list(dict.fromkeys(node for move in moves for node in (move.node_from, move.node_to) if node))
    counted_pods = _Counted(cluster, moves, plan, kind or held[0])
    rows = [counted_pods.row(node) for node in sorted(order[:MOST_NODES], key=natural_order)]
    return _Drawn(rows, max(0, len(order) - MOST_NODES), moves, kind or held[0], width).text()


@dataclass
class _Arrow:
    """An arrow between two nodes: the numbers of its steps, the heights of its ends, and its lane."""

    numbers: list[int]
    start: float
    end: float
    lane: int = 0

    @property
    def words(self) -> str:
        """Return the numbers, those that follow each other as a range."""
        parts: list[list[int]] = []
        for number in self.numbers:
            if parts and parts[-1][-1] == number - 1:
                parts[-1].append(number)
            else:
                parts.append([number])
        return ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}–{one[-1]}" for one in parts)


class _Drawn:
    """The picture while it is drawn."""

    def __init__(self, rows: Sequence[NodeShares], hidden: int, moves: Sequence[Move], kind: str, width: float) -> None:
        self.rows, self.hidden, self.moves, self.kind, self.width = rows, hidden, moves, kind, width
        self.tops: dict[str, float] = {}
        self.arrows = self._arrows()
        self.label = min(_LABEL, 14.0 + max((text_width(row.node, SIZE + 1) for row in rows), default=0.0))
        lanes = max((arrow.lane + 1 for arrow in self.arrows), default=0)
        self.bars = width - self.label - 2 * _EDGE - (lanes * _LANE + 18.0 if lanes else 0.0)
        self.scale = self.bars / max((row.total for row in rows), default=1.0)
        self.root = element(None, "svg", xmlns="http://www.w3.org/2000/svg", class_="dra-hw dra-mv", role="img")

    def _arrows(self) -> Sequence[_Arrow]:
        """Return an arrow for each pair of nodes, and set the height at which each node begins."""
        top = _EDGE + _BAR
        for row in self.rows:
            self.tops[row.node] = top
            top += _height(row)
        steps = steps_of(self.moves)
        numbers: dict[tuple[str, str], list[int]] = {}
        for move, step in zip(self.moves, steps, strict=True):
            ends = (move.node_from, move.node_to)
            if step and ends[0] != ends[1] and self.tops.keys() >= set(ends):
                numbers.setdefault(ends, []).append(step)
        two = {row.node: bool(row.now and row.then) for row in self.rows}
        outs, ins = ([ends[at] for ends in numbers] for at in (0, 1))
        arrows = []
        for at, ((left, right), own) in enumerate(numbers.items()):
            start = self.tops[left] + _PAD + _spread(outs, at)
            end = self.tops[right] + _PAD + two[right] * (_BAR + 4.0) + _spread(ins, at)
            arrows.append(_Arrow(own, start, end))
        _in_lanes(arrows)
        return arrows

    def text(self) -> str:
        """Return the picture as text."""
        root = self.root
        steps = " ".join(f"{number}. {words}." for number, words in enumerate(move_steps(self.moves), start=1))
        lost = [f"{move} " for move in self.moves if not move.node_to]
        say(root, aria_label=" ".join(filter(None, (f"{KINDS[self.kind]} of the nodes that take part.", *lost, steps))))
        element(root, "style").text = style_sheet() + _STYLE
        prefix = hashlib.sha256(repr((self.moves, self.kind, self.width)).encode()).hexdigest()[:8]
        patterns(root, f"mv-{prefix}")
        ground = element(root, "rect", class_="dra-hw-ground", width=self.width, rx=6.0)
        self._words(f"{KINDS[self.kind]} by node", _EDGE, _EDGE, "dra-hw-start dra-hw-strong")
        for row in self.rows:
            self._row(row, prefix)
        for arrow in self.arrows:
            self._arrow(arrow)
        bottom = max((self.tops[row.node] + _height(row) for row in self.rows), default=_BAR)
        if self.hidden:
            self._words(f"and {counted(self.hidden, 'more node')}", _EDGE, bottom)
            bottom += _BAR
        height = self._legend(prefix, bottom + 4.0) + _EDGE
        ground.set("height", f"{height:g}")
        say(root, width=f"{self.width:g}", height=f"{height:g}", viewBox=f"0 0 {self.width:g} {height:g}")
        return to_text(root)

    def _row(self, row: NodeShares, prefix: str) -> None:
        top = self.tops[row.node]
        element(self.root, "line", x1=0.0, x2=self.width, y1=top, y2=top, class_="dra-mv-rule")
        y = top + _PAD
        title(self._words(_cut(row.node, self.label - 8), _EDGE, y, "dra-hw-start dra-hw-strong"), row.node)
        for line, label in ((row.now, ""), (row.then, "then" if row.now else "")):
            if not line:
                continue
            if label:
                self._words(label, _EDGE, y)
            x = _EDGE + self.label
            for share in line:
                x += self._share(share, x, y, prefix)
            y += _BAR + 4.0
        if not row.then:
            end = _EDGE + self.label + self.scale * row.total + 8.0
            self._words("drained", end, top + _PAD)

    def _words(self, words: str, x: float, y: float, looks: str = "dra-hw-start") -> Element:
        """Write beside a bar, or in place of one, that begins at this height."""
        return text(self.root, words, x, y + _BAR / 2, looks)

    def _share(self, share: Share, x: float, y: float, prefix: str) -> float:
        """Draw a part of a bar and return its width."""
        wide = share.size * self.scale
        group = element(self.root, "g", class_=f"dra-mv-{share.state}")
        amount = f"{share.size:,.1f}".removesuffix(".0")
        noun = KIND_NAMES[self.kind] if amount == "1" else KINDS[self.kind]
        title(group, f"{share.pod or _WORDS[share.state]}: {amount} {noun}, {_WORDS[share.state]}")
        self._box(group, share.state, x, y, (max(2.0, wide - 2), _BAR), prefix)
        sign = 24.0 if share.step else 0.0
        name = share.pod.rpartition("/")[2] if share.pod else f"{amount} {_WORDS[share.state].partition(',')[0]}"
        words = _cut(f"✕ {name}" if share.state == "lost" else name, wide - sign - 8.0)
        if share.step:
            at = x + 14.0 if words else x + wide / 2
            self._badge(group, str(share.step), at, y + _BAR / 2)
        if words:
            text(group, words, x + sign + (wide - sign) / 2, y + _BAR / 2)
        return wide

    def _box(self, group: Element, state: State, x: float, y: float, size: tuple[float, float], prefix: str) -> None:
        outline(group, "square", x + 1, y, *size, class_="dra-hw-shape")
        if state in _PATTERNS:
            fill = f"url(#mv-{prefix}-{_PATTERNS[state]})"
            outline(group, "square", x + 1, y, *size, class_="dra-hw-pattern", fill=fill)

    def _badge(self, parent: Element, words: str, x: float, y: float) -> None:
        wide = max(20.0, text_width(words, SIZE) + 8.0)
        element(parent, "rect", x=x - wide / 2, y=y - 10.0, width=wide, height=20.0, rx=10.0, class_="dra-mv-badge")
        text(parent, words, x, y, "dra-mv-number")

    def _arrow(self, arrow: _Arrow) -> None:
        left, lane = _EDGE + self.label + self.bars, 16.0 + (arrow.lane + 0.5) * _LANE
        x, bend = left + lane, 4.0 if arrow.end > arrow.start else -4.0
        group = element(self.root, "g")
        element(
            group,
            "path",
            d=f"M{left + 4:g} {arrow.start:g}H{x - 4:g}q4 0 4 {bend:g}V{arrow.end - bend:g}q0 {bend:g} -4 {bend:g}"
            f"H{left + _HEAD + 3:g}",
            class_="dra-mv-arrow",
        )
        tip = left + 3.0
        points = f"{tip:g},{arrow.end:g} {tip + _HEAD + 2:g},{arrow.end - 4:g} {tip + _HEAD + 2:g},{arrow.end + 4:g}"
        element(group, "polygon", points=points, class_="dra-mv-head")
        self._badge(group, arrow.words, x, (arrow.start + arrow.end) / 2)

    def _legend(self, prefix: str, top: float) -> float:
        """Draw what the looks mean, as far as they occur, and return where that ends."""
        there = {share.state for row in self.rows for share in (*row.now, *row.then)}
        x, y = _EDGE, top
        legend = element(self.root, "g", class_="dra-hw-legend", aria_hidden="true")
        for state in (one for one in _WORDS if one in there):
            wide = 36.0 + text_width(_WORDS[state], SIZE)
            if x + wide > self.width:
                x, y = _EDGE, y + _BAR
            group = element(legend, "g", class_=f"dra-mv-{state}")
            self._box(group, state, x, y + 6, (20.0, 13.0), prefix)
            self._words(_WORDS[state], x + 27, y)
            x += wide
        words = "same number: from and to"
        if any(steps_of(self.moves)):
            x, y = (x, y) if x + 30 + text_width(words, SIZE) < self.width else (_EDGE, y + _BAR)
            self._badge(self.root, "1", x + 10, y + _BAR / 2)
            self._words(words, x + 25, y)
        return y + _BAR


def _height(row: NodeShares) -> float:
    lines = bool(row.now) + bool(row.then)
    return lines * (_BAR + 4.0) + 2 * _PAD - 4.0


def _spread(names: Sequence[str], at: int) -> float:
    """Return where on a bar an arrow begins or ends, so that those of one node stand beside each other."""
    mine = [number for number, name in enumerate(names) if name == names[at]]
    return _BAR * (mine.index(at) + 1) / (len(mine) + 1)


def _in_lanes(arrows: Sequence[_Arrow]) -> None:
    """Give each arrow the first lane that is free between its ends, the shortest first."""
    ends: dict[int, list[tuple[float, float]]] = {}
    for arrow in sorted(arrows, key=lambda one: abs(one.end - one.start)):
        low, high = sorted((arrow.start, arrow.end))
        free = (
            lane
            for lane in range(_LANES)
            if all(high + 4 < other[0] or other[1] + 4 < low for other in ends.get(lane, ()))
        )
        arrow.lane = next(free, _LANES - 1)
        ends.setdefault(arrow.lane, []).append((low, high))


def _cut(words: str, width: float) -> str:
    """Return a text that is cut in its middle until it fits, "" if hardly anything would be left."""
    if text_width(words, SIZE) <= width:
        return words
    for kept in range(len(words) - 1, 3, -1):
        made = f"{words[: kept - kept // 2]}…{words[len(words) - kept // 2 :]}"
        if text_width(made, SIZE) <= width:
            return made
    return ""


# --------------------------------------------------------------------- what each pod holds

State = Literal["stays", "leaves", "lost", "arrives", "new", "used", "free", "blocked"]


@dataclass(frozen=True)
class Share:
    """A part of a node's devices: the pod that holds it, "" for none, and the number of its step, 0 without one."""

    state: State
    size: float
    pod: str = ""
    step: int = 0


@dataclass(frozen=True)
class NodeShares:
    """A node of some moves: its devices `now`, empty if nothing leaves, and `then`, empty if it is drained."""

    node: str
    now: tuple[Share, ...] = ()
    then: tuple[Share, ...] = ()

    @property
    def total(self) -> float:
        """Return how many devices it has, as far as they are shown."""
        return max(sum(share.size for share in line) for line in (self.now, self.then))


def steps_of(moves: Sequence[Move]) -> tuple[int, ...]:
    """Return the number of the step of each move, from 1, and 0 for a pod that has no place."""
    numbers = count(1)
    return tuple(next(numbers) if move.node_to else 0 for move in moves)


def moved_kinds(cluster: Cluster, moves: Sequence[Move]) -> tuple[str, ...]:
    """Return the kinds of the devices that pods of some moves hold, in the order of KINDS."""
    known = _kinds(cluster, moves)
    held = {known.get(device.driver, "other") for move in moves for device in move.devices_from}
    return tuple(kind for kind in KINDS if kind in held)


def _kinds(cluster: Cluster, moves: Sequence[Move]) -> Mapping[str, str]:
    """Return the kind of each driver's devices, as the nodes of the moves have them."""
    there = [move.node_to for move in moves] + [move.node_from for move in moves]
    nodes = [node for node in dict.fromkeys(there) if node in cluster.node_by_name] or cluster.node_names[:1]
    return {device.driver: kind for node in nodes for device, kind in kinds(cluster, node).items()}


class _Counted:
    """How much of a kind of device, a key of KINDS, each pod on the nodes of some moves holds.

    The pods have moved in `cluster`. It does not have a drained node, so that only what leaves it is known. `plan` has
    the new pods.
    """

    def __init__(self, cluster: Cluster, moves: Sequence[Move], plan: Plan | None, kind: str) -> None:
        self.cluster, self.moves, self.kind = cluster, moves, kind
        self.kind_of = _kinds(cluster, moves)
        self.steps = steps_of(moves)
        nodes = {move.node_to for move in moves} | {move.node_from for move in moves}
        known = [node for node in nodes if node in cluster.node_by_name]
        self.amounts = amounts_on(cluster, known, plan)
        self.running: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for pod in running_pods(cluster):
            if pod.node in nodes:
                self.running[pod.node].append((pod.name, self._count(pod.devices)))
        self.new: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for placed in plan.pods if plan is not None else ():
            self.new[placed.node][placed.workload] += self._count(one.device for one in placed.devices)

    def _count(self, devices: Iterable[DeviceID]) -> int:
        return sum(self.kind_of.get(device.driver, "other") == self.kind for device in devices)

    def row(self, node: str) -> NodeShares:
        """Return a node before and after the moves."""
        amounts = self.amounts.get((node, self.kind), Amounts(node, self.kind))
        held = sum(n for _, n in self.running[node])
        # a share of a device is less than the device, and a CPU device stands for many CPUs
        unit = amounts.in_use / held if held and (self.kind == "cpu" or held > amounts.in_use) else 1.0
        arrived = {move.pod: step for move, step in zip(self.moves, self.steps, strict=True) if move.node_to == node}
        stays = [Share("stays", unit * n, pod) for pod, n in self.running[node] if n and pod not in arrived]
        arrives = [Share("arrives", unit * n, pod, arrived[pod]) for pod, n in self.running[node] if pod in arrived]
        rest = amounts.in_use - unit * held
        stays += [Share("used", rest)] if rest > 0 else []
        blocked = [Share("blocked", amounts.blocked)] if amounts.blocked else []
        leaves = tuple(
            Share("leaves" if step else "lost", unit * self._count(move.devices_from), move.pod, step)
            for move, step in zip(self.moves, self.steps, strict=True)
            if move.node_from == node
        )
        new = {name: devices for name, devices in self.new[node].items() if devices}
        placed = (Share("new", amounts.planned * n / sum(new.values()), name) for name, n in new.items())
        then = (*stays, *arrives, *placed, *_free(amounts.free + amounts.stranded), *blocked)
        before = amounts.total - amounts.blocked - sum(share.size for share in (*stays, *leaves))
        now = (*stays, *leaves, *_free(before if amounts.total else 0.0), *blocked)
        return NodeShares(node, now if leaves else (), then)


def _free(size: float) -> tuple[Share, ...]:
    return (Share("free", size),) if size > 1e-9 else ()
