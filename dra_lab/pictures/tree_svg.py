"""The PCIe and NUMA tree of a node as an SVG of indented rows: places in bold, devices under the place they sit on."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.plan import Plan
from dra_lab.pictures.boxes import LINE, SIZE
from dra_lab.pictures.captions import heading, place_words, wrap
from dra_lab.pictures.device_states import DeviceState, device_states, shown
from dra_lab.pictures.letters import colours, letters, numbers
from dra_lab.pictures.scene import OTHER, SHAPES, in_blocks
from dra_lab.pictures.svg_elements import Element, element, label, outline, say, style_sheet, text, title, to_text
from dra_lab.topology.locality import Locality
from dra_lab.topology.node_tree import Branch, node_tree
from dra_lab.words.document import clean

WIDTH = 290.0
"""The width of the tree, in pixels."""

_STEP = 20.0
_ROW = 26.0


def tree_svg(cluster: Cluster, node_name: str, plan: Plan | None = None, width: float = WIDTH) -> str:
    """Return the tree as one `<svg>` element; devices carry `data-id` and, if a plan chose them, `data-request`.

    More than twelve like devices of one place are one row. Raises NodeError for an unknown node.
    """
    drawing = _Drawing(cluster, node_name, plan, width)
    root = element(None, "svg", xmlns="http://www.w3.org/2000/svg", class_="dra-hw dra-hw-tree", role="group")
    say(root, aria_label=f"PCIe and NUMA tree of node {node_name}")
    element(root, "style").text = style_sheet()
    ground = element(root, "rect", class_="dra-hw-ground", width=width)
    tree = element(root, "g", role="tree")
    say(tree, aria_label=f"tree of {node_name}")
    bottom = drawing.place(tree, node_tree(cluster, node_name), 0, 4.0) + 6
    for item in tree.iterfind(".//g[@tabindex]"):
        item.set("tabindex", "0")
        break
    ground.set("height", f"{bottom:g}")
    for name, value in (("viewBox", f"0 0 {width:g} {bottom:g}"), ("width", f"{width:g}"), ("height", f"{bottom:g}")):
        root.set(name, value)
    return to_text(root)


class _Drawing:
    """Draws the rows of one node."""

    def __init__(self, cluster: Cluster, node_name: str, plan: Plan | None, width: float) -> None:
        sketch = plan.sketch if plan is not None else None
        release = plan.release if plan is not None else ""
        on_top = shown(plan, node_name, "best")
        self._states = device_states(cluster, node_name, sketch=sketch, on_top=on_top, release=release)
        self._letters = letters(sketch) if sketch is not None else {}
        self._colours = colours(sketch) if sketch is not None else {}
        self._numbers = numbers(on_top.filled)
        self._width = width

    def place(self, parent: Element, branch: Branch, depth: int, y: float) -> float:
        """Add a place with all below it, and return where the next row begins."""
        item = element(parent, "g", role="group", class_="dra-hw-place")
        words = place_words(branch)
        say(item, data_level=branch.level, data_value=str(branch.value), aria_label=words)
        title(item, words)
        x = 6 + depth * _STEP
        lines = wrap(clean(heading(branch)[0]), SIZE * 1.12, self._width - x - 4)
        for at, line in enumerate(lines):
            text(item, line, x, y + 16 + at * LINE, "dra-hw-heading dra-hw-strong")
        top = y + _ROW + (len(lines) - 1) * LINE
        below = top
        middle = top
        for deeper in branch.branches:
            middle = below + _ROW / 2 - 2
            _edge(item, x, middle)
            below = self.place(item, deeper, depth + 1, below)
        for group in in_blocks(branch.devices):
            middle = below + _ROW / 2 - 2
            _edge(item, x, middle)
            below = self._devices(item, group, depth + 1, below)
        if below > top:
            element(item, "line", x1=x + 6, y1=top - 4, x2=x + 6, y2=middle, class_="dra-hw-edge")
        return below

    def _devices(self, parent: Element, group: Sequence[Locality], depth: int, y: float) -> float:
        states = [self._states.get(one.device, DeviceState()) for one in group]
        references = list(dict.fromkeys(split_request(state.chosen)[0] for state in states if state.chosen))
        first, x = group[0], 6 + depth * _STEP
        name = clean(first.name) if len(group) == 1 else f"{len(group)} × {first.label}"
        words = f"{name} · {first.label}" if len(group) == 1 and first.label != name else name
        number = self._numbers.get(first.device, "") if len(group) == 1 else ""
        signs = " ".join(f"{self._letters.get(reference, '?')}{number}" for reference in references)
        why = "; ".join(states[0].why) or states[0].state.value if len(group) == 1 else ""
        icon = 20.0 if first.kind in ("gpu", "cpu") else 28.0
        item = element(parent, "g", role="treeitem", aria_level=str(depth + 1), tabindex="-1", class_="dra-hw-device")
        if len(group) == 1:
            say(item, data_id=str(first.device))
        else:
            say(item, data_ids=" ".join(str(one.device) for one in group))
        if references:
            say(item, data_request=" ".join(references))
        sign = element(item, "g", class_=f"dra-hw-{'chosen' if references else states[0].state.css}")
        outline(sign, SHAPES.get(first.kind, OTHER)[0], x, y + 3, icon, 20.0, class_="dra-hw-shape")
        if references:
            colour = self._colours[references[0]]
            sign.set("style", f"--dra-hw-fill:{colour.fill};--dra-hw-on:{colour.text}")
            text(sign, f"{self._letters[references[0]]}{number}", x + icon / 2, y + 13, "dra-hw-letter")
        lines = wrap(clean(words), SIZE, self._width - x - icon - 10)
        for at, line in enumerate(lines):
            text(item, line, x + icon + 6, y + 17 + at * LINE, "dra-hw-heading")
        label(item, ", ".join(part for part in (f"{signs} {words}".strip(), why) if part))
        return y + _ROW + (len(lines) - 1) * LINE


def _edge(parent: Element, x: float, y: float) -> None:
    element(parent, "line", x1=x + 6, y1=y, x2=x + _STEP - 3, y2=y, class_="dra-hw-edge")
