"""The PCIe/NUMA graph of a node as one HTML page that works from a file, without a network: networkx drawn by pyvis."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.errors import require
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Plan
from dra_lab.pictures.captions import device_words, locality_words, place_words
from dra_lab.pictures.letters import colours, letters
from dra_lab.topology.graph import node_graph
from dra_lab.topology.node_tree import Branch, node_tree
from dra_lab.words.document import clean

if TYPE_CHECKING:
    import networkx as nx

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
_STEP, _COLUMN, _DEEP = 112, 140, 8


def graph_page(cluster: Cluster, node_name: str, plan: Plan | None = None) -> str:
    """Return the page: levels from top to bottom, devices in columns under their place, chosen ones in their colour.

    One self-contained HTML text of about 700 kB with no URL to fetch and a policy that forbids every request; names
    from the cluster are text in it, never markup. Raises NodeError and MissingPackage.
    """
    require("pyvis", "charts")
    # pyvis takes long to import (it brings IPython); only who wants this page waits for it.
    from pyvis.network import Network

    graph = node_graph(cluster, node_name)
    # Fixed texts only: heading, bgcolor, ids and options go into the page as they stand.
    network = Network(height="600px", width="100%", bgcolor="transparent", cdn_resources="in_line", notebook=True)
    numbers = {vertex: at for at, vertex in enumerate(graph)}
    places = _positions(graph)
    tree_words = dict(_branch_words(node_tree(cluster, node_name), node_name))
    looks = _looks(plan, node_name)
    for vertex, at in numbers.items():
        network.add_node(at, **_vertex(graph, vertex, places[vertex], tree_words, looks))
    for above, below in graph.edges:
        network.add_edge(numbers[above], numbers[below])
    network.set_options(json.dumps(_OPTIONS))
    return _offline(network.generate_html(notebook=True), node_name, plan)


def graph_frame(cluster: Cluster, node_name: str, plan: Plan | None = None, *, height: int = 520) -> str:
    """Return the page of `graph_page` as HTML for the output of a cell, with the height of the frame in pixels.

    It follows JupyterLab's theme, also when the theme changes. A sandbox keeps the page apart from the notebook.
    """
    page = html.escape(graph_page(cluster, node_name, plan))
    name = html.escape(f"Graph of {clean(node_name)}")
    frame = f'<iframe sandbox="allow-scripts" title="{name}" srcdoc="{page}" width="100%" height="{height}"'
    return f'<div>{frame} style="border:0"></iframe><script>{_FOLLOW_THEME}</script></div>'


def _branch_words(branch: Branch, node_name: str) -> list[tuple[tuple[tuple[str, str | int], ...], str]]:
    found = [((("node", node_name), *branch.path), place_words(branch))]
    for deeper in branch.branches:
        found += _branch_words(deeper, node_name)
    return found


def _looks(plan: Plan | None, node_name: str) -> Mapping[DeviceID, tuple[str, str, str]]:
    """Return letter, fill and text colour of every chosen device."""
    if plan is None or plan.node != node_name:
        return {}
    by_letter, by_colour = letters(plan.sketch), colours(plan.sketch)
    found = {}
    for device, reference in plan.chosen().items():
        request = split_request(reference)[0]
        if request in by_letter:
            found[device] = (by_letter[request], by_colour[request].fill, by_colour[request].text)
    return found


def _vertex(
    graph: nx.DiGraph,
    vertex: Any,
    place: tuple[float, float],
    tree_words: Mapping[Any, str],
    looks: Mapping[DeviceID, tuple[str, str, str]],
) -> dict[str, Any]:
    data = graph.nodes[vertex]
    made: dict[str, Any] = {"x": place[0], "y": place[1], "shape": "box", "physics": False}
    if data["level"] != "device":
        words = tree_words[vertex]
        short = words.removeprefix("PCIe root ").removeprefix("PCIe switch ").split(", ", 1)[0].split(": ", 1)[0]
        fill = {"background": _LEVEL_FILLS.get(data["level"], "#ffffff"), "border": "#57606a"}
        made |= {"label": short, "title": _harmless(words), "color": fill}
        return made | ({"shapeProperties": {"borderDashes": [2, 4]}} if data["level"] == "unknown" else {})
    locality = data["locality"]
    made |= {"label": clean(locality.name), "color": {"background": "#ffffff", "border": "#57606a"}}
    made["title"] = _harmless(f"{device_words(locality)}\n{locality_words(locality)}\n{locality.device}")
    made |= _shape(locality.kind)
    if vertex in looks:
        sign, fill_colour, ink = looks[vertex]
        made["label"] = f"{sign} {made['label']}"
        made |= {"borderWidth": 3, "color": {"background": fill_colour, "border": "#1f2328"}, "font": {"color": ink}}
        made["title"] += f"\nchosen ({sign})"
    return made


def _shape(kind: str) -> dict[str, Any]:
    if kind == "nic":
        return {"shape": "box", "shapeProperties": {"borderRadius": 16}}
    if kind == "gpu":
        return {"shape": "box", "shapeProperties": {"borderRadius": 0}, "margin": 9}
    return {"shape": "circle" if kind == "cpu" else "ellipse"}


def _positions(graph: nx.DiGraph) -> dict[Any, tuple[float, float]]:
    """Return (x, y) of each vertex: places in levels, each over the middle of what hangs on it; devices in columns."""
    depths: dict[Any, int] = {}
    for vertex in graph:
        above = next(iter(graph.predecessors(vertex)), None)
        depths[vertex] = 0 if above is None else depths[above] + 1
    found: dict[Any, tuple[float, float]] = {}
    _spread(graph, next(iter(graph)), 0.0, depths, found)
    return found


def _spread(
    graph: nx.DiGraph, vertex: Any, left: float, depths: Mapping[Any, int], found: dict[Any, tuple[float, float]]
) -> float:
    """Place a vertex and all below it to the right of `left`; return where the next one may begin."""
    below = list(graph.successors(vertex))
    right = left
    for deeper in (v for v in below if graph.nodes[v]["level"] != "device"):
        right = _spread(graph, deeper, right, depths, found)
    devices = [v for v in below if graph.nodes[v]["level"] == "device"]
    for at, device in enumerate(devices):
        column, row = divmod(at, _DEEP)
        found[device] = (right + (column + 0.5) * _COLUMN, (depths[device]) * _STEP + row * 52.0)
    right += _COLUMN * -(-len(devices) // _DEEP)
    right = max(right, left + _COLUMN)
    found[vertex] = ((left + right) / 2, depths[vertex] * _STEP)
    return right


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
