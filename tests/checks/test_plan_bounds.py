"""A bound is wrong if an allocation is better, a goal if counting shows more of it; no solver is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from random_devices import GPU, NIC, NUMA, device_class
from small_nodes import a_slice, cluster, gpu, nic
from test_plan_damage_falsified import a_plan

from dra_lab.checks.plans import check_plan
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import DAMAGE, GoalValue, NodeClass, NodeFit, Placement, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch

RELEASE = KubernetesRelease("1.36")
EACH, SEEDS = 50, 400


def asking(gpus: int, nics: int) -> ClaimSketch:
    """Return a claim with these counts of GPUs and NICs, without links."""
    return ClaimSketch(
        requests=tuple(
            DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count))
            for name, driver, count in (("gpu", GPU, gpus), ("nic", NIC, nics))
        )
    )


def nodes(roots: dict[str, str]) -> Cluster:
    """Return nodes, each with a GPU `g` or a NIC `n` for each letter of its roots: "g gn" is two roots."""
    slices = []
    for node, text in roots.items():
        at = [(kind, f"root-{number}", number) for number, kinds in enumerate(text.split()) for kind in kinds]
        half = len(text.split()) / 2
        gpus = [gpu(n, root, **{NUMA: int(number >= half)}) for n, (kind, root, number) in enumerate(at) if kind == "g"]
        nics = [nic(f"nic-{n}", root, int(number >= half)) for n, (kind, root, number) in enumerate(at) if kind == "n"]
        slices += [a_slice(GPU, *gpus, node=node), a_slice(NIC, *nics, node=node)]
    return cluster(*slices, classes=(device_class(GPU), device_class(NIC)))


def planned(where: Cluster, sketch: ClaimSketch, devices: str, *, proven: bool = True) -> Plan:
    """Return a plan with devices of node n1, its goals as they are, all called proven or none."""
    placements = tuple(
        Placement(name.partition("-")[0], DeviceID(GPU if name.startswith("gpu") else NIC, "n1", name))
        for name in devices.split()
    )
    plan = Plan(PlanStatus.FEASIBLE, sketch, "test", "1.36", "n1", placements)
    wrong = replace(plan, goals=tuple(GoalValue(name, -1) for name in ("numa", "unpaired", "roots")))
    values = {f.subject: int(f.message.rpartition(" ")[2]) for f in check_plan(where, wrong, RELEASE)}
    goals = tuple(GoalValue(name, values[name], values[name] if proven else 0, proven) for name in values)
    goals = tuple(sorted(goals, key=lambda goal: ("numa", "unpaired", "roots").index(goal.goal)))
    return replace(plan, status=PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE, goals=goals)


def rules(where: Cluster, plan: Plan) -> set[str]:
    return {finding.rule for finding in check_plan(where, plan, RELEASE)}


@pytest.mark.parametrize(("devices", "found"), [("gpu-0 nic-3", {"plan-bound"}), ("gpu-0 nic-1", set())])
def test_a_pair_apart_is_not_the_best_where_one_together_is_free(devices, found):
    """The first root has a GPU and a NIC, so a GPU of it with a NIC of the second is not "proven"."""
    where = nodes({"n1": "gn gn"})
    assert rules(where, planned(where, asking(1, 1), devices)) == found


def test_an_allocation_that_is_not_proven_may_be_worse():
    """Without a bound above 0 a plan may be as bad as it says that it is."""
    where = nodes({"n1": "gn gn"})
    assert rules(where, planned(where, asking(1, 1), "gpu-0 nic-3", proven=False)) == set()


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        ("gpu-0 gpu-2 gpu-16 gpu-18 nic-1 nic-3 nic-17 nic-19", {"plan-bound"}),
        ("gpu-0 gpu-2 gpu-4 gpu-6 nic-1 nic-3 nic-5 nic-7", set()),
    ],
)
def test_a_large_node_is_searched_one_numa_node_after_another(devices, found):
    """With 16 roots on two NUMA nodes, four pairs fit on one NUMA node, so a plan on two is not proven."""
    where = nodes({"n1": " ".join(["gn"] * 16)})
    assert rules(where, planned(where, asking(4, 4), devices)) == found


@pytest.mark.parametrize(("roots", "found"), [("gn gn", {"plan-bound"}), ("g gn", set())])
def test_a_node_that_is_called_worse_has_no_better_allocation(roots, found):
    """The plan pairs one of two GPUs; a second node with two pairs is not "worse"."""
    where = nodes({"n1": "gn g n", "n2": f"{roots} n"})
    plan = planned(where, asking(2, 2), "gpu-0 gpu-2 nic-1 nic-3")
    classes = (NodeClass(("n1",), NodeFit.BEST, goals=plan.goals), NodeClass(("n2",), NodeFit.WORSE))
    assert rules(where, replace(plan, node_classes=classes)) == found


@pytest.mark.parametrize(("expected", "found"), [(2, {"plan-goal"}), (3, set())])
def test_goals_of_another_node_are_not_below_what_counting_shows(expected, found):
    """Three GPUs on three roots cannot be on two of them, whatever a plan without named devices claims."""
    where = nodes({"n1": "gggn", "n2": "g g gn"})
    plan = planned(where, asking(3, 1), "gpu-0 gpu-1 gpu-2 nic-3")
    other = (GoalValue("numa", 2), GoalValue("unpaired", 2), GoalValue("roots", expected))
    classes = (NodeClass(("n1",), NodeFit.BEST, goals=plan.goals), NodeClass(("n2",), NodeFit.WORSE, goals=other))
    assert rules(where, replace(plan, node_classes=classes)) == found


@pytest.mark.parametrize("first", range(0, SEEDS, EACH))
def test_a_first_fit_that_is_worse_is_never_called_proven(first):
    """kube-scheduler's devices with a proof beside them are refused wherever the plan is better."""
    for seed in range(first, first + EACH):
        where, release, plan = a_plan(seed)
        fit = plan.first_fit
        if not plan.proven or fit is None or not fit.placements:
            continue
        mine, theirs = ([goal.value for goal in goals if goal.goal != DAMAGE] for goals in (plan.goals, fit.goals))
        if mine < theirs:
            goals = tuple(replace(goal, bound=goal.value, proven=True) for goal in fit.goals)
            placements = tuple(changed(placement, manifest_request="") for placement in fit.placements)
            lie = replace(plan, placements=placements, goals=goals, first_fit=None, first_fit_plain=None)
            assert check_plan(where, lie, release), f"seed {seed}: {theirs} is called proven, {mine} exists"
