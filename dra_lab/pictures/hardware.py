"""The hardware of a node as SVG: nested boxes with the states of devices and what a plan takes, or a tree of rows."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.claims import DeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pictures.boxes import COUNTERS, LINE, SIZE, WIDTH, Frame
from dra_lab.pictures.captions import heading, place_words, text_width, wrap
from dra_lab.pictures.device_states import (
    WORDED,
    DeviceState,
    OnTop,
    State,
    device_states,
    partial_fit,
    shown,
    unplaced,
)
from dra_lab.pictures.letters import colours, letters, numbers
from dra_lab.pictures.marks import Ink, add_cells, add_legend, add_mark, add_notes
from dra_lab.pictures.partitions import left_words
from dra_lab.pictures.scene import OTHER, SHAPES, in_blocks, node_scene, roots_with_only
from dra_lab.pictures.svg_elements import (
    Element,
    element,
    label,
    outline,
    patterns,
    say,
    style_sheet,
    text,
    title,
    to_text,
)
from dra_lab.sketch.kind_counts import unread_words
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.locality import localities
from dra_lab.topology.node_tree import Branch, node_tree
from dra_lab.topology.places import Locality
from dra_lab.topology.presets import NVLINK_DOMAIN
from dra_lab.words.document import clean
from dra_lab.words.facts import counted
from dra_lab.words.verdict import pairs_note

_HOLDERS = 4
_LEGEND = 40.0
"""About how high the legend is."""


def hardware_svg(
    cluster: Cluster,
    node_name: str,
    *,
    plan: Plan | None = None,
    show: str = "best",
    sketch: ClaimSketch | None = None,
    request: str = "",
    pods: Mapping[DeviceID, str] | None = None,
    workloads: Sequence[str] = (),
    prefix: str = "",
    width: float = WIDTH,
    height: float = math.inf,
    unfolded: bool = False,
) -> str:
    """Return the picture of a node as one `<svg>` element that stands on its own, in light and dark.

    Devices carry `data-id` (driver/pool/device) and `data-request`, a block of like devices `data-ids`. They are the
    items of a tree with roving tabindex (the first has 0), places are its groups. `data-top` on the root is where the
    hardware begins below the node's name, `data-legend` where the legend begins.

    `show` is one of SHOWN; a dashed border marks a difference, and K marks what only kube-scheduler takes. `sketch`, by
    default the plan's, and of it only `request` decide which devices are eligible. `pods` are the devices that pods of
    several `workloads` take, with the workload of each; these have their letters in this order. `prefix` differs
    between the pictures on one page; default: made from the content. The boxes are laid out for `width` pixels, and the
    text has always the same size. In a picture higher than `height` one line (`data-fold`) stands for all PCIe roots
    without a device that the drawing can take, unless `unfolded`. Raises NodeError for an unknown node, ValueError for
    `show`.
    """
    part = partial_fit(cluster, plan, node_name) if plan is not None and show == "best" else None
    on_top = shown(part or plan, node_name, show) if pods is None else OnTop(pods)
    drawn = sketch if sketch is not None else plan.sketch if plan is not None else None
    release = plan.release if plan is not None else ""
    states = device_states(cluster, node_name, sketch=drawn, request=request, on_top=on_top, release=release)
    if part is not None and plan is not None:
        left = unplaced(cluster, plan, part).items()
        states = {**states, **{device: dataclasses.replace(states[device], unplaced=name) for device, name in left}}
    name = drawn or ClaimSketch(requests=tuple(DeviceRequest(name=workload) for workload in workloads))
    prefix = prefix or "hw" + hashlib.sha256(f"{cluster.name}\n{node_name}\n{show}".encode()).hexdigest()[:8]
    signs = numbers({**on_top.scheduler, **on_top.filled}) if pods is None else {}
    ink = Ink(prefix, states, letters(name), colours(name), localities(cluster, node_name), on_top.compared, signs)
    notes = _notes(cluster, node_name, plan, states)
    scene, fold = _scene(cluster, node_name, states, width - 2, height - LINE * len(notes), unfolded=unfolded)
    root = element(None, "svg", xmlns="http://www.w3.org/2000/svg", class_="dra-hw", role="group")
    unread = unread_words(cluster)
    say(root, aria_label=f"Hardware of node {node_name}" + (f"; {unread}" if unread else ""))
    element(root, "style").text = style_sheet()
    patterns(root, prefix)
    ground = element(root, "rect", class_="dra-hw-ground", width=width, rx=6.0)
    domain = nvlink_words(cluster, node_name)
    top = _title(root, cluster, node_name, width)
    tree = element(root, "g", role="tree" if states else "group", transform=f"translate(1 {top:g})")
    say(tree, aria_label=f"devices of {node_name}")
    below = scene.height + _place(tree, cluster, scene, ink, 1, domain=domain)
    if fold:
        below += _fold_line(tree, fold, below, is_open=unfolded)
    _first_item(tree)
    legend = add_notes(root, width, top + below + (6 if notes else 0), notes)
    bottom = add_legend(root, prefix, width, legend + 6, states=ink, domain=bool(domain), shown=on_top)
    # Where the legend begins: a view that scrolls the picture keeps the legend in sight.
    root.set("data-top", f"{top - 1:g}")
    root.set("data-legend", f"{legend + 4:g}")
    return _sized(root, ground, width, bottom)


def _first_item(tree: Element) -> None:
    """Let the Tab key reach the first item of a tree."""
    first = tree.find(".//g[@tabindex]")
    if first is not None:
        first.set("tabindex", "0")


def _sized(root: Element, ground: Element, width: float, height: float) -> str:
    """Return a picture of this size as text."""
    ground.set("height", f"{height:g}")
    root.set("viewBox", f"0 0 {width:g} {height:g}")
    root.set("width", f"{width:g}")
    root.set("height", f"{height:g}")
    return to_text(root)


def _scene(
    cluster: Cluster, node: str, states: Mapping[DeviceID, DeviceState], width: float, height: float, *, unfolded: bool
) -> tuple[Frame, int]:
    """Return the scene, and how many PCIe roots without a device that the drawing can take are folded or could be."""
    worded = {device for device, state in states.items() if state.unhealthy or state.state in WORDED}
    scene = node_scene(cluster, node, width, worded=worded)
    unused = {
        device
        for device, state in states.items()
        if state.state is State.INELIGIBLE and not (state.chosen or state.scheduler)
    }
    roots = roots_with_only(node_tree(cluster, node), unused)
    if scene.height + _LEGEND <= height or not roots or len(unused) == len(states):
        return scene, 0
    return (scene if unfolded else node_scene(cluster, node, width, worded=worded, folded=unused)), roots


def _fold_line(tree: Element, roots: int, top: float, *, is_open: bool) -> float:
    """Add the line that stands for folded PCIe roots below `top`, and return its height."""
    words = f"{counted(roots, 'PCIe root')} without matching devices"
    item = element(tree, "g", role="treeitem", aria_level="2", tabindex="-1", class_="dra-hw-fold", data_fold="")
    say(item, aria_expanded=str(is_open).lower())
    line = f"{'▾' if is_open else '▸'} {words}"
    outline(item, "pill", 0.0, top + 5, text_width(line, SIZE) + 24, 24.0, class_="dra-hw-shape")
    text(item, line, 12.0, top + 21, "dra-hw-heading")
    say(item, aria_label=words)
    return 30.0


def _notes(cluster: Cluster, node: str, plan: Plan | None, states: Mapping[DeviceID, DeviceState]) -> list[str]:
    pairs = pairs_note(plan, node) if plan is not None else ""
    unread = unread_words(cluster)
    unread = f"{unread[0].upper()}{unread[1:]}." if unread else ""
    held = Counter(holder for state in states.values() for holder in state.holders)
    users = [f"{holder} ({counted(count, 'device')})" for holder, count in held.most_common(_HOLDERS)]
    more = f" and {counted(len(held) - _HOLDERS, 'further claim')}" if len(held) > _HOLDERS else ""
    in_use = f"In use by {', '.join(users)}{more}." if users else ""
    return [*filter(None, (pairs, unread, in_use)), *fabric_partitions(cluster, node)]


def _title(root: Element, cluster: Cluster, node_name: str, width: float) -> float:
    """Add the node's name and machine type, and return where the hardware begins below them."""
    labels = cluster.node_named(node_name).metadata.labels
    kind = labels.get("node.kubernetes.io/instance-type") or labels.get("beta.kubernetes.io/instance-type")
    lines = wrap(clean(f"{node_name} · {kind}" if kind else node_name), SIZE * 1.12, width - 4)
    for at, line in enumerate(lines):
        text(root, line, 2.0, 14 + at * LINE, "dra-hw-heading dra-hw-strong")
    return 6 + LINE * len(lines)


def _place(parent: Element, cluster: Cluster, frame: Frame, ink: Ink, level: int, *, domain: str = "") -> float:
    """Add a place with all that is in it; return by how much it became higher for the words about `domain`."""
    # Places are groups and only devices are items: an item's name would have to hold all the text inside it.
    item = element(parent, "g", role="group", class_="dra-hw-place")
    say(item, data_level=frame.branch.level, data_value=str(frame.branch.value))
    words = ", ".join(place_words(branch) for branch in (frame.outer, frame.branch) if branch is not None)
    words += f", {domain}" if domain else ""
    devices = sum(len(mark.localities) for mark in frame.all_marks())
    say(item, aria_label=f"{words}: {counted(devices, 'device')}")
    title(item, words)
    kind = {"node": " dra-hw-frame-node", "unknown": " dra-hw-frame-unknown"}.get(frame.branch.level, "")
    kind += " dra-hw-frame-nvlink" if domain else ""
    lines = wrap(clean(domain), SIZE, frame.width - 16) if domain else ()
    below = LINE * len(lines) + 2 if lines else 0.0
    radius = 6.0 if level < 3 else 4.0
    place = {"x": frame.x, "y": frame.y, "width": frame.width, "height": frame.height + below}
    element(item, "rect", **place, rx=radius, class_="dra-hw-frame" + kind)
    headings = [(line, " dra-hw-strong" if frame.branch.level != "pcieRoot" else "") for line in frame.lines]
    headings += [(line, "") for line in frame.source]
    if frame.branch.level == COUNTERS and frame.card is not None:
        left = "fixed partitions" if frame.card.is_static else left_words(cluster, frame.card)
        headings += [(left if frame.card.is_static else f"{left} left", "")] if left else []
    for at, (line, strong) in enumerate(headings):
        text(item, line, frame.x + 8, frame.y + frame.heading_y + at * LINE, "dra-hw-heading" + strong)
    for at, line in enumerate(lines):
        text(item, line, frame.x + 8, frame.y + frame.height + 11 + at * LINE, "dra-hw-heading dra-hw-strong")
    for inner in frame.frames:
        _place(item, cluster, inner, ink, level + 1)
    for one in frame.words:
        text(item, one.text, one.x, one.y, "dra-hw-heading" + (" dra-hw-middle" if one.middle else ""))
    for mark in frame.marks:
        add_mark(item, mark, ink, level)
    add_cells(item, frame, ink)
    return below


def nvlink_words(cluster: Cluster, node_name: str) -> str:
    """Return `NVLink domain 7f3e.1, with 3 other nodes`; "" if neither a label nor a device names a domain."""
    for tree in hierarchies(cluster):
        path = tree.path_of(node_name)
        if path and tree.levels[0].name == NVLINK_DOMAIN:
            others = len(next(domain.nodes for domain in tree.domains if domain.path == path)) - 1
            return f"NVLink domain {path[-1]}" + (f", with {counted(others, 'other node')}" if others else "")
    return ""


_FABRIC_PARTITION = re.compile(r"[^/]+/partition([2-9][0-9]*)")


def fabric_partitions(cluster: Cluster, node_name: str) -> Iterator[str]:
    """Yield `Fabric partitions of 2 (partition2): gpu-0 + gpu-1; gpu-2 + gpu-3.` for each size that divides the GPUs.

    NVIDIA's driver publishes them with the gate FabricManagerPartitioning: GPUs of one number are linked.
    """
    of_size: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for found in devices_on(gather_pools(cluster, node_name)):
        for name, attribute in found.device.attributes.items():
            full = name if "/" in name else f"{found.id.driver}/{name}"
            if (number := _FABRIC_PARTITION.fullmatch(full)) and attribute.int_ is not None:
                of_size[int(number[1])][f"{found.id.driver} {attribute.int_}"].append(found.id.device)
    for size, groups in sorted(of_size.items()):
        if len(groups) > 1:
            partitions = "; ".join(" + ".join(devices) for devices in groups.values())
            yield clean(f"Fabric partitions of {size} (partition{size}): {partitions}.")


TREE_WIDTH = 290.0
"""The width of the tree, in pixels."""

_STEP = 20.0
_ROW = 26.0


def tree_svg(cluster: Cluster, node_name: str, plan: Plan | None = None) -> str:
    """Return the tree as one `<svg>` element; devices carry `data-id` and, if a plan chose them, `data-request`.

    More than twelve like devices of one place are one row. Raises NodeError for an unknown node.
    """
    sketch = plan.sketch if plan is not None else ClaimSketch()
    on_top, release = shown(plan, node_name, "best"), plan.release if plan is not None else ""
    states = device_states(
        cluster, node_name, sketch=sketch if plan is not None else None, on_top=on_top, release=release
    )
    ink = Ink("", states, letters(sketch), colours(sketch), {}, compared=False, numbers=numbers(on_top.filled))
    root = element(None, "svg", xmlns="http://www.w3.org/2000/svg", class_="dra-hw dra-hw-tree", role="group")
    say(root, aria_label=f"PCIe and NUMA tree of node {node_name}")
    element(root, "style").text = style_sheet()
    ground = element(root, "rect", class_="dra-hw-ground", width=TREE_WIDTH)
    tree = element(root, "g", role="tree")
    say(tree, aria_label=f"tree of {node_name}")
    bottom = _add_place(tree, node_tree(cluster, node_name), ink, 0, 4.0) + 6
    _first_item(tree)
    return _sized(root, ground, TREE_WIDTH, bottom)


def _add_place(parent: Element, branch: Branch, ink: Ink, depth: int, y: float) -> float:
    """Add a place with all below it, and return where the next row begins."""
    item = element(parent, "g", role="group", class_="dra-hw-place")
    words = place_words(branch)
    say(item, data_level=branch.level, data_value=str(branch.value), aria_label=words)
    title(item, words)
    x = 6 + depth * _STEP
    lines = wrap(clean(heading(branch)[0]), SIZE * 1.12, TREE_WIDTH - x - 4)
    for at, line in enumerate(lines):
        text(item, line, x, y + 16 + at * LINE, "dra-hw-heading dra-hw-strong")
    middle = below = top = y + _ROW + (len(lines) - 1) * LINE
    for one in (*branch.branches, *in_blocks(branch.devices)):
        middle = below + _ROW / 2 - 2
        element(item, "line", x1=x + 6, y1=middle, x2=x + _STEP - 3, y2=middle, class_="dra-hw-edge")
        add = _add_place if isinstance(one, Branch) else _add_devices
        below = add(item, one, ink, depth + 1, below)  # type: ignore[arg-type]
    if below > top:
        element(item, "line", x1=x + 6, y1=top - 4, x2=x + 6, y2=middle, class_="dra-hw-edge")
    return below


def _add_devices(parent: Element, group: Sequence[Locality], ink: Ink, depth: int, y: float) -> float:
    states = [ink.states.get(one.device, DeviceState()) for one in group]
    references = list(dict.fromkeys(split_request(state.chosen)[0] for state in states if state.chosen))
    first, x, several = group[0], 6 + depth * _STEP, len(group) > 1
    name = f"{len(group)} × {first.label}" if several else clean(first.name)
    words = name if several or first.label == name else f"{name} · {first.label}"
    number = "" if several else ink.numbers.get(first.device, "")
    signs = [f"{ink.letter(reference)}{number}" for reference in references]
    why = "" if several else "; ".join(states[0].why) or states[0].state.value
    icon = 20.0 if first.kind in ("gpu", "cpu") else 28.0
    item = element(parent, "g", role="treeitem", aria_level=str(depth + 1), tabindex="-1", class_="dra-hw-device")
    say(item, **{"data_ids" if several else "data_id": " ".join(str(one.device) for one in group)})
    if references:
        say(item, data_request=" ".join(references))
    sign = element(item, "g", class_=f"dra-hw-{'chosen' if references else states[0].state.css}")
    outline(sign, SHAPES.get(first.kind, OTHER)[0], x, y + 3, icon, 20.0, class_="dra-hw-shape")
    if references:
        colour = ink.colour(references[0])
        sign.set("style", f"--dra-hw-fill:{colour.fill};--dra-hw-on:{colour.text}")
        text(sign, signs[0], x + icon / 2, y + 13, "dra-hw-letter")
    lines = wrap(clean(words), SIZE, TREE_WIDTH - x - icon - 10)
    for at, line in enumerate(lines):
        text(item, line, x + icon + 6, y + 17 + at * LINE, "dra-hw-heading")
    label(item, ", ".join(filter(None, (" ".join((*signs, words)), why))))
    return y + _ROW + (len(lines) - 1) * LINE
