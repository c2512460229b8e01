"""A followed cluster whose slices, labels or nodes change equals the cluster that is read again, whatever is cached.

`DRA_LAB_RANDOM_CHANGES` is the number of clusters that go through random changes, 12 by itself.
"""

from __future__ import annotations

import os
import random

import pytest
from changing_clusters import a_world, anew, changes
from msgspec.structs import replace
from random_clusters import RULES, random_sketch
from random_pods import a_release

from dra_lab import DraLabError, KubernetesRelease, Session, make_plan
from dra_lab.pictures.hardware import hardware_svg

WORLDS, TURNS = int(os.environ.get("DRA_LAB_RANDOM_CHANGES", "12")), 8


def shown(cluster):
    """Return the picture of each node, with the places and the use of its devices."""
    return [hardware_svg(cluster, name) for name in cluster.node_names]


def planned(cluster, sketch, release):
    """Return what is planned on the cluster."""
    try:
        plan = make_plan(cluster, sketch, release=release)
    except DraLabError as error:
        return str(error)
    return plan.status, plan.node, plan.node_classes


def drawn(cluster, sketch, release):
    """Return what the canvas and the bar show once the cluster is counted and checked."""
    session = Session(cluster, sketch=sketch)
    session.set_release(release.version)
    session.wait(60)
    found = session.status, [(one.rule, one.message) for one in session.findings]
    session.close()
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_what_is_known_on_after_a_change_is_what_a_new_reading_finds(seed):
    """Over random changes, some of them not looked at in between."""
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
        assert shown(followed) == shown(fresh), turn
        assert planned(followed, sketch, release) == planned(fresh, sketch, release), turn
        assert drawn(followed, sketch, release) == drawn(fresh, sketch, release), turn
