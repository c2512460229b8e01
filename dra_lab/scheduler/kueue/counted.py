"""What Kueue counts of a gang against quota, and the claims with which it refuses a gang whatever the quota.

Source: kubernetes-sigs/kueue v0.19.2, `pkg/dra` (`claims.go`, `mapper.go`, `counters.go`, `extended_resources.go`),
`pkg/controller/core/workload_controller.go`; for alternatives and adminAccess v0.20, `claims.go` and
dynamic_resource_allocation.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil

from msgspec import Struct, field

from dra_lab.cel.matching import ERROR
from dra_lab.errors import CelError
from dra_lab.findings import Finding, Severity
from dra_lab.index.node_index import node_index
from dra_lab.manifests.device_asks import IMPLICIT
from dra_lab.model.claims import DeviceRequest, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.queues import (
    ALTERNATIVES,
    DEVICE_CHECK,
    Configuration,
    CounterSource,
    DeviceClassMapping,
    DeviceClassSource,
    kueue_gate,
)
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, asks
from dra_lab.model.workload import PodGroup, Workload

READ_CONFIGURATION = "kubectl get configmap kueue-manager-config -n kueue-system -o yaml"
EXTENDED_CLAIM = "extended-resources"
"""The name of the claim for extended resources that DeviceClasses serve (`gitops.extended_resources`)."""

PODS = "pods"
DEVICES = "/devices"
"""What `exports.gangs.kueue` appends to a DeviceClass to name the resource that counts its devices."""


class CountedSet(Struct, frozen=True):
    """A pod set as Kueue counts it against quota; a leader and its workers are counted together.

    `wanted` is what all its pods need, by resource, in whole units (thousandths of CPUs).
    """

    groups: tuple[PodGroup, ...]
    wanted: Mapping[str, int]


class CountedResources(Struct):
    """What Kueue counts of a gang.

    `unmapped` are the DeviceClasses that the Configuration does not map. `unknown` says why something could not be
    counted, `notes` what was assumed or left out. `classes` are the DeviceClasses that a resource counts.
    """

    sets: tuple[CountedSet, ...] = ()
    unmapped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    classes: dict[str, list[str]] = field(default_factory=dict)


def whole_units(resource: str, amount: Fraction) -> int:
    """Return an amount as Kueue counts it: thousandths of CPUs, whole units of all else, rounded up."""
    return ceil(amount * 1000 if resource == "cpu" else amount)


def configuration_of(cluster: Cluster) -> Configuration | None:
    """Return Kueue's Configuration; None if it is not known."""
    return next((one for one in cluster.queues if isinstance(one, Configuration)), None)


def unmapped_classes(cluster: Cluster, classes: Iterable[str]) -> tuple[str, ...]:
    """Return the DeviceClasses that Kueue's Configuration does not map, all of them if it is not known."""
    known = configuration_of(cluster)
    mappings = known.resources.device_class_mappings if known else ()
    mapped = {name for one in mappings for name in one.device_class_names}
    return tuple(name for name in classes if name not in mapped)


def gang_requests(gang: Workload) -> Iterator[tuple[str, DeviceRequest]]:
    """Yield the requests of the pods of a gang, each with the name of its claim."""
    for group in gang.pods:
        for claim in group.claims:
            for request in claim.requests:
                yield claim.name, request


def is_free(request: DeviceRequest) -> bool:
    """Say whether Kueue accepts a request without counting it: adminAccess takes no device away."""
    return not request.first_available and all(ask.admin_access for ask in asks(request))


def node_requests(
    cluster: Cluster,
    gang: Workload,
    requests: Mapping[str, Mapping[str, QuantityText]],
    release: KubernetesRelease,
) -> dict[str, dict[str, QuantityText]]:
    """Return what Kueue looks for in the amounts of nodes, for a pod of each group by its name.

    Extended resources that a DeviceClass serves are among them unless its check of devices is on, and then the gang
    fits on no node that does not advertise them.

    Source: kubernetes-sigs/kueue v0.20, dynamic_resource_allocation.md, "When the check runs".
    """
    found = {group.name: dict(requests.get(group.name, {})) for group in gang.pods}
    if kueue_gate(cluster.queues, DEVICE_CHECK):
        return found
    classes = node_index(cluster, release).matching.classes
    for group in gang.pods:
        for claim in (one for one in group.claims if one.name == EXTENDED_CLAIM):
            for ask in (one for request in claim.requests for one in asks(request)[:1]):
                of_class = classes.get(ask.device_class_name)
                own = of_class.spec.extended_resource_name if of_class is not None else None
                found[group.name][own or f"{IMPLICIT}{ask.device_class_name}"] = ask.count
    return found


def leads(gang: Workload) -> bool:
    """Say whether a gang is a leader with workers, which Kueue places as one."""
    return len(gang.pods) == 2 and any(group.leader for group in gang.pods)


def counted(
    cluster: Cluster,
    gang: Workload,
    covered: Collection[str],
    release: KubernetesRelease,
    requests: Mapping[str, Mapping[str, QuantityText]],
) -> CountedResources:
    """Return what Kueue counts of all replicas of a gang against the resources that a ClusterQueue counts (`covered`).

    `requests` are those of a pod of each group of its node, by the name of the workload.
    """
    found = CountedResources()
    reader = _Reader(cluster, covered, release, found)
    amounts = [reader.group(group, requests.get(group.name, {})) for group in gang.pods]
    if leads(gang):
        whole: Counter[str] = Counter()
        for one in amounts:
            whole.update(one)
        found.sets = (CountedSet(tuple(gang.pods), dict(whole)),)
    else:
        found.sets = tuple(CountedSet((g,), dict(one)) for g, one in zip(gang.pods, amounts, strict=True))
    bare = [group.name for group in gang.pods if not requests.get(group.name)]
    if bare:
        limited = [name for name in sorted(covered) if name in ("cpu", "memory", "ephemeral-storage")]
        also = f", although the queue limits {' and '.join(limited)}" if limited else ""
        found.notes.append(f"Only device classes were counted: CPU and memory of the pods are not known{also}.")
    return found


class _Reader:
    def __init__(
        self, cluster: Cluster, covered: Collection[str], release: KubernetesRelease, found: CountedResources
    ) -> None:
        self.covered, self.found = covered, found
        self.cluster, self.matching = cluster, node_index(cluster, release).matching
        self.configuration = configuration_of(cluster)
        resources = self.configuration.resources if self.configuration else None
        self.mappings: dict[str, list[DeviceClassMapping]] = {}
        for mapping in resources.device_class_mappings if resources else ():
            for name in mapping.device_class_names:
                self.mappings.setdefault(name, []).append(mapping)
        self.excluded = resources.exclude_resource_prefixes if resources else ()
        self.changed = {one.input for one in resources.transformations} if resources else set()

    def group(self, group: PodGroup, requests: Mapping[str, QuantityText]) -> Counter[str]:
        """Return what all pods of a group need."""
        pods = group.count
        amounts: Counter[str] = Counter()
        for name, text in requests.items():
            if name in self.changed:
                self._unknown(f"Kueue's Configuration transforms the resource {name}, which is not counted here.")
            elif not name.startswith(self.excluded):
                amounts[name] += whole_units(name, parse_quantity(text)) * pods
        if PODS in self.covered:
            amounts[PODS] += pods
        for claim in group.claims:
            for request in claim.requests:
                for ask in () if is_free(request) else asks(request):
                    of_class = self.matching.classes.get(ask.device_class_name)
                    own = of_class.spec.extended_resource_name if of_class is not None else None
                    if claim.name != EXTENDED_CLAIM or (own and self.mappings.get(ask.device_class_name)):
                        of = list(self._devices(ask))
                    else:  # an extended resource that a class serves counts as itself
                        of = [(own or f"{IMPLICIT}{ask.device_class_name}", ask.count)]
                    for resource, count in () if ask.rank else of:  # alternatives count once
                        amounts[resource] += count * pods
                        named = self.found.classes.setdefault(resource, [])
                        named += [one for one in (ask.device_class_name,) if one not in named]
        return amounts

    def _devices(self, ask: Ask) -> Iterator[tuple[str, int]]:
        """Yield the resources that count the devices of a request, and how much one pod needs."""
        name = ask.device_class_name
        mappings = self.mappings.get(name, [])
        if not mappings and self.configuration is not None:
            if name not in self.found.unmapped:
                self.found.unmapped = (*self.found.unmapped, name)
        elif not mappings:
            resource = next((one for one in (name, f"{name}{DEVICES}") if one in self.covered), "")
            if resource:
                self._note(f"Assumed, since Kueue's Configuration is not known: {resource} counts {name}.")
                yield resource, ask.count
            else:
                self._unknown(f"Kueue's Configuration is not known, so the resource that counts {name} is not either.")
        else:
            sources = [(one.name, source) for one in mappings for source in one.sources]
            if not sources:
                yield mappings[-1].name, ask.count
            for resource, source in sources:
                yield resource, self._source(ask, resource, source)

    def _source(self, ask: Ask, resource: str, source: DeviceClassSource) -> int:
        """Return the most that a matching device consumes of a counter, for each device that is requested."""
        if source.counter is None:
            self._unknown(f"{resource} counts a capacity of shared devices, which is an alpha feature of Kueue.")
            return 0
        matched, amounts = self._counter(ask, source.counter)
        if matched < ask.count or not amounts:
            self._unknown(f"Too few devices of {ask.device_class_name} have the counter of {resource}; Kueue retries.")
            return 0
        return max(0, *amounts) * ask.count

    def _counter(self, ask: Ask, source: CounterSource) -> tuple[int, list[int]]:
        """Return how many devices match, and what they consume of a counter."""
        selectors = expressions((source.device_selector,)) if source.device_selector else ()
        matched, amounts = 0, list[int]()
        for slice_ in self.cluster.slices:
            if slice_.spec.driver != source.driver:
                continue
            for device in slice_.spec.devices or ():
                if not self.matching.match(ask, source.driver, device):
                    continue
                try:
                    chosen = all(self.matching.selector(one).matches(source.driver, device) for one in selectors)
                except CelError:
                    chosen = False
                if chosen:
                    matched += 1
                    uses = (use.counters.get(source.name) for use in device.consumes_counters)
                    amounts += (whole_units("", parse_quantity(use.value)) for use in uses if use is not None)
        return matched, amounts

    def _note(self, text: str) -> None:
        if text not in self.found.notes:
            self.found.notes.append(text)

    def _unknown(self, text: str) -> None:
        if text not in self.found.unknown:
            self.found.unknown = (*self.found.unknown, text)


_ADVICE = "Change the claim, or choose another scheduler."


def refused_claims(
    cluster: Cluster, gang: Workload, requests: Iterable[tuple[str, DeviceRequest]], release: KubernetesRelease
) -> Iterator[Finding]:
    """Yield a finding for each request or claim of a gang that Kueue refuses.

    `requests` are those of its pods, each with the name of the claim. Selectors are tried on the devices of the
    cluster.
    """
    every = tuple(requests)
    for claim in gang.every_shared_claim:
        message = "Kueue refuses pods that name a ResourceClaim, as pods with a shared claim do"
        yield Finding("kueue-shared-claim", Severity.ERROR, claim.name, message, _ADVICE)
    for claim_name, request in every:
        subject = f"{claim_name}, request {request.name}"
        if request.first_available and (message := _refused_alternatives(cluster, request)):
            yield Finding("kueue-alternatives", Severity.ERROR, subject, message, _ADVICE)
        if any(ask.all_devices for ask in asks(request)) and not is_free(request):
            message = "Kueue refuses allocationMode All"
            yield Finding("kueue-all-devices", Severity.ERROR, subject, message, _ADVICE)
    yield from _failing_selectors(cluster, every, release)


def _refused_alternatives(cluster: Cluster, request: DeviceRequest) -> str:
    """Return why Kueue refuses a list of alternatives; "" if all request the same count of one resource."""
    text = "Kueue refuses a list of alternatives (firstAvailable)"
    if not kueue_gate(cluster.queues, ALTERNATIVES):
        return f"{text} without the gate {ALTERNATIVES}, which is alpha and off"
    known = configuration_of(cluster)
    rows = known.resources.device_class_mappings if known else ()
    every = asks(request)
    mapped = [[one for one in rows if ask.device_class_name in one.device_class_names] for ask in every]
    if len({ask.count for ask in every}) > 1:
        return f"{text} that request different counts"
    if any(one.sources for found in mapped for one in found):
        return f"{text} that it counts by a counter or a capacity"
    if len({one.name for found in mapped for one in found}) > 1:
        return f"{text} that it counts as different resources"
    return ""


def _failing_selectors(
    cluster: Cluster, requests: Iterable[tuple[str, DeviceRequest]], release: KubernetesRelease
) -> Iterator[Finding]:
    matching = node_index(cluster, release).matching
    for claim_name, request in requests:
        for ask in () if request.first_available else asks(request):  # Kueue tries selectors of exact requests only
            for slice_ in cluster.slices:
                driver = slice_.spec.driver
                matches = (matching.match(ask, driver, device) for device in slice_.spec.devices or ())
                failed = next((found for found in matches if found.stage == ERROR), None)
                if failed is not None:
                    message = f"its selector fails on a device of {driver}, and Kueue then refuses the gang"
                    advice = f"Let the selector test first whether the attribute exists. The error: {failed.error}."
                    subject = f"{claim_name}, request {request.name}"
                    yield Finding("kueue-selector-fails", Severity.ERROR, subject, message, advice)
                    break
