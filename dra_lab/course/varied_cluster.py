"""The cluster of a lesson, varied by a seed: other devices are taken, but the lesson is equally hard."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from dra_lab.course.lesson_text import LessonText, lesson_named
from dra_lab.course.needs_of_lesson import DrawnAnswer, meets
from dra_lab.errors import DraLabError
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.sources import load_cluster

TRIES = 200
"""How many variations are tried for one that is as hard as the sample; after that the sample itself is the answer."""


def lesson_cluster(lesson: LessonText, seed: int | None) -> Cluster:
    """Return the sample of a lesson, varied by a seed; without a seed the sample.

    Devices of a kind change their names on the node: `gpu-0` is at the place where another GPU was. Other devices of
    the kind are in use. The optimum of the right answer, the number of nodes on which it fits, and the number of
    devices that kube-scheduler gives back for the claim to predict stay as they are. The answers of the lesson must
    also be judged as before. Variations are drawn until all of that holds.
    """
    return _sample(lesson.cluster) if seed is None else _varied_sample(lesson.id, seed)


@cache
def _varied_sample(lesson_id: str, seed: int) -> Cluster:
    lesson = lesson_named(lesson_id)
    base = _sample(lesson.cluster)
    wanted = invariants(lesson, base), verdicts(lesson, base)
    chance = random.Random(f"{lesson.id} {seed}")  # noqa: S311
    for _ in range(TRIES):
        varied = _varied(base, chance)
        try:
            if invariants(lesson, varied) == wanted[0] and verdicts(lesson, varied) == wanted[1]:
                return varied
        except DraLabError:
            continue
    return base


@cache
def _sample(source: str) -> Cluster:
    return load_cluster(source)


def invariants(lesson: LessonText, cluster: Cluster) -> tuple[Hashable, ...]:
    """Return what a seed must not change.

    It is the values of the optimum and of the first fit, the numbers of fitting nodes, and the devices given back.
    """
    best = plan_pod(cluster, lesson.answers.right.sketch)
    searched = plan_pod(cluster, lesson.predict.sketch, node=lesson.predict.node)
    given_back = searched.trace(lesson.predict.node).counts.given_back
    found = searched.first_fit
    taken = [placement.device for placement in found.placements] if found else []
    goals = tuple((goal.goal, goal.value) for goal in best.goals)
    first = tuple((goal.goal, goal.value) for goal in found.goals) if found else ()
    kinds = tuple(sorted(_rdma(cluster, taken)))
    return goals, first, len(best.fitting_nodes), len(searched.fitting_nodes), given_back, kinds


def _rdma(cluster: Cluster, taken: Collection[DeviceID]) -> Iterator[str]:
    """Yield the driver of each device, and whether it is a card with RDMA: the words of a lesson depend on it."""
    for slice_ in cluster.slices:
        for device in slice_.spec.devices or ():
            if DeviceID(slice_.spec.driver, slice_.spec.pool.name, device.name) in taken:
                rdma = [str(value) for name, value in device.attributes.items() if name.endswith("/rdma")]
                yield f"{slice_.spec.driver} {rdma}"


def verdicts(lesson: LessonText, cluster: Cluster) -> tuple[tuple[bool, ...], ...]:
    """Return which needs the right, the other and the wrong answer meet on a cluster."""
    drawings = (lesson.answers.right, lesson.answers.other, lesson.answers.wrong)
    answers = [DrawnAnswer(lesson, cluster, drawing) for drawing in drawings]
    return tuple(tuple(meets(answer, need) for need in lesson.needs) for answer in answers)


def _varied(cluster: Cluster, chance: random.Random) -> Cluster:
    """Return the cluster with other hardware behind the names of devices, and with other devices in use."""
    held: dict[DeviceID, DeviceID] = {}
    slices = []
    for slice_ in cluster.slices:
        spec, devices = slice_.spec, slice_.spec.devices or ()
        kinds: dict[Hashable, list[int]] = defaultdict(list)
        for at, device in enumerate(devices):
            kinds[_kind(device)].append(at)
        # The names stay in their order, as a driver lists them.
        hardware = _mixed(kinds.values(), chance)
        changed = tuple(_named(devices[hardware[at]], device) for at, device in enumerate(devices))
        slices.append(replace(slice_, spec=replace(spec, devices=changed)) if devices else slice_)
        for at, other in _mixed(kinds.values(), chance).items():
            own, new = (DeviceID(spec.driver, spec.pool.name, devices[i].name) for i in (at, other))
            held[own] = new
    return cluster.with_objects(slices=tuple(slices), claims=tuple(_holding(one, held) for one in cluster.claims))


def _named(hardware: Device, place: Device) -> Device:
    """Return a device under another name, with the attributes from which a driver makes its names."""
    own = {name: value for name, value in hardware.attributes.items() if name.rpartition("/")[2] not in _NAMES}
    names = {name: value for name, value in place.attributes.items() if name.rpartition("/")[2] in _NAMES}
    return replace(hardware, name=place.name, attributes={**own, **names})


def _mixed(groups: Iterable[Sequence[int]], chance: random.Random) -> dict[int, int]:
    """Return a random permutation that keeps every group to itself."""
    return {at: other for own in groups for at, other in zip(own, chance.sample(own, len(own)), strict=True)}


def _holding(claim: ResourceClaim, held: Mapping[DeviceID, DeviceID]) -> ResourceClaim:
    allocation = claim.status.allocation if claim.status else None
    if claim.status is None or allocation is None or allocation.devices is None:
        return claim
    results = []
    for one in allocation.devices.results:
        own = DeviceID(one.driver, one.pool, one.device)
        results.append(replace(one, device=held.get(own, own).device))
    devices = replace(allocation.devices, results=tuple(results))
    return replace(claim, status=replace(claim.status, allocation=replace(allocation, devices=devices)))


def _kind(device: Device) -> Hashable:
    """Return what devices that may change places have in common; a device with counters stays."""
    if device.consumes_counters:
        return device.name
    values = {name: value for name, value in device.attributes.items() if name.rpartition("/")[2] in _SAME}
    capacity = tuple(sorted((name, str(one.value)) for name, one in device.capacity.items()))
    return tuple(sorted((k, str(v)) for k, v in values.items())), capacity


_NAMES = ("pciAddress", "index", "minor")
"""Attributes, without their domain, that say the same as the name of a device."""

_SAME = ("type", "productName", "encapsulation", "virtual")
"""Attributes, without their domain, that devices must have in common to change places."""
