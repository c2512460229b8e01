"""What first fit takes on exported manifests, pod after pod until nothing fits: links as planned, or as told."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_clusters import random_fleet, random_sketch

from dra_lab import DraLabError, KubernetesRelease, Workload, load_cluster, read_sketch, samples
from dra_lab.model.placement import FirstFitStatus
from dra_lab.pinning.pin_plan import pin_plan
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation
from dra_lab.sketch.compile import compile_claim

R136 = KubernetesRelease("1.36")
UNTOLD = {"link-not-writable", "pairwise-counts", "distinct-defect", "class-unknown"}
EXAMPLES = [f"{sample.name}/{example}" for sample in samples() for example in sample.examples]

NOWHERE = {"eks-p4d/five-pairs", "oke-gb200/one-pair"}
"""Examples that show a misfit once their links must be."""


def taken_one_by_one(on, sketch):
    """Yield what first fit takes for pod after pod on every kind of node, now and with nothing in use."""
    for idle in (False, True):
        simulation = SchedulerSimulation(on, [pod_kind(on, R136, "w", [sketch])], R136, idle=idle)
        for nodes in simulation.kinds.values():
            history = ()
            while (taken := simulation.taken(nodes[0], history, 0)).status is FirstFitStatus.ALLOCATED:
                yield taken
                history = (*history, ("", 0))


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_pod_that_a_sample_has_room_for_keeps_its_must_links(example):
    """Or the export says which link its drivers do not let it say."""
    on, sketch = load_cluster(f"sample:{example.partition('/')[0]}"), read_sketch(f"sample:{example}")
    hard = replace(sketch, links=tuple(replace(link, must=True) for link in sketch.links))
    untold = {f.subject for f in compile_claim(hard, on, R136).findings if f.rule in UNTOLD}
    pods = list(taken_one_by_one(on, hard))
    assert bool(pods) == (example not in NOWHERE)
    assert {link for taken in pods for link in taken.broken} <= untold


def test_every_pod_on_random_fleets_keeps_its_must_links():
    """Where the manifest says the link; what it cannot say is a Finding."""
    pods = 0
    for seed in range(80):
        rng = random.Random(seed)
        on, sketch = random_fleet(rng), random_sketch(rng)
        if UNTOLD & {finding.rule for finding in compile_claim(sketch, on, R136).findings}:
            continue
        for taken in taken_one_by_one(on, sketch):
            pods += bool(sketch.links)
            assert not taken.broken, seed
    assert pods > 20


@pytest.mark.long
def test_preferred_links_are_kept_as_planned_or_the_export_says_how_many_fewer():
    """Replica by replica on random fleets; where fewer are kept it says so, and pins are proposed or their lack is."""
    kept = fewer = 0
    for seed in range(40):
        rng = random.Random(seed)
        on, sketch = random_fleet(rng), random_sketch(rng)
        sketch = replace(sketch, links=tuple(replace(link, must=False) for link in sketch.links))
        if not sketch.links:
            continue
        try:
            workload = Workload(sketch.name, (sketch,), replicas=3)
            plan = checked_fleet(on, [workload], release=R136, goals=("preferences",), first_fit=False)
            replay = replay_plan(on, plan, R136, seeds=3)
        except DraLabError:
            continue
        worse = [miss for miss in replay.misses if miss.theirs is not None and miss.theirs.goal == "preferences"]
        kept += replay.as_planned and replay.wanted > 0
        if worse:
            fewer += 1
            (finding,) = replay.findings
            assert finding.severity == "warning", seed
            assert finding.advice, seed
            better = pin_plan(on, plan, R136, seeds=3)
            assert better.pins or any(found.rule == "not-pinned" for found in better.findings), seed
    assert kept > 3
    assert fewer
