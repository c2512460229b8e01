"""Attributes of which all pods of a gang use the same values, such as rails: the choice, and what a plan chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dra_lab.index.catalogue import catalogue
from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_devices
from dra_lab.model.placement import SameValues
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.workload import RAIL, Workload
from dra_lab.session.answers import Answer
from dra_lab.session.gang_domains import NodePods
from dra_lab.sketch.cluster_candidates import candidates, is_free
from dra_lab.words.workload_words import is_rail

_KINDS = ("nic", "gpu")
_TYPES = ("string", "int", "bool")
Value = str | int | bool


class SameOption(Struct, frozen=True):
    """An attribute of which all pods of a gang may use the same values.

    `reason` says why choosing it makes no sense, "" if it does. `requests` are those that it binds. The name `rail`
    stands for the attribute with rails, which is `inferred` if no device publishes one.
    """

    name: str
    requests: tuple[str, ...]
    reason: str = ""
    inferred: bool = False


def same_options(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> tuple[SameOption, ...]:
    """Return the attributes of the GPUs and NICs that a drawing requests, those that may be rails first."""
    found: dict[str, dict[str, None]] = {}
    nics: dict[str, None] = {}
    order: dict[str, int] = {}
    for request in sketch.requests:
        for shape in (shape for ask in asks(request) for shape in candidates(cluster, ask, release).shapes):
            if shape.kind not in _KINDS:
                continue
            if shape.kind == "nic":
                nics[request.name] = None
            for name in (name for name, (kind, _) in shape.attributes.items() if kind in _TYPES):
                found.setdefault(name, {})[request.name] = None
                order.setdefault(name, _KINDS.index(shape.kind))
    reasons = _reasons(cluster)
    rows = [SameOption(name, tuple(requests), reasons[name]) for name, requests in found.items()]
    rows.sort(key=lambda row: (bool(row.reason), not is_rail(row.name), order[row.name], row.name))
    published = {name: None for row in rows if is_rail(row.name) for name in row.requests}
    inferred = not any(map(is_rail, reasons))
    rail = SameOption(RAIL, tuple(nics if inferred else published), inferred=inferred)
    return (rail, *rows) if rail.requests else tuple(rows)


@once_per_devices
def _reasons(cluster: Cluster) -> Mapping[str, str]:
    """Return for each attribute of GPUs and NICs why pods cannot share its values, or share them in any case."""
    known = catalogue(cluster)
    values: dict[str, set[object]] = {}
    repeated, settled = set[str](), set[str]()
    for item in known.devices:
        shape = known.shape(item)
        if shape.kind not in _KINDS:
            continue
        for name, (kind, _) in shape.attributes.items():
            if kind not in _TYPES or name in settled:
                continue
            attribute, mine = item.device.lookup(name, item.driver), values.setdefault(name, set())
            value = attribute.value if attribute is not None else None
            if value in mine:
                repeated.add(name)
            mine.add(value)
            if name in repeated and len(mine) > 1:
                settled.add(name)
    return {
        name: "" if name in settled else "each device has a value of its own" if len(mine) > 1 else "one value for all"
        for name, mine in values.items()
    }


class ValueRow(Struct, frozen=True):
    """One value, such as a rail: whether the plan chose it, and its devices on each node as `NodePods` counts pods."""

    value: str
    is_chosen: bool
    nodes: tuple[NodePods, ...]

    @property
    def free(self) -> int:
        """Return the nodes that have a device with this value before the plan."""
        return sum(not one.closed and bool(one.placed + one.free + one.by_plan) for one in self.nodes)


def value_rows(answer: Answer, gang: Workload, same: SameValues, nodes: Sequence[str]) -> tuple[ValueRow, ...]:
    """Return the values of an attribute on some nodes: what the gang's requests may use, and what its plan uses."""
    question = answer.question
    users = {one.device: pod.workload for pod in answer.plan.pods for one in pod.devices}
    counts: Counter[tuple[Value, str, int]] = Counter()
    for item, value in _devices(question.cluster, answer.drawn(gang.name).claims, same, question.release):
        node, user = item.slice.spec.node_name or "", users.get(item.id)
        part = 0 if user == gang.name else 2 if user else 1 if is_free(question.cluster, item, question.release) else 3
        counts[value, node, part] += 1
    here = set(nodes)
    values = sorted({value for value, node, _ in counts if node in here})

    def boxes(value: Value) -> Iterator[NodePods]:
        for node in nodes:
            placed, free, by_plan, in_use = (counts[value, node, part] for part in range(4))
            yield NodePods(node, placed, free, by_plan, in_use, node in question.cluster.cordoned)

    return tuple(ValueRow(str(value), value in same.values, tuple(boxes(value))) for value in values)


def _devices(
    cluster: Cluster, claims: Sequence[ClaimSketch], same: SameValues, release: KubernetesRelease
) -> Iterator[tuple[PoolDevice, Value]]:
    """Yield the devices that requests may use and that have the attribute, each once, with its value."""
    known = catalogue(cluster)
    requests = (request for claim in claims for request in claim.requests)
    found = {
        item.id: item
        for request in requests
        for ask in asks(request)
        for item in candidates(cluster, ask, release).devices
    }
    for item in found.values():
        attribute = item.device.lookup(same.attribute, item.driver)
        if attribute is not None and (not same.inferred or known.shape(item).kind == "nic"):
            yield item, attribute.value  # type: ignore[misc]
