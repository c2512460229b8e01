"""No export leaves fewer pods running than no pins, announces what is not, or lets a search take too long.

The judge (`exported_runs`) reads the exported YAML again and places the pods itself.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from checked_plans import checked_fleet
from exported_runs import LONGEST, Judge, kept, pods_of
from random_exports import irregular_export, random_export

from dra_lab import DraLabError, KubernetesRelease
from dra_lab.errors import ExportError
from dra_lab.exports.bundle import Wanted
from dra_lab.session.outputs import Planned, bundle
from dra_lab.sketch.claim_objects import Target

R136 = KubernetesRelease("1.36")
ORDERS = 10
MOST_DRAWN = 60
REFUSED = ("kube-scheduler may need more than", "did not end in the time that there was")
"""Why an export may write nothing: the time of a search."""


def planned(seed, drawn=random_export):
    """Draw until at least one replica has a place; return the cluster and the plan."""
    for further in range(MOST_DRAWN):
        cluster, workloads = drawn(seed + 100_000 * further)
        try:
            plan = checked_fleet(cluster, workloads, release=R136, time_limit=10, first_fit=False)
        except DraLabError:
            continue  # drawings that the planner names as not supported are no case of an export
        if plan.pods:
            return cluster, plan
    raise AssertionError(f"nothing that can be planned in {MOST_DRAWN} drawings from {seed}")


def exported(cluster, plan, judge, seed, **how):
    """Return (files, what is announced, runs) of an export; None where none is written for a reason that is allowed."""
    try:
        made = bundle(Planned(cluster, plan), Target(R136), Wanted("deployment"), **how)
    except ExportError as error:
        if any(reason in str(error) for reason in REFUSED):
            return None
        raise
    pods = pods_of(made.texts)
    assert len(pods) == sum(workload.replicas for workload in plan.workloads), seed
    runs = [judge.run(pods, random.Random(f"{seed} {order}")) for order in range(ORDERS)]
    return dict(made.texts), made.record["answer"]["asPlanned"], runs


def holds(seed, drawn=random_export):
    """Assert the three rules for one random export; return how many exports were compared with one without pins."""
    cluster, plan = planned(seed, drawn)
    judge = Judge(cluster, R136)
    plain = exported(cluster, plan, judge, seed)
    pinned = exported(cluster, plan, judge, seed, pin=True)
    for files, as_planned, runs in filter(None, (plain, pinned)):
        assert max(run.longest for run in runs) <= LONGEST, seed
        for run in runs if as_planned else ():
            # a pod without a place in the plan may end its attempt in any way
            failed = Counter(one.partition(" on ")[0] for one in run.failed)
            unplaced = {one.name: one.replicas - plan.placed[one.name] for one in plan.workloads}
            assert all(number <= unplaced[name] for name, number in failed.items()), (seed, run.failed, sorted(files))
            good, wanted = kept(judge, plan, run)
            assert good == wanted, (seed, good, wanted, sorted(files))
    if plain is None or pinned is None:
        return 0
    if plain[0] != pinned[0]:
        fewest, most = min(len(run.served) for run in pinned[2]), max(len(run.served) for run in plain[2])
        assert fewest >= most, (seed, fewest, most)
    return 1


# The others compare larger fleets, and take more than a second.
QUICK = {90}


@pytest.mark.parametrize(
    "few", [few if few in QUICK else pytest.param(few, marks=pytest.mark.long) for few in range(0, 100, 5)]
)
def test_random_exports_keep_what_they_announce(few):
    assert sum(holds(seed) for seed in range(few, few + 5)) == 5


@pytest.mark.long
@pytest.mark.parametrize("few", [*range(100, 200, 10), *range(1_000, 1_300, 10)])
def test_many_random_exports_keep_what_they_announce(few):
    assert sum(holds(seed) for seed in range(few, few + 10)) >= 9


@pytest.mark.long
def test_pins_are_compared_with_what_would_be_written_without_them():
    """Three pods start without a preferred link that makes searches too long; pins that start one are no gain."""
    assert holds(183, irregular_export) == 1


@pytest.mark.long
@pytest.mark.parametrize("few", range(0, 100, 5))
def test_exports_of_many_pairs_on_irregular_nodes_keep_what_they_announce(few):
    """Pods of up to eight pairs, of which kube-scheduler's search may be long."""
    assert sum(holds(seed, irregular_export) for seed in range(few, few + 5)) >= 4
