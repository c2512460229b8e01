"""The node strip: a tile for every node of a small cluster, one for every type of identical nodes of a large one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from dra_lab.model.headroom import CORDONED, NodeClass, NodeFit
from dra_lab.model.plan import Plan
from dra_lab.pictures.boxes import SIZE
from dra_lab.pictures.captions import shorten, text_width
from dra_lab.pictures.style import style_sheet
from dra_lab.pictures.svg_elements import Element, backing, element, patterns, text, title, to_text
from dra_lab.words.document import clean
from dra_lab.words.facts import FIT_WORDS

MOST_TILES = 64
"""Up to this number, each node gets its own tile; above it, identical nodes share one."""

_LEAST = 4
"""Characters of a name that a label keeps at least."""

_FILL = {NodeFit.BEST: "dra-hw-fits", NodeFit.WORSE: "dra-hw-shape", NodeFit.NO: "dra-hw-shape"}


class FleetTile(TypedDict):
    """One tile: `node` stands for `count` identical nodes; `label` is short, `title` says everything in words."""

    node: str
    label: str
    count: int
    fit: str
    fits_idle: bool | None
    goals: dict[str, int]
    selected: bool
    title: str


def fleet_tiles(plan: Plan) -> list[FleetTile]:
    """Return the tiles of a plan: nodes by name up to 64 of them, else types of identical nodes, most nodes first.

    The plan's own node is the tile with `selected`; it stands for its class where classes are shown.
    """
    total = sum(len(node_class.nodes) for node_class in plan.node_classes)
    if total <= MOST_TILES:
        pairs = sorted(((node, c) for c in plan.node_classes for node in c.nodes), key=lambda pair: pair[0])
        labels = short_labels([node for node, _ in pairs])
        return [_tile(plan, c, node, 1, label) for (node, c), label in zip(pairs, labels, strict=True)]
    classes = sorted(plan.node_classes, key=lambda c: (-len(c.nodes), c.nodes))
    return [
        _tile(plan, c, plan.node if plan.node in c.nodes else c.nodes[0], len(c.nodes), c.label or c.nodes[0])
        for c in classes
        if c.nodes
    ]


def _tile(plan: Plan, node_class: NodeClass, node: str, count: int, label: str) -> FleetTile:
    idle = {True: "; would if it were idle", False: ", even if idle", None: ""}[node_class.fits_idle]
    words = FIT_WORDS[node_class.fit] + (idle if node_class.fit is NodeFit.NO else "")
    words += f": {CORDONED}" if node_class.label == CORDONED else ""
    many = f", one of {count:,} identical nodes" if count > 1 else ""
    return {
        "node": node,
        "label": label,
        "count": count,
        "fit": node_class.fit.value,
        "fits_idle": node_class.fits_idle,
        "goals": {goal.goal: goal.value for goal in node_class.goals},
        "selected": node == plan.node,
        "title": f"{node}{many}: {words}",
    }


def short_labels(names: Sequence[str]) -> list[str]:
    """Return the names without what all of them begin and end with, cut at `-` and `.`, so that they still differ.

    At least four characters of each are left.
    """
    if len(names) < 2:
        return [name.split(".", 1)[0] or name for name in names]
    tails = [name.split(".") for name in names]
    if len({tuple(tail[1:]) for tail in tails}) == 1 and len({tail[0] for tail in tails}) == len(names):
        names = [tail[0] for tail in tails]
    parts = [name.split("-") for name in names]
    same = 0
    while all(len(part) > same + 1 for part in parts) and len({part[same] for part in parts}) == 1:
        same += 1
    while same and any(len("-".join(part[same:])) < _LEAST for part in parts):
        same -= 1
    return ["-".join(part[same:]) for part in parts]


def fleet_svg(plan: Plan, *, width: float = 460.0, prefix: str = "fleet") -> str:
    """Return the strip as one `<svg>` for reports; `prefix` must differ between pictures on one page.

    Solid: as well as the best; hatched: worse; outline: does not fit; dotted: not decided; a thick border: the plan's.
    """
    root = element(None, "svg", xmlns="http://www.w3.org/2000/svg", class_="dra-hw", role="img")
    tiles = fleet_tiles(plan)
    fitting = sum(tile["count"] for tile in tiles if tile["fit"] in (NodeFit.BEST, NodeFit.WORSE))
    root.set("aria-label", f"Fits on {fitting} of {sum(tile['count'] for tile in tiles)} nodes")
    element(root, "style").text = style_sheet()
    patterns(root, prefix)
    ground = element(root, "rect", class_="dra-hw-ground", width=width)
    x, y = 2.0, 2.0
    for tile in tiles:
        words = clean(tile["label"]) + (f" ×{tile['count']}" if tile["count"] > 1 else "")
        words = shorten(words, SIZE, width - 24)
        # room on both sides for the hatch of a worse fit, which the ground of the text must not hide
        tile_width = max(text_width(words, SIZE) + (28 if tile["fit"] == NodeFit.WORSE else 12), 30.0)
        if x + tile_width > width - 2:
            x, y = 2.0, y + 28
        _draw(root, tile, words, (x, y, tile_width), prefix)
        x += tile_width + 6
    ground.set("height", f"{y + 26:g}")
    root.set("viewBox", f"0 0 {width:g} {y + 26:g}")
    root.set("width", f"{width:g}")
    root.set("height", f"{y + 26:g}")
    return to_text(root)


def _draw(root: Element, tile: FleetTile, words: str, place: tuple[float, float, float], prefix: str) -> None:
    x, y, tile_width = place
    fit = NodeFit(tile["fit"])
    item = element(root, "g", class_="dra-hw-tile")
    title(item, tile["title"])
    made = element(item, "rect", x=x, y=y, width=tile_width, height=22.0, rx=4.0, class_=_FILL.get(fit, "dra-hw-shape"))
    if fit is NodeFit.WORSE:
        pattern = f"url(#{prefix}-hatch)"
        element(item, "rect", x=x, y=y, width=tile_width, height=22.0, rx=4.0, class_="dra-hw-pattern", fill=pattern)
        backing(item, words, x + tile_width / 2, y + 11, SIZE)
    if fit is NodeFit.UNKNOWN:
        made.set("style", "stroke-dasharray:1.5 2.5")
    if tile["selected"]:
        made.set("style", "stroke:var(--dra-hw-ink);stroke-width:3")
    text(item, words, x + tile_width / 2, y + 11.5, "dra-hw-on-fit" if fit is NodeFit.BEST else "")
