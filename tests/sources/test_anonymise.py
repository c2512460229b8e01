"""Snapshots under pseudonyms: nothing tells whose cluster it is, and every answer is the same up to the names."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from checked_plans import checked_plan
from random_inventories import SKETCH, inventory

from dra_lab.cli import main
from dra_lab.model.claims import (
    ResourceClaim,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.session import read_sketch
from dra_lab.sketch.compile import compile_claim
from dra_lab.sources import load_cluster, samples
from dra_lab.sources.anonymise import anonymise, changed_selectors
from dra_lab.sources.snapshots import make_snapshot

RELEASE = KubernetesRelease("1.36")
EXAMPLES = [f"{sample.name}/{example}" for sample in samples() for example in sample.examples[:1]]
KEPT_KINDS = ("value", "label", "number", "container", "podclaim")


def renaming(hidden):
    """How a device is called under pseudonyms."""
    members = {**hidden.mapping.get("pool", {}), **hidden.mapping.get("node", {})}
    devices = hidden.mapping.get("device", {})
    return lambda d: DeviceID(d.driver, members.get(d.pool, d.pool), devices.get(f"{d.driver}/{d.device}", d.device))


def planned(cluster, sketch, name=lambda device: device, node=lambda node: node):
    """What matters of a plan: whether and where it fits, which devices, how good, and what else could be said."""
    plan = checked_plan(cluster, sketch, release=RELEASE)
    placed = [(p.request, name(p.device)) for p in plan.placements]
    goals = [(goal.goal, goal.value, goal.proven) for goal in plan.goals]
    nodes = [(tuple(node(n) for n in c.nodes), c.fit, c.fits_idle) for c in plan.node_classes]
    return plan.status, node(plan.node), placed, goals, nodes


def taken(cluster, sketch, node_name, name=lambda device: device):
    """What first fit takes on a node."""
    claim = ResourceClaim(metadata=ObjectMeta(name="c"), spec=compile_claim(sketch, cluster, RELEASE).spec)
    verdict = first_fit(cluster, node_name, [claim], RELEASE, step_limit=20_000)
    results = [r for a in verdict.allocations or () for r in a.devices.results]
    return verdict.status, [(result.request, name(result.id)) for result in results]


@pytest.mark.some(4)
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_sample_is_planned_alike_under_pseudonyms(example):
    """The best allocation of an example names the same devices, up to the renaming."""
    cluster, sketch = load_cluster(f"sample:{example.split('/')[0]}"), read_sketch(f"sample:{example}")
    hidden = anonymise(cluster)
    node = {**hidden.mapping["node"], "": ""}.__getitem__
    assert planned(hidden.cluster, sketch) == planned(cluster, sketch, renaming(hidden), node)


@pytest.mark.parametrize("seed", range(12))
def test_random_clusters_are_planned_and_allocated_alike_under_pseudonyms(seed):
    """Also where names hold other names, pools and nodes are mixed, and selectors compare what was replaced."""
    cluster = inventory(random.Random(seed))
    hidden = anonymise(cluster)
    node = {**hidden.mapping["node"], "": ""}.__getitem__
    assert planned(hidden.cluster, SKETCH) == planned(cluster, SKETCH, renaming(hidden), node)
    for name in cluster.node_names:
        assert taken(hidden.cluster, SKETCH, node(name)) == taken(cluster, SKETCH, name, renaming(hidden))
    assert changed_selectors(cluster, hidden.cluster) == ()


@pytest.mark.parametrize("seed", range(30))
def test_nothing_that_was_replaced_is_left_anywhere(seed):
    """No name or identifier of the mapping stands in any file of the snapshot."""
    hidden = anonymise(inventory(random.Random(seed)))
    text = b"\n".join(make_snapshot(hidden.cluster, replaced=hidden.counts).files.values()).decode().lower()
    kinds = {kind: table for kind, table in hidden.mapping.items() if kind not in (*KEPT_KINDS, "device")}
    left = [(kind, old) for kind, table in kinds.items() for old in table if old.lower() in text]
    assert not left


@pytest.mark.parametrize("seed", range(30))
def test_pseudonyms_sort_as_the_names_do(seed):
    """Nodes among nodes, pools of a driver, slices, and devices of a pool: first fit goes by these orders."""
    cluster = inventory(random.Random(seed))
    hidden = anonymise(cluster)
    for kind in ("node", "slice"):
        assert sorted(hidden.mapping[kind].values()) == [hidden.mapping[kind][n] for n in sorted(hidden.mapping[kind])]
    ids = sorted(DeviceID(s.spec.driver, s.spec.pool.name, d.name) for s in cluster.slices for d in s.spec.devices)
    assert sorted(map(renaming(hidden), ids)) == [renaming(hidden)(device) for device in ids]


def test_the_same_cluster_has_the_same_pseudonyms():
    """Capturing twice gives the same bytes."""
    one, other = (anonymise(load_cluster("sample:eks-p4d")) for _ in range(2))
    assert make_snapshot(one.cluster, replaced=one.counts) == make_snapshot(other.cluster, replaced=other.counts)


def test_the_summary_of_an_anonymised_snapshot_names_nobody(tmp_path):
    """Neither the source's name nor the words of findings go along, only what was the matter."""
    cluster = replace(load_cluster("sample:mig"), name="context:prod-of-acme")
    hidden = anonymise(cluster)
    info = make_snapshot(hidden.cluster, replaced=hidden.counts).info
    assert info.source == "context:"
    assert all(note.message == "" for note in info.findings)


def test_a_node_named_like_a_kind_of_device_changes_no_device():
    """A short word is no name inside values that say what a device is."""
    cluster = load_cluster("sample:two-sockets")
    odd = replace(cluster, nodes=(*cluster.nodes, Node(metadata=ObjectMeta(name="gpu"))))
    types = [[d.attributes.get("type") for d in s.spec.devices] for s in anonymise(odd).cluster.slices]
    assert types == [[d.attributes.get("type") for d in s.spec.devices] for s in cluster.slices]


def test_the_mapping_is_written_only_when_asked_and_only_outside(tmp_path, capsys):
    """The mapping of names is never in the snapshot, and only its owner can read it."""
    out, mapping = tmp_path / "out", tmp_path / "who.json"
    assert main(["capture", "sample:mig", str(out), "--anonymise", "--mapping", str(out / "who.json")]) == 2
    assert not out.exists()
    assert main(["capture", "sample:mig", str(out), "--mapping", str(mapping)]) == 2
    assert main(["capture", "sample:mig", str(out), "--anonymise", "--mapping", str(mapping)]) == 0
    assert json.loads(mapping.read_text())["node"]
    assert mapping.stat().st_mode & 0o077 == 0


def test_what_is_replaced_is_named_in_the_plural(tmp_path, capsys):
    """Each number has the words of what it counts, not the name of a table."""
    main(["capture", "sample:eks-p4d", str(tmp_path / "out"), "--anonymise"])
    assert "8 names of ResourceSlices" in capsys.readouterr().out


def test_an_anonymised_snapshot_says_so(tmp_path):
    """The snapshot states that its names are pseudonyms."""
    out = str(tmp_path / "out.tgz")
    assert main(["capture", "sample:mig", out, "--anonymise"]) == 0
    assert "snapshot-anonymised" in {finding.rule for finding in load_cluster(out).findings}
