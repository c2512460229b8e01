"""The values of the node strip of `HardwareView`: nodes or types of nodes, and how they serve the drawing."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.canvas_values import Row

Fit = Literal["best", "worse", "no", "unknown"]


class FleetItem(Row, frozen=True):
    """A node, or a type of identical nodes that `id`, its first node, stands for; `nodes` counts them.

    `word` is its state in a word: "idle", "worse", "full", "busy", "does not fit".
    """

    id: str
    label: str
    nodes: int = 1
    fit: Fit = "unknown"
    pinned: bool = False
    detail: str = ""
    word: str = ""


class HeatCell(Row, frozen=True):
    """A rack of a heat map: `grade` from 0 to 4 is its colour, `words` all of it, `id` what a click chooses.

    That is a node of the rack in Plan, and the row of the rack in Fleet.
    """

    rack: str
    grade: int
    words: str
    id: str = ""


class HeatMap(Row, frozen=True):
    """Racks by a value: `title` says what it counts, `grades` what each colour means, `source` what makes a rack."""

    title: str = ""
    source: str = ""
    grades: tuple[str, ...] = ()
    cells: tuple[HeatCell, ...] = ()


class Fleet(Row, frozen=True):
    """The strip: one tile per node, or one row per type; `total` counts the nodes, `best` is the plan's node or ""."""

    kind: Literal["tiles", "classes"] = "tiles"
    items: tuple[FleetItem, ...] = ()
    total: int = 0
    best: str = ""
    heat: HeatMap = HeatMap()
