"""No export leaves fewer pods running than no pins, announces what is not, or lets a search time out."""

from __future__ import annotations

import pytest
from random_exports import random_export

from dra_lab.errors import DraLabError, ExportError
from dra_lab.exports.arrivals import Arrivals
from dra_lab.exports.loop import close_loop
from dra_lab.exports.pod_kinds import pod_kind
from dra_lab.exports.replay import LONGEST
from dra_lab.exports.split import tighten_in_groups
from dra_lab.exports.step_guard import guard_steps
from dra_lab.exports.tightening import tighten
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import plan_fleet

R136 = KubernetesRelease("1.36")
FEW = 18
MANY = 218


def exported(seed):
    """Return (cluster, plan, pins, run without pins) of a random export; None where it cannot be planned."""
    cluster, workloads = random_export(seed)
    try:
        plan = plan_fleet(cluster, workloads, release=R136, time_limit=10, first_fit=False)
    except DraLabError:
        return None
    if not plan.replicas:
        return None
    if seed % 4 == 0:
        parts = tighten_in_groups(cluster, plan, R136, time_limit=10, seeds=4)
        return cluster, plan, parts.plan, parts.tightened
    return cluster, plan, plan, tighten(cluster, plan, R136, time_limit=10, seeds=4)


def holds(seed):
    """Assert the three rules for one random export, on runs with other seeds than the export had."""
    made = exported(seed)
    if made is None:
        return False
    cluster, plan, written, pins = made
    plain = close_loop(cluster, plan, R136, seeds=12)
    pinned = close_loop(
        cluster, written, R136, exported=pins.sketches, parts=pins.parts, affinity=pins.affinities, seeds=12
    )
    if not pinned.not_run and not plain.not_run:
        assert pinned.placed >= plain.placed, (seed, pinned.sentence, plain.sentence)
    if pins.loop.as_planned:
        assert pinned.as_planned or pinned.not_run, (seed, pinned.sentence)
    for number, workload in enumerate(written.workloads):
        try:
            found = guard_steps(pins.sketches[number], cluster, R136, affinity=pins.affinities[number], time_limit=10)
        except ExportError:
            continue
        pod = pod_kind(cluster, R136, workload.name, found.sketches)
        arrivals = Arrivals(cluster, [pod], R136, affinity=[found.affinity])
        for names in arrivals.kinds.values():
            if arrivals.admits(0, names[0]):
                assert arrivals.taken(names[0], (), 0).seconds < LONGEST, (seed, names[0])
    return True


@pytest.mark.parametrize("few", range(0, FEW, 6))
def test_random_exports_keep_what_they_announce(few):
    """Of samples, drawings and numbers of replicas at random: in the worst order of nodes."""
    assert sum(holds(seed) for seed in range(few, few + 6))


@pytest.mark.long
@pytest.mark.parametrize("few", range(FEW, MANY, 10))
def test_many_random_exports_keep_what_they_announce(few):
    """The same with further seeds."""
    assert sum(holds(seed) for seed in range(few, few + 10))
