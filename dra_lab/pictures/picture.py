"""`picture`: the hardware of a node, or its levels as a graph, with the devices that a plan takes."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_lab.errors import InputError, a_kind, require
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Plan
from dra_lab.pictures.boxes import LINE, PAD, SIZE, Frame, Mark
from dra_lab.pictures.captions import device_words, heading, locality_words, place_words, text_width
from dra_lab.pictures.device_states import SHOWN
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.letters import colours, letters, numbers
from dra_lab.pictures.moves import moves_svg
from dra_lab.pictures.scene import node_scene
from dra_lab.topology.node_tree import UNKNOWN
from dra_lab.words.document import clean

_OPTIONS = {
    "layout": {"hierarchical": {"enabled": False}},
    "physics": {"enabled": False},
    "nodes": {
        "borderWidth": 1,
        "font": {"size": 14, "color": "#1f2328", "face": "system-ui, sans-serif"},
        "color": {"background": "#ffffff", "border": "#57606a"},
        "shapeProperties": {"borderRadius": 4},
    },
    "edges": {"color": "#8c959f", "smooth": {"type": "cubicBezier", "forceDirection": "vertical", "roundness": 0.5}},
    "interaction": {"hover": True, "keyboard": {"enabled": True, "bindToWindow": False}, "navigationButtons": False},
}
_LEVEL_FILLS = {
    "node": "#d0d7de",
    "socket": "#dde3ea",
    "numaNode": "#e6ebf1",
    "pcieRoot": "#eff2f6",
    "switch": "#f6f8fa",
}
_CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_STYLE = "\n" + (Path(__file__).parent / "graph_page.css").read_text(encoding="utf-8")
_HTML = '<html lang="en">'
# The frame is shut off from the notebook and cannot ask for its theme; a page without JupyterLab around stays as it is.
# Another theme gets another frame: a frame that is still loading its first page may keep that page.
_FOLLOW_THEME = """(() => {
  let frame = document.currentScript.previousElementSibling;
  const page = frame.srcdoc;
  const paint = () => {
    const light = document.body.dataset.jpThemeLight;
    if (light === undefined) return;
    const theme = light === "false" ? "dra-dark" : "dra-light";
    const themed = page.replace('<html lang="en">', `<html lang="en" class="${theme}">`);
    // A page of this theme stays.
    if (frame.srcdoc === themed) return;
    const next = frame.cloneNode();
    next.srcdoc = themed;
    frame.replaceWith(next);
    frame = next;
  };
  paint();
  const watch = new MutationObserver(() => frame.isConnected ? paint() : watch.disconnect());
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
})()"""
_WIDER, _HIGHER = 1.5, 1.6
"""How much farther apart boxes are than on the hardware picture: lines between them need room."""

Looks = Mapping[DeviceID, tuple[str, str, str]]
"""Sign, fill and colour of the text of every chosen device."""


def graph_page(cluster: Cluster, node_name: str, plan: Plan | None = None) -> str:
    """Return the page: places and devices where the hardware picture has them, chosen ones in their colour.

    One self-contained HTML text of about 700 kB with no URL to fetch and a policy that forbids every request; names
    from the cluster are text in it, never markup. Raises NodeError and MissingPackage.
    """
    require("pyvis", "charts")
    # pyvis takes long to import (it brings IPython); only who wants this page waits for it.
    from pyvis.network import Network

    # Fixed texts only: heading, bgcolor, ids and options go into the page as they stand.
    network = Network(height="600px", width="100%", bgcolor="transparent", cdn_resources="in_line", notebook=True)
    _add(network, node_scene(cluster, node_name), _looks(plan, node_name))
    network.set_options(json.dumps(_OPTIONS))
    return _offline(network.generate_html(notebook=True), node_name, plan)


def _add(network: Any, frame: Frame, looks: Looks, above: int | None = None) -> None:
    here = len(network.nodes)
    network.add_node(here, **_place(frame))
    if above is not None:
        network.add_edge(above, here)
    for inner in frame.frames:
        _add(network, inner, looks, here)
    for mark in frame.marks:
        network.add_node(at := len(network.nodes), **_device(mark, looks))
        network.add_edge(here, at)


def graph_frame(cluster: Cluster, node_name: str, plan: Plan | None = None) -> str:
    """Return the page of `graph_page` as HTML for the output of a cell.

    It follows JupyterLab's theme, also when the theme changes. A sandbox keeps the page apart from the notebook.
    """
    page = html.escape(graph_page(cluster, node_name, plan))
    name = html.escape(f"Graph of {clean(node_name)}")
    frame = f'<iframe sandbox="allow-scripts" title="{name}" srcdoc="{page}" width="100%" height="520"'
    return f'<div>{frame} style="border:0"></iframe><script>{_FOLLOW_THEME}</script></div>'


def _looks(plan: Plan | None, node_name: str) -> Looks:
    if plan is None or plan.node != node_name:
        return {}
    by_letter, by_colour, chosen = letters(plan.sketch), colours(plan.sketch), plan.chosen()
    requests = {device: split_request(reference)[0] for device, reference in chosen.items()}
    return {
        device: (f"{by_letter[name]}{number}", by_colour[name].fill, by_colour[name].text)
        for (device, number), name in zip(numbers(chosen).items(), requests.values(), strict=True)
        if name in by_letter
    }


def _place(frame: Frame) -> dict[str, Any]:
    branch = frame.branch
    # the middle of the heading; the node, which has none, stands above the middle of its picture
    across = PAD + text_width(frame.lines[0], SIZE) / 2 if frame.lines else frame.width / 2
    made = _at(frame.x + across, frame.y + (frame.heading_y - SIZE / 3 if frame.lines else -LINE))
    label = heading(branch)[0].removeprefix("PCIe root ")
    made |= {"shape": "box", "label": label, "title": _harmless(place_words(branch))}
    made["color"] = {"background": _LEVEL_FILLS.get(branch.level, "#ffffff"), "border": "#57606a"}
    return made | ({"shapeProperties": {"borderDashes": [2, 4]}} if branch.level == UNKNOWN else {})


def _device(mark: Mark, looks: Looks) -> dict[str, Any]:
    locality = mark.locality
    made = _at(mark.x + mark.width / 2, mark.y + mark.height / 2)
    if mark.shape in ("square", "pill", "slice", "block"):
        made |= {"shape": "box", "shapeProperties": {"borderRadius": 16 if mark.shape == "pill" else 0}}
    else:
        made["shape"] = "circle" if mark.shape == "circle" else "ellipse"
    made |= {"label": " ".join(mark.lines), "color": {"background": "#ffffff", "border": "#57606a"}}
    made["title"] = _harmless(f"{device_words(locality)}\n{locality_words(locality)}\n{locality.device}")
    sign, fill, ink = next((looks[one.device] for one in mark.localities if one.device in looks), ("", "", ""))
    if sign:
        made |= {"label": f"{sign} {made['label']}", "borderWidth": 3, "font": {"color": ink}}
        made["color"] = {"background": fill, "border": "#1f2328"}
        made["title"] += f"\nchosen ({sign})"
    return made


def _at(x: float, y: float) -> dict[str, Any]:
    return {"x": round(x * _WIDER, 1), "y": round(y * _HIGHER, 1), "physics": False}


def _harmless(words: str) -> str:
    # A title with these four letters makes pyvis show the tooltips of the whole page as HTML.
    return clean(words).replace("href", "hr\u2060ef")


def _offline(page: str, node_name: str, plan: Plan | None) -> str:
    """Take out what pyvis loads from elsewhere, and add the policy, the heading and the looks of our own."""
    page = re.sub(r"<!-- <link .*?-->", "", page, flags=re.DOTALL)
    page = re.sub(r"<link\s[^<>]*?https?://[^<>]*>", "", page)
    page = re.sub(r"<script\s[^<>]*?https?://[^<>]*></script>", "", page)
    page = re.sub(r"<center>\s*<h1>.*?</h1>\s*</center>", "", page, flags=re.DOTALL)
    title = f"{clean(node_name)} on {clean(plan.cluster)}" if plan is not None and plan.cluster else clean(node_name)
    head = (
        f'<head><meta http-equiv="Content-Security-Policy" content="{_CSP}">'
        f"<title>{html.escape(clean(node_name))}: PCIe and NUMA</title>"
    )
    page = page.replace("<html>", f"<!DOCTYPE html>{_HTML}", 1).replace("<head>", head, 1)
    page = page.replace("</head>", f"<style>{_STYLE}</style></head>", 1)
    words = "Drag to move, wheel to zoom; point at a box to see all that is known about it."
    return page.replace("<body>", f"<body><h1>{html.escape(title)}</h1><p>{words}</p>", 1)


@dataclass(frozen=True, repr=False)
class NodeImage:
    """A picture of one node: a notebook shows it, `str` is its text (SVG or HTML), `save` writes it into a file."""

    node: str
    text: str
    html: str

    def __str__(self) -> str:
        """Return the SVG, or the HTML page of a graph."""
        return self.text

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Picture of {self.node}, {len(self.text):,} characters; save(path) writes it>"

    def _repr_html_(self) -> str:
        return self.html

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file, `.svg` for hardware or `.html` for a graph, and return its path."""
        file = Path(path)
        file.write_text(self.text, encoding="utf-8")
        return file


def picture(
    answer: Cluster | Plan,
    node: str = "",
    *,
    plan: Any = None,
    kind: str = "hardware",
    show: str = "best",
) -> NodeImage:
    """Return the picture of a node: PCIe, NUMA and every device, in light and dark.

    Args:
        answer: A cluster or a plan.
        node: The node to draw; default "": the first node that the plan uses, or that the cluster has.
        plan: The plan whose devices are marked; default: `answer` if it is a plan.
        kind: "hardware", "graph" for a page with the same places and devices as boxes that people can move, or "moves"
            for the running pods that move or leave drained nodes.
        show: What is marked of a plan of one pod, one of `SHOWN`. A dashed border marks a difference, and K marks what
            only kube-scheduler takes.

    Returns:
        The picture.

    Raises:
        InputError: The cluster has no nodes, or an argument is not what it has to be.
        NodeError: The cluster does not have this node.
        MissingPackage: For a graph, pyvis is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, picture, read_sketch
        >>> plan = make_plan(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> picture(plan).node
        'lab-1'
    """
    cluster = answer if isinstance(answer, Cluster) else getattr(answer, "on", None)
    if isinstance(answer, Plan):
        named = (reason.node for reason in answer.shortfalls if reason.node)
        plan, node = plan or answer, node or min(answer.nodes, default="") or next(named, "")
        if cluster is None:
            raise InputError("the plan has no cluster to draw; draw it on one: picture(cluster, node, plan=plan)")
    if not isinstance(cluster, Cluster):
        raise InputError(f"answer is a Cluster or a plan, not {a_kind(answer)}")
    if kind not in _KINDS:
        raise InputError(f"kind {kind!r} is not known; use {', '.join(_KINDS)}")
    if show not in SHOWN:
        raise InputError(f"show {show!r} is not known; use {', '.join(SHOWN)}")
    name = node or next(iter(cluster.node_names), "")
    if not name:
        raise InputError("the cluster has no nodes to draw")
    # of several pods, the letters on devices are those of workloads
    several = plan is not None and (len(plan.with_devices) > 1 or len(plan.workloads) > 1)
    if kind == "graph":
        alone = None if several else plan
        return NodeImage(name, graph_page(cluster, name, alone), graph_frame(cluster, name, alone))
    if kind == "moves":
        svg = moves_svg(cluster, plan.moves if plan is not None else cluster.moves, plan)
    elif several:
        here = [one for one in plan.with_devices if one.node == name]
        pods = {placed.device: one.workload for one in here for placed in one.devices}
        svg = hardware_svg(cluster, name, pods=pods, workloads=[workload.name for workload in plan.workloads])
    else:
        svg = hardware_svg(cluster, name, plan=plan, show=show)
    return NodeImage(name, svg, svg)


_KINDS = ("hardware", "graph", "moves")
