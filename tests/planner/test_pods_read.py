"""Everything that reads a plan reads that of a pod with several claims."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan

from dra_lab import KubernetesRelease, frame, load_cluster, picture, read_sketch


@pytest.mark.parametrize("names", [("train", "serve"), ("train", "serve", "spare")], ids=["fits", "does not fit"])
def test_texts_tables_and_pictures_name_the_claims(names):
    """Text, frames, picture and page are there whether the pod fits or not, and say of which claim a request is."""
    cluster, sketch = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = checked_plan(cluster, dict.fromkeys(names, sketch), release=KubernetesRelease("1.36"))
    assert "train:" in str(plan)
    taken = {("train", "gpu"), ("train", "nic"), ("serve", "gpu"), ("serve", "nic")} if plan.fits else set()
    assert set(frame(plan)[["claim", "request"]].itertuples(index=False, name=None)) == taken
    assert (len(frame(plan, "goals")), len(frame(plan, "reasons"))) == (len(plan.goals), len(plan.shortfalls))
    assert str(picture(cluster, plan.node, plan=plan)).startswith("<svg")
    assert str(picture(cluster, plan.node, plan=plan, kind="graph")).startswith("<!DOCTYPE html>")
