"""The reasons behind a misfit are true: counts, conflicts, relaxations and guarded selectors, each tried again here."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace as changed
from itertools import combinations

import pytest
from brute_force import BruteForce, TooLarge
from checked_plans import checked_plan
from msgspec.structs import replace
from parts_of_drawings import elements, only
from random_clusters import random_cluster, random_fleet, random_sketch
from random_devices import GPU, TELLS, selector
from random_pods import Case, DrawnPod, a_case
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
from dra_lab.model.reasons import Element
from dra_lab.model.sketch import asks, claims_of

RELEASE = KubernetesRelease("1.36")


def plain_case(seed: int, nodes: int) -> Case:
    """Return a random claim for one node or several."""
    rng = random.Random(f"why {nodes} {seed}")
    cluster = random_fleet(rng, nodes) if nodes > 1 else random_cluster(rng)
    return Case(cluster, DrawnPod({"claim": random_sketch(rng)}), RELEASE, ())


DRAWN: dict[str, tuple[Callable[[int], Case], int]] = {
    "one node": (lambda seed: plain_case(seed, 1), 12),
    "four nodes": (lambda seed: plain_case(seed, 4), 6),
    "all rules": (lambda seed: a_case(500_000 + seed), 10),
}
"""How claims are drawn, and of how many that fit nowhere the reasons are tried."""


def misfits(family: str) -> Iterator[tuple[Case, Plan]]:
    """Yield random claims that fit nowhere, with their plans."""
    draw, count = DRAWN[family]
    for seed in range(10_000):
        case = draw(seed)
        cluster, claims = case.question
        plan = checked_plan(cluster, claims, release=case.release)
        if plan.status is PlanStatus.INFEASIBLE and plan.reasons is not None:
            yield case, plan
            count -= 1
        if not count:
            return


class Tried:
    """By brute force, the nodes of a case on which parts of its pod's drawing fit."""

    def __init__(self, case: Case) -> None:
        self.case, self.names = case, sorted(case.models)
        self.known: dict[tuple[ClaimSketch, str], bool] = {}

    def on(self, sketch: ClaimSketch) -> list[str]:
        return [name for name in self.names if self.fits(sketch, name)]

    def fits(self, sketch: ClaimSketch, name: str) -> bool:
        key = (sketch, name)
        if sketch.requests and key not in self.known:
            claims = {claim.name or "claim": claim for claim in claims_of(sketch)}
            model = BruteForce(self.case.cluster, claims, name, self.case.release, paired=False)
            self.known[key] = next(model.allocations(), None) is not None
        return not sketch.requests or self.known[key]


def means_something(sketch: ClaimSketch, chosen: tuple[Element, ...]) -> bool:
    """Say whether selectors and links stand with a request that they are about."""
    requests = {element.subject for element in chosen if element.kind == "request"}
    ends = {link.name: {end.split("/")[0] for end in link.requests} for link in sketch.links}
    return all(
        element.kind == "request" or requests & ends.get(element.subject, {element.subject.split("/")[0]})
        for element in chosen
    )


def hold_conflict(tried: Tried, sketch: ClaimSketch, conflict) -> None:
    """Hold a conflict against every set of the drawing's parts that is smaller, and against itself."""
    here = {conflict.node} if conflict.node else set(tried.names)
    assert not here & set(tried.on(only(sketch, conflict.elements))), conflict
    for element in conflict.elements if conflict.minimal else ():
        rest = [other for other in conflict.elements if other != element]
        assert here & set(tried.on(only(sketch, rest))) or not rest, (conflict, element)
    for size in range(1, len(conflict.elements) if conflict.smallest else 0):
        for chosen in combinations(elements(sketch), size):
            fits = here & set(tried.on(only(sketch, chosen)))
            assert fits or not means_something(sketch, chosen), (conflict, chosen)


def known_selectors(sketch: ClaimSketch) -> bool:
    return all(text in TELLS for request in sketch.requests for ask in asks(request) for text in ask.selectors)


@pytest.mark.parametrize("family", ["one node", "four nodes", pytest.param("all rules", marks=pytest.mark.long)])
def test_conflicts_and_changes_are_what_brute_force_finds(family):
    """No set that is named fits, none that is smaller fails, and each change fits on as many nodes as is said."""
    minimal = changes = 0
    for case, plan in misfits(family):
        tried, reasons = Tried(case), plan.reasons
        try:
            for conflict in reasons.conflicts:
                hold_conflict(tried, plan.sketch, conflict)
                minimal += conflict.minimal
            for change in reasons.relaxations:
                if change.sketch is None or change.fitting is None or not known_selectors(change.sketch):
                    continue
                nodes = tried.on(change.sketch)
                assert (change.fitting, change.example) == (len(nodes), nodes[0] if nodes else ""), change
                changes += 1
        except TooLarge:
            continue
    assert min(minimal, changes) >= DRAWN[family][1] // 2


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


def test_funnels_count_what_brute_force_counts():
    """After class, selectors, taints and use, exactly the devices are left that may be taken."""
    for case, plan in misfits("one node"):
        (brute,) = case.models.values()
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


@pytest.mark.usefixtures("processor_clock")
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
