"""The reasons behind a misfit are true: counts, conflicts, relaxations and guarded selectors, each tried again here."""

from __future__ import annotations

import random
from dataclasses import replace as changed

import pytest
from brute_force import BruteForce
from checked_plans import checked_plan
from msgspec.structs import replace
from parts_of_drawings import elements, only
from random_clusters import random_cluster, random_fleet, random_sketch
from random_devices import GPU, selector
from sharing_nodes import node, planned
from small_nodes import a_slice
from small_nodes import device as small

from dra_lab import ClaimSketch, KubernetesRelease, load_cluster, read_sketch
from dra_lab.cel.selector import compile_selector
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClaim,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import asks

RELEASE = KubernetesRelease("1.36")


def misfits(count: int, nodes: int = 0) -> list[tuple[object, ClaimSketch, Plan]]:
    """Return random claims that fit nowhere, with their plans."""
    found = []
    for seed in range(10_000):
        rng = random.Random(f"why {nodes} {seed}")
        cluster = random_fleet(rng, nodes) if nodes else random_cluster(rng)
        sketch = random_sketch(rng)
        plan = checked_plan(cluster, sketch, release=RELEASE)
        if plan.status is PlanStatus.INFEASIBLE:
            found.append((cluster, sketch, plan))
        if len(found) == count:
            return found
    raise AssertionError("too few random claims do not fit")


@pytest.fixture(scope="module")
def alone():
    """Thirty claims that do not fit on one node."""
    return misfits(30)


@pytest.fixture(scope="module")
def fleets():
    """Twelve claims that fit on none of four nodes."""
    return misfits(12, 4)


def fits(cluster, sketch: ClaimSketch) -> bool:
    """Say by brute force whether a drawing fits on some node."""
    return not sketch.requests or bool(fitting_nodes(cluster, sketch))


def fitting_nodes(cluster, sketch: ClaimSketch) -> list[str]:
    """Return the nodes on which a drawing fits, by brute force."""
    models = {name: BruteForce(cluster, sketch, name, RELEASE, paired=False) for name in cluster.node_names}
    return [name for name, model in models.items() if next(model.allocations(), None) is not None]


def has_all(sketch: ClaimSketch) -> bool:
    parts = [p for r in sketch.requests for p in ([r.exactly] if r.exactly else r.first_available)]
    return any(part.allocation_mode == "All" for part in parts)


def test_a_conflict_does_not_fit_and_is_minimal(alone, fleets):
    """The parts named do not fit together, and do once any one of them is left out (by brute force)."""
    count = 0
    for cluster, sketch, plan in (*alone, *fleets):
        for conflict in plan.reasons.conflicts:
            here = cluster
            if conflict.node:
                mine = tuple(s for s in cluster.slices if s.spec.node_name == conflict.node)
                here = changed(cluster, slices=mine)
            assert not fits(here, only(sketch, conflict.elements)), conflict
            if conflict.minimal:
                count += 1
                for element in conflict.elements:
                    rest = [other for other in conflict.elements if other != element]
                    assert not rest or fits(here, only(sketch, rest)), (conflict, element)
            else:
                assert has_all(sketch) or not plan.reasons.complete, "a set could have been shown minimal"
    assert count > 30


def test_a_smallest_conflict_has_no_smaller_one(alone):
    """Where the set is said to be the smallest, no set with one part less fails (by brute force)."""
    from itertools import combinations

    for cluster, sketch, plan in alone[:15]:
        for conflict in (c for c in plan.reasons.conflicts if c.smallest and not c.node):
            for chosen in combinations(elements(sketch), len(conflict.elements) - 1):
                requests = {e.subject for e in chosen if e.kind == "request"}
                if requests and not has_all(sketch):
                    assert fits(cluster, only(sketch, chosen)), (conflict, chosen)


def test_the_gain_of_every_relaxation_is_what_brute_force_counts(alone, fleets):
    """Each change was tried: the number of nodes on which the changed drawing fits is right, also where it is none."""
    tried = 0
    for cluster, _, plan in (*alone, *fleets):
        for change in plan.reasons.relaxations:
            if change.sketch is None or change.fitting is None:
                continue
            fitting = fitting_nodes(cluster, change.sketch)
            assert (change.fitting, change.total) == (len(fitting), len(cluster.node_names)), change
            assert change.example == (fitting[0] if fitting else "")
            tried += 1
    assert tried > 40


def test_a_taint_in_the_way_is_named_and_tolerated():
    """A request that only a taint stops fits once the taint is tolerated."""
    cluster = load_cluster("sample:eks-p4d")
    slices = tuple(
        replace(s, spec=replace(s.spec, devices=tuple(map(_sick, s.spec.devices or ())))) for s in cluster.slices
    )
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=1))
    sketch = ClaimSketch(requests=(request,))
    plan = checked_plan(changed(cluster, slices=slices), sketch, release=RELEASE)
    offer = next(change for change in plan.reasons.relaxations if change.kind == "taint")
    assert offer.title == "Tolerate the taint 'sick' in gpu"
    assert offer.fitting == len(checked_plan(cluster, sketch, release=RELEASE).fitting_nodes)


def test_a_taint_on_parts_of_a_request_is_tolerated_in_the_request():
    """CPUs that one request takes from two devices: the change is to the request as it was drawn."""
    cluster = load_cluster("sample:two-sockets")
    slices = tuple(replace(s, spec=replace(s.spec, devices=tuple(map(_sick, s.spec.devices)))) for s in cluster.slices)
    cpus = CapacityRequirements(requests={"dra.cpu/cpu": "24"})
    request = DeviceRequest("cpu", ExactDeviceRequest(device_class_name="dra.cpu", count=1, capacity=cpus))
    plan = checked_plan(changed(cluster, slices=slices), ClaimSketch(requests=(request,)), release=RELEASE)
    offer = next(change for change in plan.reasons.relaxations if change.kind == "taint")
    assert (offer.title, offer.fitting) == ("Tolerate the taint 'sick' in cpu", 2)


def _sick(device):
    return replace(device, taints=(DeviceTaint(key="sick", effect="NoSchedule"),))


def test_funnels_count_what_brute_force_counts(alone):
    """After class, selectors, taints and use, exactly the devices are left that may be taken."""
    for cluster, sketch, plan in alone:
        brute = BruteForce(cluster, sketch, "n1", RELEASE)
        every = {ask.reference: ask for _, request in brute.requests for ask in asks(request)}
        assert {funnel.request for funnel in plan.reasons.funnels} == set(every)
        for funnel in plan.reasons.funnels:
            ask = every[funnel.request]
            last = {step.test: step.count for step in funnel.steps}
            matching = [device for device in brute.devices if brute.match(ask, device)]
            assert last["published"] == len(brute.devices)
            assert last["taint"] == sum(
                not any(t.effect in ("NoSchedule", "NoExecute") for t in brute.devices[d].taints) for d in matching
            )
            assert last["capacity"] == sum(brute.free(ask, d) for d in matching)
            counts = [step.count for step in funnel.steps]
            assert counts == sorted(counts, reverse=True)


def test_shortage_and_fragmentation_are_distinguished():
    """Enough GPUs that no node has together are scattered; more than the cluster has are short."""
    cluster = load_cluster("sample:eks-p4d")

    def gpus(count: int):
        request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count))
        return checked_plan(cluster, ClaimSketch(requests=(request,)), release=RELEASE).reasons.scarcity[0]

    nine, twenty = gpus(9), gpus(20)
    assert (nine.kind, nine.free, nine.most) == ("fragmentation", 18, 8)
    assert nine.message.startswith("Request gpu: 18 GPUs are free, no node has 9")
    assert (twenty.kind, twenty.message) == (
        "shortage",
        "Request gpu needs 20 GPUs; 18 are free in the whole cluster",
    )


def test_a_failing_selector_comes_first_with_a_guarded_form():
    """An attribute that only some devices have: the devices, and a selector that means the same and fails nowhere."""
    cluster = load_cluster("sample:eks-p4d")
    sketch = read_sketch("sample:eks-p4d/five-pairs")
    text = 'device.attributes["dra.net"].nosuch == true'
    nic = sketch.requests[1]
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression=text)),)
    bad = replace(
        sketch, requests=(sketch.requests[0], replace(nic, exactly=replace(nic.exactly, selectors=selectors)))
    )
    plan = checked_plan(cluster, bad, release=RELEASE)
    (failure,) = plan.reasons.failures
    assert plan.shortfalls[0].rule == "selector-error"
    assert failure.guarded == f'has(device.attributes["dra.net"].nosuch) && ({text})'
    assert failure.guarded in plan.shortfalls[0].advice
    assert plan.findings[0].rule == "selector-run-time-error"


def test_a_failing_selector_names_the_request_that_has_it():
    """Claims with the same selector share its answers, and each error names the request of its own claim."""
    cluster = load_cluster("sample:eks-p4d")
    nic = read_sketch("sample:eks-p4d/five-pairs").requests[1]
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression='device.attributes["dra.net"].nosuch == true')),)
    for name in ("first", "second"):
        request = replace(nic, name=name, exactly=replace(nic.exactly, selectors=selectors))
        plan = checked_plan(cluster, ClaimSketch("claim", (request,)), release=RELEASE)
        assert f"request '{name}'" in plan.findings[0].message


def test_the_claims_of_a_pod_are_explained_together():
    """Conflicts and corrections are reported by claim, and a correction changes the drawing of the pod."""
    cluster = load_cluster("sample:eks-p4d")
    pod = {
        "a": read_sketch("sample:eks-p4d/gpu-nic-pairs"),
        "b": read_sketch("sample:eks-p4d/four-pairs"),
    }
    plan = checked_plan(cluster, pod, release=RELEASE)
    assert plan.status is PlanStatus.INFEASIBLE
    subjects = {element.subject for conflict in plan.reasons.conflicts for element in conflict.elements}
    assert {"a:nic", "b:nic"} <= subjects
    assert any(change.fitting for change in plan.reasons.relaxations) or not plan.reasons.complete
    assert {s.sketch.claims for s in plan.suggestions if s.sketch is not None} == {("a", "b")}


def test_what_is_tried_of_a_resource_claim_is_not_split():
    """A ResourceClaim is served as it stands: one request for more CPUs than a device has is what cannot be had."""
    half = CapacityRequirements(requests={"dra.cpu/cpu": "24"})
    part = ExactDeviceRequest(device_class_name="dra.cpu", count=1, capacity=half)
    claim = ResourceClaim(
        metadata=ObjectMeta(name="c"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=(DeviceRequest(name="cpu", exactly=part),))),
    )
    plan = checked_plan(load_cluster("sample:two-sockets"), claim, release=RELEASE)
    assert plan.status is PlanStatus.INFEASIBLE
    assert {element.subject for conflict in plan.reasons.conflicts for element in conflict.elements} == {"cpu"}


def test_a_guard_is_held_against_devices_on_which_another_selector_fails():
    """If two selectors fail, each keeps its meaning on a device on which only the other one fails."""
    speed, tag = f'device.attributes["{GPU}"].speed > 3', f'device.attributes["{GPU}"].tag == "a"'
    on = node(a_slice(GPU, small("bare"), small("fast", {"speed": 9})))
    texts = (f"{speed} || {tag}", tag)
    parts = [ExactDeviceRequest(device_class_name=GPU, count=1, selectors=(selector(text),)) for text in texts]
    plan = planned(on, *(DeviceRequest(name=f"r{n}", exactly=part) for n, part in enumerate(parts)))
    (either, _) = plan.reasons.failures
    assert [device.device for device in either.devices] == ["bare"]
    fast = on.slices[0].spec.devices[1]
    assert compile_selector(either.guarded).matches(GPU, fast)
