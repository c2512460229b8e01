"""The report: one page that can be sent to anybody."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest
from pages import Page
from small_plans import HOSTILE, a_plan, busy_cluster, hostile_cluster, hostile_plan

from dra_lab import Cluster, Workload, load_cluster, make_plan, read_sketch
from dra_lab.manifests.plan_files import decode_drawing
from dra_lab.model.plan import PlanStatus
from dra_lab.model.reasons import Conflict, Element, Funnel, FunnelStep, Reasons, Relaxation, Scarcity, Shortfall
from dra_lab.model.sketch import Drawing, Kept
from dra_lab.pictures.report import plan_in, printed_page, report_page


@pytest.fixture(scope="module")
def page():
    return report_page(busy_cluster(), a_plan(), "kind: ResourceClaim\n")


@pytest.fixture(scope="module")
def hostile():
    """The report of a plan all of whose texts are hostile."""
    return report_page(hostile_cluster(), hostile_plan(), HOSTILE)


def scripts_of(text: str) -> list[str]:
    """Return the programs of a page; its data is none."""
    return re.findall(r"<script>(.*?)</script>", text, re.DOTALL)


def test_it_holds_answer_pictures_goals_findings_and_yaml(page: str):
    words = " ".join(Page(page).words)
    for part in ("Fits on 2 of 3 nodes", "NUMA nodes spanned", "One NIC has no RDMA.", "kind: ResourceClaim", "1 (+1)"):
        assert part in words
    assert page.count('class="dra-hw"') == len(re.findall("data-show=", page))


@pytest.mark.parametrize("name", ["page", "hostile"])
def test_nothing_is_fetched_and_nothing_runs(name: str, request: pytest.FixtureRequest):
    text = request.getfixturevalue(name)
    tags = Page(text).tags
    assert {tag for tag, _ in tags}.isdisjoint({"link", "img", "iframe", "object", "a", "base", "form"})
    assert not [n for _, a in tags for n in a if n.startswith("on") or n in ("src", "href", "xlink:href", "srcset")]
    assert set(re.findall(r"https?://[^\"' )<]+", text)) == {"http://www.w3.org/2000/svg"}
    policy = next(a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    own = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts_of(text)]
    assert re.findall("script-src (.*)", policy) == [" ".join(own)]


def test_hostile_texts_are_shown_as_they_stand(hostile: str):
    assert "<img src=x onerror=alert(1)>" in " ".join(Page(hostile).words)
    assert "<img" not in hostile


def test_ids_are_unique(page: str):
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_reasons_of_a_misfit_are_on_the_page():
    reason = Shortfall("link", "pair", "No root has both", needed=2, available=0, node="n1", advice="Try NUMA.")
    plan = a_plan(status=PlanStatus.INFEASIBLE, node="", devices=(), goals=(), first_fit=None, shortfalls=(reason,))
    words = " ".join(" ".join(Page(report_page(busy_cluster(), plan)).words).split())
    assert "No root has both (n1). Try NUMA." in words
    assert "gpu-0" in words


def hostile_reasons() -> Reasons:
    """Return reasons all of whose texts are hostile."""
    conflict = Conflict((Element("request", HOSTILE), Element("selector", HOSTILE, HOSTILE)), smallest=True)
    funnel = Funnel(HOSTILE, 2, HOSTILE, 1, (FunnelStep("published", 3), FunnelStep("selector", 1, HOSTILE)))
    scarce = Scarcity(HOSTILE, "shortage", 2, 1, 1, HOSTILE, HOSTILE)
    tried = Relaxation("count", HOSTILE, f"Ask for {HOSTILE}", 1, 3, 1)
    return Reasons(funnels=(funnel,), scarcity=(scarce,), conflicts=(conflict,), relaxations=(tried,))


def test_what_is_in_the_way_what_was_tried_and_what_is_left_are_on_the_page():
    plan = a_plan(status=PlanStatus.INFEASIBLE, node="", devices=(), goals=(), first_fit=None)
    text = report_page(busy_cluster(), replace(plan, reasons=hostile_reasons()))
    words = " ".join(Page(text).words)
    for part in (
        "Impossible together on every node",
        "Shortage:",
        "fits on 1 of 3 nodes (1 more not decided)",
        "2 needed",
    ):
        assert part in words
    assert "<img" not in text


def test_a_node_without_a_plan_is_a_page_too():
    assert report_page(busy_cluster(), None, node="n1").count('class="dra-hw"') == 1


def test_a_cluster_without_nodes_is_a_page_too():
    assert "No node was read" in report_page(Cluster(name="empty"), None)


def test_the_drawing_is_in_the_page_as_a_plan_file(page: str, hostile: str):
    assert decode_drawing(plan_in(page).drawing).sketch == a_plan().sketch
    assert decode_drawing(plan_in(hostile).drawing).sketch == hostile_plan().sketch


@pytest.mark.parametrize("text", ["", "<html>", '<script type="application/json" id="dra-lab-plan">{', HOSTILE])
def test_another_page_has_no_drawing(text: str):
    assert plan_in(text) is None


def test_the_places_of_the_boxes_and_the_settings_are_in_the_page():
    kept = (Kept(name="mine", sketch=a_plan().sketch),)
    left = Drawing(layout={"gpu": (1.0, 2.0)}, goals=("roots",), kept=kept, view={"mode": "trace"})
    found = decode_drawing(plan_in(report_page(busy_cluster(), a_plan(), drawing=left)).drawing)
    assert (found.layout, found.goals, found.kept, found.view) == ({"gpu": (1.0, 2.0)}, ("roots",), (), {})


def test_the_lines_of_a_request_are_named_in_the_yaml():
    text = report_page(busy_cluster(), a_plan(), "a: 1\nb: <2>\nc: 3\n", lines={"gpu": (2,)})
    assert 'a: 1\n<span data-request="gpu">b: &lt;2&gt;</span>\nc: 3' in text


@pytest.mark.parametrize("packed", ["no base64!", 7, "YQ=="])
def test_a_snapshot_that_is_broken_leaves_the_drawing(packed):
    page = report_page(busy_cluster(), a_plan(), snapshot=b"?")
    found = plan_in(page.replace('"snapshot": "Pw=="', f'"snapshot": {json.dumps(packed)}'))
    assert found.snapshot == (b"a" if packed == "YQ==" else b"")


def test_many_pods_are_printed_with_what_one_of_them_requests():
    """The page of replicas has the release and the requests of a pod, and no picture of one node."""
    cluster, pairs = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
    page = printed_page(cluster, make_plan(cluster, Workload("pairs", pairs, replicas=3)))
    assert ["2 × gpu.nvidia.com" in page, f"Kubernetes {cluster.default_release}" in page, "<svg" in page] == [
        True,
        True,
        False,
    ]
