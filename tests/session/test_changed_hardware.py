"""A followed cluster whose slices, labels or nodes change equals the cluster that is read again, whatever is cached.

`DRA_LAB_RANDOM_CHANGES` is the number of clusters that go through random changes, 12 by itself.
"""

from __future__ import annotations

import os
import random

import pytest
from budgets import use_shares
from changing_clusters import a_world, anew, changes, devices_of
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import RULES, random_sketch
from random_pods import a_release

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.errors import DraLabError
from dra_lab.index.in_use import published_device
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import gather_pools
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.scheduler.identical_nodes import node_states
from dra_lab.sketch.cluster_candidates import all_devices, candidates
from dra_lab.sketch.kind_counts import kind_counts
from dra_lab.sketch.links import link_options
from dra_lab.sketch.palette import palette
from dra_lab.sketch.request_status import request_status
from dra_lab.topology.locality import kinds, localities, skipped_devices
from dra_lab.words.cluster_document import summary

WORLDS, TURNS = int(os.environ.get("DRA_LAB_RANDOM_CHANGES", "12")), 8
GATES = [(True, True), (True, False), (False, True)]


def seen(cluster):
    """What every node sees, and where its devices sit."""
    for name in cluster.node_names:
        for partitionable, everywhere in GATES:
            yield (
                name,
                gather_pools(cluster, name, partitionable_devices=partitionable, counters_everywhere=everywhere),
            )
        yield name, dict(localities(cluster, name)), dict(kinds(cluster, name)), skipped_devices(cluster, name)


def drawn(cluster, sketch, release):
    """What the canvas shows."""
    yield all_devices(cluster)
    yield palette(cluster, release)
    yield dict(kind_counts(cluster, release))
    yield summary(cluster, release)
    for ask in (ask for request in sketch.requests for ask in asks(request)):
        found = candidates(cluster, ask, release)
        yield found.devices, found.in_class, dict(found.failed), found.error, found.ids, found.attributes
    yield request_status(cluster, sketch, release)
    yield [link_options(cluster, sketch, link, release) for link in sketch.links]


def all_reports(cluster):
    """What is wrong with it."""
    yield cluster.publishes_lists
    yield check_cluster(cluster)
    yield list(audit_claims(cluster))
    yield {device: published_device(cluster, device) for device in devices_of(cluster)}


def planned(cluster, sketch, release):
    """What is planned on it, and how kube-scheduler's copy tells its nodes apart."""
    views = node_index(cluster, release)
    yield {name: [item.id for item in views.view(name).devices] for name in cluster.node_names}
    try:
        plan = checked_plan(cluster, sketch, release=release)
    except DraLabError as error:
        yield str(error)
    else:
        yield plan.status, plan.node, plan.goals, plan.node_classes, plan.reasons, plan.findings
    yield set(node_states(cluster, release).groups(()))


@pytest.mark.parametrize("seed", range(WORLDS))
def test_what_is_known_on_after_a_change_is_what_a_new_reading_finds(seed, monkeypatch):
    """Over random changes, some of them not looked at in between."""
    # else a busy machine leaves `damage` unproven now and then, or a reason unsaid
    use_shares(monkeypatch, explain=60.0, damage=60.0)
    rng = random.Random(f"changing {seed}")
    release = a_release(rng) if seed % 2 else KubernetesRelease("1.36")
    followed = a_world(rng)
    sketch = replace(random_sketch(rng, RULES, followed), name="claim")
    for turn in range(TURNS):
        if turn:
            followed = followed.with_objects(**changes(rng, followed))
        if turn and rng.random() < 0.25:
            continue
        fresh = anew(followed)
        for number, (kept, new) in enumerate(zip(seen(followed), seen(fresh), strict=True)):
            assert kept == new, ("seen", turn, number)
        for look in (lambda c: drawn(c, sketch, release), all_reports, lambda c: planned(c, sketch, release)):
            for number, (kept, new) in enumerate(zip(look(followed), look(fresh), strict=True)):
                assert kept == new, (turn, number)
