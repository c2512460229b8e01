"""The graph page: pyvis without its traps."""

from __future__ import annotations

import json
import re

import pytest
from pages import Page
from small_plans import HOSTILE, a_plan, busy_cluster, hostile_cluster, hostile_plan

from dra_lab.pictures.picture import graph_frame, graph_page
from dra_lab.topology.node_tree import node_graph


@pytest.fixture(scope="module")
def page():
    return graph_page(busy_cluster(), "n1", a_plan())


@pytest.fixture(scope="module")
def hostile():
    """The page of a node all of whose names are hostile."""
    return graph_page(hostile_cluster(), HOSTILE, hostile_plan())


def vertices(page: str) -> list[dict]:
    """Return the vertices that the page gives to vis-network."""
    return json.loads(re.search(r"nodes = new vis\.DataSet\((\[.*?\])\);\n", page, re.DOTALL)[1])


def test_every_vertex_of_the_graph_is_drawn_once(page: str):
    assert len(vertices(page)) == len(node_graph(busy_cluster(), "n1"))


def test_places_and_devices_are_where_the_picture_has_them(page: str):
    assert '"physics": {"enabled": false}' in page
    found = {vertex["label"]: (vertex["y"], vertex["x"]) for vertex in vertices(page)}
    assert found["n1"] < found["NUMA node 0"] < found["pci0000:10"] < found["A1 gpu-0"]


def test_no_two_boxes_are_at_one_place(page: str):
    places = [(vertex["x"], vertex["y"]) for vertex in vertices(page)]
    assert len(set(places)) == len(places)


def test_chosen_devices_have_the_colour_and_letter_of_their_request(page: str):
    chosen = {v["label"]: v["color"]["background"] for v in vertices(page) if v.get("borderWidth") == 3}
    assert chosen == {"A1 gpu-0": "#0072b2", "A2 gpu-2": "#0072b2", "B1 a": "#d55e00", "B2 b": "#d55e00"}


@pytest.mark.parametrize("name", ["page", "hostile"])
def test_nothing_is_loaded_from_elsewhere(name: str, request: pytest.FixtureRequest):
    tags = Page(request.getfixturevalue(name)).tags
    assert {tag for tag, _ in tags}.isdisjoint({"link", "img", "iframe", "object", "a", "base", "form"})
    assert not [(tag, name) for tag, found in tags for name in found if name in ("src", "href") or name[:2] == "on"]
    policy = next(found["content"] for _, found in tags if found.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_every_address_in_it_is_a_note_of_the_library(page: str):
    outside = re.sub(r"/\*.*?\*/", "", page, flags=re.DOTALL)
    found = set(re.findall(r"https?://[^\s\"')<]+", outside))
    assert not [url for url in found if not url.startswith(("http://www.w3.org/", "https://github.com/"))]


def test_hostile_names_stay_text(hostile: str):
    assert "<img" not in hostile
    assert [tag for tag, _ in Page(hostile).tags].count("script") == 3
    assert any("<img src=x" in vertex["label"] for vertex in vertices(hostile))


def test_a_title_never_switches_tooltips_to_html(hostile: str):
    """All tooltips become HTML in pyvis as soon as one title holds the word for a link target."""
    assert not [vertex for vertex in vertices(hostile) if "href" in vertex["title"]]
    assert "tooltip_link" not in hostile
    assert "popup.innerHTML" not in hostile


def test_no_menus_and_one_heading(page: str):
    """The heading of pyvis comes twice, and its menus trust ids; neither is used."""
    tags = Page(page).tags
    assert [tag for tag, _ in tags].count("h1") == 1
    assert not [found for _, found in tags if "menu" in (found.get("id") or "")]


def test_the_same_plan_gives_the_same_page(page: str):
    assert graph_page(busy_cluster(), "n1", a_plan()) == page


def test_the_frame_of_a_hostile_node_is_one_frame_and_one_script():
    tags = Page(graph_frame(hostile_cluster(), HOSTILE, hostile_plan())).tags
    assert [tag for tag, _ in tags] == ["div", "iframe", "script"]
    assert tags[1][1]["sandbox"] == "allow-scripts"
