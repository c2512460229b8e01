"""Everything that reads a plan reads that of a pod with several claims."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan

from dra_lab import (
    KubernetesRelease,
    devices_frame,
    goals_frame,
    graph_page,
    hardware_svg,
    load_cluster,
    read_sketch,
    shortfalls_frame,
)


@pytest.mark.parametrize("names", [("train", "serve"), ("train", "serve", "spare")], ids=["fits", "does not fit"])
def test_texts_tables_and_pictures_name_the_claims(names):
    """Text, frames, picture and page are there whether the pod fits or not, and say of which claim a request is."""
    cluster, sketch = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = checked_plan(cluster, dict.fromkeys(names, sketch), release=KubernetesRelease("1.36"))
    assert "train:" in str(plan)
    frame = devices_frame(cluster, plan.node or None, plan)
    taken = {"train:gpu", "train:nic", "serve:gpu", "serve:nic"} if plan.fits else set()
    assert {request for request in frame["request"] if request} == taken
    assert (len(goals_frame(plan)), len(shortfalls_frame(plan))) == (len(plan.goals), len(plan.shortfalls))
    node = plan.node or cluster.node_names[0]
    assert hardware_svg(cluster, node, plan=plan).startswith("<svg")
    assert graph_page(cluster, node, plan=plan)
