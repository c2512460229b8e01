"""The hardware picture: one node as nested boxes, its devices with their states, and what a plan takes. SVG as text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from dra_lab.authoring.free_words import unread_words
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pictures.captions import device_words, locality_words, place_words, shorten
from dra_lab.pictures.legend import add_legend
from dra_lab.pictures.letters import PALETTE, Colour, colours, letters
from dra_lab.pictures.scene import WIDTH, Frame, Mark, node_scene
from dra_lab.pictures.shapes import Element, backing, element, outline, patterns, say, text, title, to_text
from dra_lab.pictures.states import DeviceState, State, device_states, shown
from dra_lab.pictures.style import style_sheet
from dra_lab.words.facts import counted

_PATTERN = {State.IN_USE: "hatch", State.SHARED: "dots", State.TAINTED: "cross"}
_CLASS = {
    State.FREE: "free",
    State.SHARED: "shared",
    State.IN_USE: "in-use",
    State.TAINTED: "tainted",
    State.INELIGIBLE: "ineligible",
}


@dataclass(frozen=True, slots=True)
class _Ink:
    """What drawing a device needs to know besides its place."""

    prefix: str
    states: Mapping[DeviceID, DeviceState]
    letters: Mapping[str, str]
    colours: Mapping[str, Colour]
    compared: bool

    def letter(self, reference: str) -> str:
        return self.letters.get(split_request(reference)[0], "?") if reference else ""

    def colour(self, reference: str) -> Colour:
        return self.colours.get(split_request(reference)[0], PALETTE[0])


def hardware_svg(
    cluster: Cluster,
    node_name: str,
    *,
    plan: Plan | None = None,
    show: str = "best",
    sketch: ClaimSketch | None = None,
    request: str = "",
    prefix: str = "",
    width: float = WIDTH,
) -> str:
    """Return the picture of a node as one `<svg>` element that stands on its own, in light and dark.

    `show` is "best" (the plan), "scheduler" (kube-scheduler with the plan's manifest), "plain" (with counts and
    selectors only), "both" (best and scheduler over each other: where they differ the border is dashed, and what
    only kube-scheduler takes says K) or "both-plain" (best and plain over each other). `sketch` (else the plan's)
    decides which devices are eligible; with `request` only that request counts. `prefix` must differ between pictures
    on one page; "" makes one from the content.
    Devices carry `data-id` (driver/pool/device) and `data-request`; they are the items of a tree with roving tabindex
    (the first has 0), places are its groups; `data-legend` on the root is where the legend begins.
    Raises NodeError for an unknown node and ValueError for an unknown `show`.
    """
    on_top = shown(plan, node_name, show)
    drawn = sketch if sketch is not None else plan.sketch if plan is not None else None
    release = plan.release if plan is not None else ""
    states = device_states(cluster, node_name, sketch=drawn, request=request, on_top=on_top, release=release)
    name = drawn or ClaimSketch()
    prefix = prefix or _prefix(cluster.name, node_name, show)
    ink = _Ink(prefix, states, letters(name), colours(name), on_top.compared)
    scene = node_scene(cluster, node_name, width - 2)
    root = element(None, "svg", xmlns="http://www.w3.org/2000/svg", class_="dra-hw", role="group")
    unread = unread_words(cluster)
    say(root, aria_label=f"Hardware of node {node_name}" + (f"; {unread}" if unread else ""))
    element(root, "style").text = style_sheet()
    patterns(root, prefix)
    ground = element(root, "rect", class_="dra-hw-ground", width=width, rx=6.0)
    marks = next(scene.all_marks(), None)
    tree = element(root, "g", role="tree" if marks else "group", transform="translate(1 1)")
    say(tree, aria_label=f"devices of {node_name}")
    _frame(tree, scene, ink, level=1)
    for item in tree.iterfind(".//g[@tabindex]"):
        item.set("tabindex", "0")
        break
    unhealthy = any(state.unhealthy for state in states.values())
    signs = {"compared": on_top.compared, "without_links": on_top.without_links, "unhealthy": unhealthy}
    bottom = add_legend(root, prefix, width, scene.height + 14, unread=unread, **signs)
    ground.set("height", f"{bottom:g}")
    # Where the legend begins: a view that scrolls the picture keeps the legend in sight.
    root.set("data-legend", f"{scene.height + 8:g}")
    root.set("viewBox", f"0 0 {width:g} {bottom:g}")
    root.set("width", f"{width:g}")
    root.set("height", f"{bottom:g}")
    return to_text(root)


def _prefix(*parts: str) -> str:
    return "hw" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _frame(parent: Element, frame: Frame, ink: _Ink, level: int) -> None:
    # Places are groups and only devices are items: an item's name would have to hold all the text inside it.
    item = element(parent, "g", role="group", class_="dra-hw-place")
    say(item, data_level=frame.branch.level, data_value=str(frame.branch.value))
    words = ", ".join(place_words(branch) for branch in (frame.outer, frame.branch) if branch is not None)
    say(item, aria_label=f"{words}: {_count(frame)}")
    title(item, words)
    kind = {"node": " dra-hw-frame-node", "unknown": " dra-hw-frame-unknown"}.get(frame.branch.level, "")
    element(
        item,
        "rect",
        x=frame.x,
        y=frame.y,
        width=frame.width,
        height=frame.height,
        rx=6.0 if level < 3 else 4.0,
        class_="dra-hw-frame" + kind,
    )
    strong = " dra-hw-strong" if level == 1 else ""
    text(item, frame.caption, frame.x + 7, frame.y + 13.5, "dra-hw-heading" + strong)
    if frame.source:
        text(item, frame.source, frame.x + 7, frame.y + 25.5, "dra-hw-heading dra-hw-under")
    for inner in frame.frames:
        _frame(item, inner, ink, level + 1)
    for mark in frame.marks:
        _device(item, mark, ink, level)


def _count(frame: Frame) -> str:
    return counted(sum(1 for _ in frame.all_marks()), "device")


def _device(parent: Element, mark: Mark, ink: _Ink, level: int) -> None:
    state = ink.states[mark.locality.device]
    lines = _caption(mark, _over(state, ink))
    words = f"{' '.join(line[0] for line in lines)}, {_words(mark, state, ink)}"
    reference = state.chosen or state.scheduler
    item = element(parent, "g", role="treeitem", aria_level=str(level), tabindex="-1")
    item.set("class", " ".join(["dra-hw-device", *_classes(state, compared=ink.compared)]))
    say(item, data_id=str(mark.locality.device), data_kind=mark.locality.kind, data_state=state.state.value)
    if reference:
        say(item, data_request=split_request(reference)[0])
    say(item, aria_label=words)
    title(item, words)
    place = (mark.shape, mark.x, mark.y, mark.width, mark.height)
    outline(item, *place, class_="dra-hw-shape")
    if state.chosen:
        colour = ink.colour(state.chosen)
        # custom properties, because a plain style would also win over forced colours
        item.set("style", f"--dra-hw-fill:{colour.fill};--dra-hw-on:{colour.text}")
    elif state.state in _PATTERN:
        outline(item, *place, class_="dra-hw-pattern", fill=f"url(#{ink.prefix}-{_PATTERN[state.state]})")
    x, middle = mark.x + mark.width / 2, mark.y + mark.height / 2
    for line, shift, size, class_ in lines:
        if not state.chosen and state.state in _PATTERN:
            backing(item, line, x, middle + shift, size)
        text(item, line, x, middle + shift, class_)


def _classes(state: DeviceState, *, compared: bool) -> list[str]:
    if state.chosen:
        same = not compared or state.scheduler
        return ["dra-hw-chosen"] if same else ["dra-hw-chosen", "dra-hw-only-best"]
    classes = [f"dra-hw-{_CLASS[state.state]}"]
    return [*classes, "dra-hw-only-k"] if state.scheduler else classes


def _over(state: DeviceState, ink: _Ink) -> str:
    """Return the sign over a device's name: the letter, "K" where only kube-scheduler takes it, "!" for a taint.

    "×" marks a device that is reported unhealthy and carries no letter.
    """
    if state.chosen:
        return ink.letter(state.chosen)
    if state.scheduler:
        return f"K {ink.letter(state.scheduler)}"
    return ("!" if state.state is State.TAINTED else "") + ("×" if state.unhealthy else "")


def _caption(mark: Mark, over: str) -> list[tuple[str, float, float, str]]:
    """Return the lines on a device: words, shift from its middle, size, class."""
    names = mark.caption.split("\n")
    if mark.small:
        return [(over.partition(" ")[0] or mark.caption, 0.0, 9.0, "dra-hw-small" + (" dra-hw-strong" if over else ""))]
    if over:
        name = shorten(" ".join(names), 9.5, mark.width - 8)
        return [(over, -6.5, 13.0, "dra-hw-letter"), (name, 7.5, 9.5, "dra-hw-under")]
    if len(names) > 1 or mark.shape == "circle":
        return [(name, (at - (len(names) - 1) / 2) * 12, 9.5, "dra-hw-under") for at, name in enumerate(names)]
    return [(mark.caption, 0.0, 11.0, "")]


def _words(mark: Mark, state: DeviceState, ink: _Ink) -> str:
    """Return everything about a device in words: what it is, its state, where it sits and who says so."""
    parts = []
    if state.chosen:
        parts.append(f"chosen for request {state.chosen} ({ink.letter(state.chosen)})")
    if ink.compared and state.chosen and not state.scheduler:
        parts.append("not taken by kube-scheduler")
    if state.chosen and split_request(state.scheduler)[0] not in ("", split_request(state.chosen)[0]):
        parts.append(f"taken by kube-scheduler for request {state.scheduler} ({ink.letter(state.scheduler)})")
    if state.scheduler and not state.chosen:
        parts.append(f"taken by kube-scheduler for request {state.scheduler} ({ink.letter(state.scheduler)})")
    parts.extend(state.why or ([] if state.chosen else [state.state.value]))
    device = mark.locality.device
    return (
        f"{device_words(mark.locality)}: {'; '.join(parts)}. {locality_words(mark.locality)}. "
        f"Driver {device.driver}, pool {device.pool}"
    )
