"""A plan that says that no more fits is wrong if the first devices that are left are enough; no solver is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced
from random_devices import GPU, NIC, device_class
from sharing_nodes import ask, counted, node, part
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab.checks.fleets import check_fleet
from dra_lab.checks.plans import check_plan
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import UNPLACED, FleetPlan, Replica, Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GoalValue, NodeClass, NodeFit, Placement, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link

RELEASE = KubernetesRelease("1.36")
ROOTS = ("a", "b", "c")
PAIR = ClaimSketch(
    requests=tuple(
        DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver))
        for name, driver in (("gpu", GPU), ("nic", NIC))
    ),
    links=(Link(name="near", requests=("gpu", "nic")),),
)


def three_pairs(roots: str = "abc") -> Cluster:
    """Return a node with a GPU on each of three roots, and a NIC on each of the roots given."""
    gpus = [gpu(at, root) for at, root in enumerate(ROOTS)]
    nics = [nic(f"nic-{at}", root) for at, root in enumerate(roots)]
    return cluster(a_slice(GPU, *gpus), a_slice(NIC, *nics), classes=(device_class(GPU), device_class(NIC)))


def two_of(wanted: int, *, proven: bool) -> FleetPlan:
    """Return a plan that places pairs on the first two roots, of `wanted` pods."""
    goals = {"numa": 2, "unpaired": 0, "roots": 1}
    one = tuple(GoalValue(name, value, value, True) for name, value in goals.items())
    replicas = tuple(
        Replica("w", at, "n1", (_placed("gpu", GPU, f"gpu-{at}"), _placed("nic", NIC, f"nic-{at}")), one)
        for at in (0, 1)
    )
    missing = wanted - 2
    summed = tuple(replace(goal, value=2 * goal.value, bound=2 * goal.value) for goal in one)
    status = PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE
    unplaced = GoalValue(UNPLACED, missing, missing if proven else 0, proven)
    return FleetPlan(status, (Workload("w", (PAIR,), wanted),), "test", "1.36", replicas, (unplaced, *summed))


def _placed(request: str, driver: str, device: str) -> Placement:
    return Placement(request, DeviceID(driver, "n1", device))


def rules(found) -> set[str]:
    return {finding.rule for finding in found}


def test_a_fleet_that_is_called_full_has_no_place_left():
    """The third root has a pair that is free, so "2 of 3 placed, no more fit, proven" is refused."""
    assert rules(check_fleet(three_pairs(), two_of(3, proven=True), RELEASE)) == {"plan-room"}


def test_a_fleet_that_is_full_is_called_full():
    """The third root has no NIC, so the same plan is right."""
    assert check_fleet(three_pairs("ab"), two_of(3, proven=True), RELEASE) == ()


def test_a_fleet_that_may_hold_more_is_not_called_wrong():
    """Without a proof a plan may leave a place free."""
    assert check_fleet(three_pairs(), two_of(3, proven=False), RELEASE) == ()


@pytest.mark.parametrize("objective", ["replicas", "nodes"])
@pytest.mark.parametrize(("wanted", "found"), [(3, {"plan-room"}), (4, {"plan-room"})])
def test_a_fleet_of_which_nothing_fits_has_no_place_for_it(objective, wanted, found):
    """Three pairs fit: not even one, or not all three, is refused; that not all four fit is right."""
    found = set() if objective == "nodes" and wanted == 4 else found
    plan = FleetPlan(PlanStatus.INFEASIBLE, (Workload("w", (PAIR,), wanted),), "test", "1.36", objective=objective)
    assert rules(check_fleet(three_pairs(), plan, RELEASE)) == found


@pytest.mark.parametrize(("roots", "found"), [("c", {"plan-room"}), ("d", set())])
def test_a_node_that_holds_the_claim_is_not_refused(roots, found):
    """A claim that "does not fit" is placed where a GPU and a NIC are on one root."""
    classes = (NodeClass(("n1",), NodeFit.NO, fits_idle=False),)
    plan = Plan(PlanStatus.INFEASIBLE, PAIR, "test", "1.36", node_classes=classes)
    assert rules(check_plan(three_pairs(roots), plan, RELEASE)) == found


def test_a_node_on_which_the_pod_may_not_run_is_not_tried():
    """A node on which the pod may not run is not one on which its claim must fit."""
    classes = (NodeClass(("n1",), NodeFit.NO, fits_idle=False),)
    plan = Plan(PlanStatus.INFEASIBLE, PAIR, "test", "1.36", node_classes=classes, admitted=frozenset(("n2",)))
    assert check_plan(three_pairs(), plan, RELEASE) == ()


def one_of(nic_name: str, *, proven: bool) -> FleetPlan:
    """Return a plan that places one pod of a GPU and a NIC without a link, the GPU on the first root."""
    at_one_root = nic_name == "nic-0"
    values = {"numa": 2, "unpaired": int(not at_one_root), "roots": 1 if at_one_root else 2}
    goals = tuple(GoalValue(name, value, value if proven else 0, proven) for name, value in values.items())
    placed = (_placed("gpu", GPU, "gpu-0"), _placed("nic", NIC, nic_name))
    status = PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE
    workload = Workload("w", (replaced(PAIR, links=()),), 1)
    all_placed = GoalValue(UNPLACED, 0, 0, True)
    return FleetPlan(status, (workload,), "test", "1.36", (Replica("w", 0, "n1", placed, goals),), (all_placed, *goals))


@pytest.mark.parametrize(
    ("nic_name", "proven", "found"),
    [("nic-1", True, {"plan-bound"}), ("nic-1", False, set()), ("nic-0", True, set())],
)
def test_a_sum_is_not_proven_if_moving_one_pod_lowers_it(nic_name, proven, found):
    """A pod whose GPU and NIC are on two roots is not the best where a root has both."""
    assert rules(check_fleet(three_pairs(), one_of(nic_name, proven=proven), RELEASE)) == found


@pytest.mark.parametrize(("device", "found"), [("large", {"plan-room"}), ("small-0", {"plan-room"})])
def test_a_fleet_is_placed_again_from_the_beginning(device, found):
    """A large partition fills a GPU on which two small ones fit, so that "1 of 2 placed, no more fit" is refused."""
    parts = counted(part("small-0", memory=1), part("small-1", memory=1), part("large", memory=2), memory=2)
    goals = (GoalValue("numa", 1, 1, True), GoalValue("unpaired", 0, 0, True), GoalValue("roots", 1, 1, True))
    replica = Replica("w", 0, "n1", (_placed("r", GPU, device),), goals)
    unplaced = GoalValue(UNPLACED, 1, 1, True)
    workload = Workload("w", (ClaimSketch(requests=(ask("r"),)),), 2)
    plan = FleetPlan(PlanStatus.OPTIMAL, (workload,), "test", "1.36", (replica,), (unplaced, *goals))
    assert rules(check_fleet(node(*parts), plan, RELEASE)) == found
