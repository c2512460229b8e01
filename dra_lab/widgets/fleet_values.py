"""What the fleet strip of `HardwareView` is told: nodes, or classes of equal nodes, and how they serve the drawing."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.canvas_values import Row

Fit = Literal["best", "worse", "no", "unknown"]


class FleetItem(Row, frozen=True):
    """A node, or a class of equal nodes that `id`, its first node, stands for; `nodes` counts them."""

    id: str
    label: str
    nodes: int = 1
    fit: Fit = "unknown"
    pinned: bool = False
    detail: str = ""


class Fleet(Row, frozen=True):
    """The strip: a tile a node, or a row a class; `total` counts the nodes, `best` is the plan's node or ""."""

    kind: Literal["tiles", "classes"] = "tiles"
    items: tuple[FleetItem, ...] = ()
    total: int = 0
    best: str = ""
