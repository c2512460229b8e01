"""Everything that reads a plan reads that of a pod with several claims."""

from __future__ import annotations

import json

import pytest
from checked_plans import checked_plan

from dra_lab import KubernetesRelease, graph_page, hardware_svg, load_cluster, read_sketch
from dra_lab.pictures.report import report_page
from dra_lab.words.frames import devices_frame, goals_frame, shortfalls_frame
from dra_lab.words.plan_document import plan_text
from dra_lab.words.plan_json import plan_json


@pytest.fixture(scope="module", params=["fits", "does not fit"])
def answer(request):
    cluster, sketch = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
    claims = dict.fromkeys(("train", "serve", *(() if request.param == "fits" else ("spare",))), sketch)
    return cluster, checked_plan(cluster, claims, release=KubernetesRelease("1.36"))


def test_texts_and_tables_name_the_claims(answer):
    """Text, JSON and frames say of which claim a request is."""
    cluster, plan = answer
    assert "train:" in plan_text(plan, cluster)
    assert "train" in json.dumps(plan_json(plan))
    frame = devices_frame(cluster, plan.node or None, plan)
    assert {r for r in frame["request"] if r} == (
        {"train:gpu", "train:nic", "serve:gpu", "serve:nic"} if plan.fits else set()
    )
    assert len(goals_frame(plan)) == len(plan.goals)
    assert len(shortfalls_frame(plan)) == len(plan.shortfalls)


def test_pictures_and_pages_are_drawn(answer):
    """Hardware picture, graph and report are there whether the pod fits or not."""
    cluster, plan = answer
    node = plan.node or cluster.node_names[0]
    assert hardware_svg(cluster, node, plan=plan).startswith("<svg")
    assert graph_page(cluster, node, plan=plan)
    assert "train:gpu" in report_page(cluster, plan)
