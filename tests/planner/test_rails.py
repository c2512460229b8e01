"""Gangs whose pods use the same rails: beside trying all sets, with what is proven, inferred, exported and refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import pytest
from random_devices import device_class
from sharing_nodes import ask
from small_holders import a_claim, result
from small_nodes import a_slice, cluster, device

from dra_lab import (
    ClaimSketch,
    Cluster,
    Plan,
    Workload,
    export,
    how_many_more,
    load_cluster,
    make_plan,
    make_room,
    read_sketch,
)
from dra_lab.errors import InputError
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.words.answer_sentence import answer_sentence

DRIVER = "nic.example.com"
RAIL = f"{DRIVER}/rail"


@dataclass(frozen=True)
class Fleet:
    """NICs by node, each with its rail (None: not published) and whether it is free; what a gang of pods asks for."""

    nics: Mapping[str, tuple[tuple[Any, bool], ...]]
    count: int = 1
    pods: int = 2
    level: str = ""

    def plan(self, **more: Any) -> Plan:
        """Return the plan of the gang."""
        return make_plan(self.cluster, self.workload(**more))

    @property
    def cluster(self) -> Cluster:
        """Return the nodes, each with its zone, and the claims that hold NICs."""
        labels = {node: {"kubernetes.io/hostname": node, "topology.kubernetes.io/zone": node[0]} for node in self.nics}
        slices, claims = [], []
        for node, nics in self.nics.items():
            rails = [{} if rail is None else {"rail": rail} for rail, _ in nics]
            slices.append(a_slice(DRIVER, *(device(f"nic-{at}", rail) for at, rail in enumerate(rails)), node=node))
            used = [result(f"nic-{at}", DRIVER, node) for at, (_, free) in enumerate(nics) if not free]
            claims += [a_claim(*used, name=f"{node}-used")] if used else []
        nodes = tuple(Node(ObjectMeta(name=node, labels=own)) for node, own in labels.items())
        return cluster(*slices, classes=(device_class(DRIVER),), claims=tuple(claims), nodes=nodes)

    def workload(self, **more: Any) -> Workload:
        """Return the gang."""
        sketch = ClaimSketch("nics", (ask("nic", DRIVER, self.count),))
        return Workload("train", sketch, **({"count": self.pods, "level": self.level, "same": (RAIL,)} | more))

    def fewest_nodes(self) -> int:
        """Return the fewest nodes of a gang, tried over all domains and sets of rails; 0 if it has no place."""
        domains: dict[str, list[str]] = {}
        for node in self.nics:
            domains.setdefault({"": "", "zone": node[0], "host": node}[self.level], []).append(node)
        rails = sorted({rail for nics in self.nics.values() for rail, _ in nics if rail is not None})
        found = []
        for nodes, size in product(domains.values(), range(1, self.count + 1)):
            for chosen in combinations(rails, size):
                held = [
                    _pods(Counter(rail for rail, free in self.nics[node] if free), chosen, self.count) for node in nodes
                ]
                held.sort(reverse=True)
                found += [used for used in range(1, len(held) + 1) if sum(held[:used]) >= self.pods][:1]
        return min(found, default=0)


def _pods(free: Counter[Any], chosen: Sequence[Any], count: int) -> int:
    """Return how many pods have `count` NICs each that use exactly the chosen rails."""
    best = 0
    for more in combinations([rail for rail in chosen for _ in range(count)], count - len(chosen)):
        left = free - Counter(chosen) - Counter(more)
        if all(free[rail] >= need for rail, need in (Counter(chosen) + Counter(more)).items()):
            best = max(best, 1 + _pods(left, chosen, count))
    return best


def random_fleet(seed: int) -> Fleet:
    """Return two to four nodes with two to four rails, some NICs in use, and a gang of two to four pods."""
    chance = random.Random(seed)
    rails = chance.choice(([0, 1], [0, 1, 2], [0, 1, 2, 3], ["a", "b", "c"], [True, False]))
    names = chance.sample(("a1", "a2", "b1", "b2"), chance.randint(2, 4))
    twice, unknown = chance.choice((0, 0, 0.4)), chance.choice((0, 0, 0, 0.2))
    nics = {}
    for node in names:
        here = [rail for rail in rails for _ in range(1 + (chance.random() < twice))]
        nics[node] = tuple((None if chance.random() < unknown else rail, chance.random() < 0.85) for rail in here)
    return Fleet(nics, chance.choice((1, 1, 2, 2, 3)), chance.randint(2, 4), chance.choice(("", "", "zone", "host")))


def rails_of(fleet: Fleet, plan: Plan) -> list[set[Any]]:
    """Return the rails of each pod of a plan."""
    return [
        {fleet.nics[one.device.pool][int(one.device.device.removeprefix("nic-"))][0] for one in pod.devices}
        for pod in plan.pods
    ]


@pytest.mark.some(12)
@pytest.mark.parametrize("seed", range(60))
def test_a_plan_is_as_good_as_the_best_of_all_sets(seed):
    """It fits if any set of rails does, every pod uses exactly the named set, and what is proven is the optimum."""
    fleet = random_fleet(seed)
    best = fleet.fewest_nodes()
    try:
        plan = fleet.plan()
    except InputError:
        assert not any(rail is not None for nics in fleet.nics.values() for rail, _ in nics)
        return
    assert plan.fits == bool(best)
    assert plan.status is not PlanStatus.STOPPED
    if not best:
        assert not plan.same
        return
    (row,) = plan.same
    assert rails_of(fleet, plan) == [{*row.values}] * fleet.pods
    assert (row.workload, row.replica, row.attribute, row.inferred) == ("train", 0, RAIL, False)
    nodes = plan.goal("nodes")
    assert nodes.value >= best
    assert nodes.value == best or not nodes.proven
    assert plan.proven or fleet.count > 2


POD, PAIRS = "sample:h100-pod", "tests/golden/inputs/two-pairs.dralab.yaml"


def pairs_of_pod(**more: Any) -> tuple[Any, Workload]:
    """Return the sample with equal NICs on all nodes, and gangs of three pods with two pairs each."""
    return load_cluster(POD), Workload("train", read_sketch(PAIRS), count=3, level="leaf switch", **more)


def test_rails_are_inferred_from_the_addresses_of_identical_nics():
    """The answer names them and says so; the request for GPUs is not bound."""
    pod, gang = pairs_of_pod(same=("rail",))
    plan = make_plan(pod, gang)
    assert plan.proven
    (row,) = plan.same
    assert (row.attribute, len(row.values), row.inferred) == ("dra.net/pciAddress", 2, True)
    text = answer_sentence(plan)
    assert f"All pods of train use the rails {row.values[0]} and {row.values[1]} (dra.net/pciAddress)." in text
    assert "The rails are inferred from dra.net/pciAddress, because no device publishes its rail." in text
    gpu, nic = plan.workloads[0].claims[0].requests
    assert gpu == gang.claims[0].requests[0]
    last = nic.exactly.selectors[-1].cel.expression
    assert last == f'device.attributes["dra.net"].pciAddress in ["{row.values[0]}", "{row.values[1]}"]'


def test_kube_scheduler_uses_the_rails_of_the_exported_manifests(tmp_path):
    """The files have the selector, and the copy of kube-scheduler allocates NICs of these rails on any node."""
    pod, gang = pairs_of_pod(same=("dra.net/ifName",))
    plan = make_plan(pod, gang)
    (row,) = plan.same
    files = export(plan, tmp_path / "out", scheduler="kueue", queue="training/train", allow_worse=True)
    (template,) = (file for file in files if "resourceclaimtemplate" in file.name)
    assert f'ifName in ["{row.values[0]}", "{row.values[1]}"]' in template.read_text()
    names = {
        one.name: one.attributes["dra.net/ifName"].string
        for part in pod.slices
        for one in part.spec.devices
        if part.spec.driver == "dra.net" and part.spec.node_name == plan.node
    }
    theirs = make_plan(pod, plan.workloads[0].claims[0], node=plan.node).first_fit
    nics = [one.device.device for one in theirs.placements if one.device.driver == "dra.net"]
    assert {names[name] for name in nics} == {*row.values}


def test_replicas_may_use_different_rails():
    """Each set is a workload of its own; only goals in which the plan without `same` is no better are proven."""
    free = ((0, True), (1, True))
    fleet = Fleet({"a1": free, "a2": free, "b1": ((0, True), (1, False))}, count=1, pods=2, level="zone")
    plan = fleet.plan(replicas=2)
    assert [(one.name, one.replicas) for one in plan.workloads] == [("train", 1), ("train-2", 1)]
    assert sorted((row.workload, row.values) for row in plan.same) == [("train", (0,)), ("train-2", (1,))]
    assert plan.goal("gangs").proven
    crossed = Fleet({"a1": ((0, True), (1, False)), "a2": ((0, False), (1, True)), "a3": free}, count=1, pods=2)
    plan = crossed.plan(replicas=3)
    assert sum(plan.placed.values()) == 2
    assert plan.goal("gangs").value == 1
    chosen = {(row.workload, row.replica): {*row.values} for row in plan.same}
    assert rails_of(crossed, plan) == [chosen[pod.workload, pod.replica] for pod in plan.pods]


@pytest.mark.some(6)
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_the_number_of_replicas_is_proven_only_if_no_more_fit(seed):
    """Replicas get their sets one after the other; with one NIC per pod the most replicas are known by counting."""
    fleet = replace(random_fleet(seed), count=1)
    domains: dict[str, Counter[Any]] = {}
    for node, nics in fleet.nics.items():
        domain = {"": "", "zone": node[0], "host": node}[fleet.level]
        domains.setdefault(domain, Counter()).update(rail for rail, free in nics if free and rail is not None)
    most = min(3, sum(free // fleet.pods for rails in domains.values() for free in rails.values()))
    plan = fleet.plan(replicas=3)
    placed, goal = sum(plan.placed.values()), plan.goal("gangs")
    assert placed <= most
    assert placed == most or not goal.proven
    chosen = {(row.workload, row.replica): {*row.values} for row in plan.same}
    assert rails_of(fleet, plan) == [chosen[pod.workload, pod.replica] for pod in plan.pods]


def test_a_misfit_says_what_same_prevents():
    """It is proven, and the answer says that the pods fit without it."""
    crossed = Fleet({"a1": ((0, True), (1, False)), "a2": ((0, False), (1, True))})
    plan = crossed.plan()
    assert plan.status is PlanStatus.INFEASIBLE
    text = f"All pods of a replica of train must use the same values of {RAIL}; without this 1 of 1 fit."
    assert text in answer_sentence(plan)
    assert crossed.plan(same=()).fits


def test_devices_without_the_attribute_are_not_used():
    """The selector asks whether a device has the attribute first, because reading what is not there is an error."""
    row = ((None, True), (3, True))
    plan = Fleet({"a1": row, "a2": row}).plan()
    assert rails_of(Fleet({"a1": row, "a2": row}), plan) == [{3}, {3}]
    (selector,) = plan.workloads[0].claims[0].requests[0].exactly.selectors
    read = f'device.attributes["{DRIVER}"].rail'
    assert selector.cel.expression == f"has({read}) && {read} == 3"


def test_pods_use_every_rail_of_their_set_where_a_node_has_several_devices_of_one():
    """The claim says so with `distinctAttribute`, which holds kube-scheduler to it too."""
    nics = {"a1": ((0, True), (0, True), (1, True)), "a2": ((0, True), (1, True), (1, True))}
    fleet = Fleet(nics, count=2)
    plan = fleet.plan()
    assert rails_of(fleet, plan) == [{0, 1}, {0, 1}]
    assert plan.proven
    assert [link.where for link in plan.workloads[0].claims[0].links] == [RAIL]


def test_a_limit_of_time_proves_nothing_wrong():
    """A plan that was ended early has no proof that trying all sets would refute."""
    fleet = Fleet({name: tuple((rail, True) for rail in range(8)) for name in ("a1", "a2", "a3")}, count=3, pods=3)
    plan = fleet.plan()
    assert plan.proven
    early = make_plan(fleet.cluster, fleet.workload(), time_limit=0.0)
    for goal, best in zip(early.goals, plan.goals, strict=False):
        assert not goal.proven or goal.value == best.value


@pytest.mark.parametrize(
    ("same", "words"),
    [
        (("rail-of-nic",), "give the full name of an attribute"),
        ((f"{DRIVER}/speed",), "no device that matches a request publishes"),
        ("rail", "write same=('rail',)"),
    ],
)
def test_an_attribute_that_cannot_be_used_is_named(same, words):
    """The error names the argument and says what to give."""
    with pytest.raises(InputError, match="same") as error:
        Fleet({"a1": ((0, True),), "a2": ((0, True),)}).plan(same=same)
    assert words in str(error.value)


def test_rails_that_cannot_be_inferred_are_an_error():
    """NICs without an address or name that is the same on all nodes have no rails."""
    fleet = Fleet({"a1": ((None, True),) * 2, "a2": ((None, True),) * 2})
    with pytest.raises(InputError, match=r"same\[0\] of train: no device publishes an attribute with 'rail'"):
        fleet.plan(same=("rail",))


@pytest.mark.parametrize("question", [how_many_more, make_room])
def test_other_questions_refuse_same(question):
    """They do not know it, and an answer without it would be wrong."""
    fleet = Fleet({"a1": ((0, True),), "a2": ((0, True),)})
    with pytest.raises(InputError, match="same"):
        question(fleet.cluster, fleet.workload())
