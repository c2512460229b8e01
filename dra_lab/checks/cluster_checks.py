"""What is wrong with a cluster: its pools, devices, classes and hierarchies, and claims that hold unused devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from dra_lab.checks.in_use_audit import check_audit
from dra_lab.checks.refused import check_refused_claims, check_refused_slices
from dra_lab.findings import Finding, Rule, Severity, sort_findings
from dra_lab.index.in_use import UNHEALTHY, claim_name, counters_in_use, device_health
from dra_lab.index.pools import contradictions, why_unusable
from dra_lab.model.claims import ResourceClaimConsumerReference
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_hardware, once_per_slice, once_per_snapshot
from dra_lab.model.names import PCIE_ROOT, DeviceID, full_name
from dra_lab.model.release import LIST_ATTRIBUTES
from dra_lab.model.slices import ResourceSlice, newest
from dra_lab.topology.hierarchies import hierarchy_findings

_SHOWN = 5
_DELETE = "No other claim can get their devices. If the claims stay unused, delete them."
_LET_GO = (
    "No other claim can get their devices until their finalizers are gone. Are kubelet on the node and "
    "kube-controller-manager running? See: kubectl get resourceclaim NAME -o yaml"
)
_IDLE: Mapping[Rule, tuple[str, str, str]] = {
    "claim-unreserved": (
        "holds devices and is reserved for no pod",
        "hold devices and are reserved for no pod",
        _DELETE,
    ),
    "claim-of-gone-pods": (
        "holds devices for pods that no longer exist",
        "hold devices for pods that no longer exist",
        _DELETE,
    ),
    "claim-not-let-go": (
        "is deleted, has no pod, and still holds devices",
        "are deleted, have no pod, and still hold devices",
        _LET_GO,
    ),
}
"""By rule: what one claim does, what several do, what to do about it."""


def check_unused(cluster: Cluster) -> Iterator[Finding]:
    """Yield claims that hold unused devices: reserved for no pod, or only for pods that no longer exist.

    An allocated claim holds its devices whether or not a pod uses it (docs/semantics.md 3.14.5, 3.14.6). Pods that are
    gone are only reported if pods of the claim's namespace were read; one of the same name and another UID is not the
    pod that it was reserved for. Admin access holds nothing. Pods and claims are read at two moments, so a pod that
    ended in between is reported until the next reading.
    """
    pods = {(pod.metadata.namespace, pod.metadata.name): pod.metadata.uid for pod in cluster.pods}
    read = {namespace for namespace, _ in pods}
    everywhere = "Pod" in cluster.resource_versions

    def is_gone(namespace: str, consumer: ResourceClaimConsumerReference) -> bool:
        uid = pods.get((namespace, consumer.name))
        there = uid is not None and (not uid or not consumer.uid or uid == consumer.uid)
        return consumer.resource == "pods" and not there

    idle: dict[Rule, list[str]] = {rule: [] for rule in _IDLE}
    for claim in cluster.claims:
        allocation = claim.status.allocation
        if allocation is None or all(result.admin_access for result in allocation.devices.results):
            continue
        namespace, reserved = claim.metadata.namespace, claim.status.reserved_for
        known = everywhere or namespace in read or f"Pod/{namespace}" in cluster.resource_versions
        gone = known and all(is_gone(namespace, consumer) for consumer in reserved)
        if reserved and not gone:
            continue
        rule: Rule = "claim-of-gone-pods" if reserved else "claim-unreserved"
        idle["claim-not-let-go" if claim.metadata.deletion_timestamp else rule].append(claim_name(claim))
    for rule, names in idle.items():
        if not names:
            continue
        one, many, advice = _IDLE[rule]
        message = f"1 claim {one}: " if len(names) == 1 else f"{len(names):,} claims {many}: "
        subject = names[0] if len(names) == 1 else "claims"
        yield Finding(rule, Severity.WARNING, subject, message + _some(names), advice)


Check = Callable[[Cluster], Iterator[Finding]]


@once_per_snapshot
def check_cluster(cluster: Cluster) -> tuple[Finding, ...]:
    """Return what is wrong with, or worth knowing about, a cluster's slices, classes, claims and hierarchies.

    Args:
        cluster: The cluster to check. No claim is planned.

    Returns:
        The findings, errors first; none for a cluster without such problems.
    """
    return sort_findings((*_published(cluster, str(cluster.target_release())), *_findings_of(cluster, _RULES)))


@once_per_hardware
def _published(cluster: Cluster, _release: str) -> tuple[Finding, ...]:
    """Return the findings of the hardware; some depend on the release, which the memo does not know."""
    return _findings_of(cluster, _RULES_OF_HARDWARE)


def _findings_of(cluster: Cluster, rules: tuple[Check, ...]) -> tuple[Finding, ...]:
    return tuple(finding for rule in rules for finding in rule(cluster))


def check_pools(cluster: Cluster) -> Iterator[Finding]:
    """Yield pools that kube-scheduler skips, and old generations (docs/semantics.md 3.2.5 to 3.2.9, 3.2.18)."""
    newest_rules = cluster.target_release().is_at_least("1.38")
    ends = "fails on the nodes that see it" if newest_rules else "gives up the pod"
    for (driver, name), slices in cluster.slices_by_pool.items():
        current = newest(slices)
        generation = current[0].spec.pool.generation
        pool = f"{driver}/{name}"
        if len(current) < len(slices):
            old = len(slices) - len(current)
            message = f"{old} ResourceSlices of older generations exist beside generation {generation}"
            advice = "kube-scheduler uses the newest generation; the driver should remove the old slices."
            yield Finding("pool-stale", Severity.NOTE, pool, message, advice)
        wanted = current[0].spec.pool.resource_slice_count
        contradiction = contradictions(cluster).get(((driver, name), generation), "") if newest_rules else ""
        if len(current) != wanted and not contradiction:
            message = f"the pool is incomplete: {len(current)} of {wanted} ResourceSlices of generation {generation}"
            advice = f"kube-scheduler does not use its devices, and a request with allocationMode All {ends}."
            yield Finding("pool-incomplete", Severity.WARNING, pool, message, advice)
        elif invalid := contradiction or why_unusable(cluster, current):
            advice = "kube-scheduler does not use its devices; correct what the driver publishes."
            yield Finding("pool-invalid", Severity.WARNING, pool, f"the pool is invalid: {invalid}", advice)


def check_identities(cluster: Cluster) -> Iterator[Finding]:
    """Yield device identities that two nodes publish: a claim's result could then mean either.

    Rule: docs/semantics.md 3.2.13.
    """
    nodes: dict[DeviceID, set[str]] = defaultdict(set)
    for (driver, name), slices in cluster.slices_by_pool.items():
        if len({s.spec.node_name for s in slices}) < 2:
            continue
        for slice_ in slices:
            for device in slice_.spec.devices or ():
                nodes[DeviceID(driver, name, device.name)].add(slice_.spec.node_name or "")
    for device_id, names in nodes.items():
        if len(names) > 1:
            message = f"the same device is published for {len(names)} nodes: {_some(names)}"
            advice = "Give each node's pool a unique name. Otherwise devices in use look free, or free ones look used."
            yield Finding("device-ambiguous", Severity.WARNING, str(device_id), message, advice)


def check_taints(cluster: Cluster) -> Iterator[Finding]:
    """Yield a count of devices for each taint that keeps claims away (KEP-5055)."""
    tainted: dict[str, list[str]] = defaultdict(list)
    release = cluster.target_release()
    for slice_, device in _devices(cluster):
        for taint in device.taints:
            if taint.effect in ("NoSchedule", "NoExecute"):
                tainted[str(taint)].append(str(DeviceID(slice_.spec.driver, slice_.spec.pool.name, device.name)))
    for text, devices in sorted(tainted.items()):
        advice = f"A request needs a matching toleration to get {'it' if len(devices) == 1 else 'them'}."
        if not release.enabled("DRADeviceTaints"):
            advice = f"kube-scheduler ignores it here: a taint {release.needs('DRADeviceTaints')}."
        yield Finding("device-tainted", Severity.NOTE, text, f"{_count(devices)}: {_some(devices)}", advice)


def check_places(cluster: Cluster) -> Iterator[Finding]:
    """Yield attributes whose value says that the place is not known (a NUMA node of -1, an empty PCIe root)."""
    unknown: dict[tuple[str, str], list[str]] = defaultdict(list)
    for slices in cluster.slices_by_pool.values():
        for slice_ in newest(slices):
            for text, device in _unknown_places(cluster, slice_):
                unknown[slice_.spec.driver, text].append(device)
    for (driver, text), devices in sorted(unknown.items()):
        message = f"{text}, which means unknown, on {_count(devices)}: {_some(devices)}"
        advice = "dra-lab treats the place as unknown, but matchAttribute treats equal values as one place."
        yield Finding("place-unknown", Severity.WARNING, driver, message, advice)


@once_per_slice
def _unknown_places(_cluster: Cluster, slice_: ResourceSlice) -> tuple[tuple[str, str], ...]:
    """Return what says of a device of a slice that its place is not known, with the device."""
    driver, found = slice_.spec.driver, []
    for device in slice_.spec.devices or ():
        for key in _keys_of_places(driver, tuple(device.attributes)):
            attribute, name = device.attributes[key], full_name(key, driver)
            negative = "numa" in name.lower() and isinstance(attribute.value, int) and attribute.value < 0
            if negative or (name == PCIE_ROOT and attribute.value == ""):
                text = f"{name} is {'empty' if attribute.value == '' else attribute.value}"
                found.append((text, str(DeviceID(driver, slice_.spec.pool.name, device.name))))
    return tuple(found)


@lru_cache(1024)
def _keys_of_places(driver: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of attributes that name a place, computed once for all devices with the same keys."""
    return tuple(key for key in keys if "numa" in (name := full_name(key, driver)).lower() or name == PCIE_ROOT)


def check_lists(cluster: Cluster) -> Iterator[Finding]:
    """Yield drivers with list-typed attributes: they prove the gate, without which every selector fails on them."""
    drivers: Counter[str] = Counter()
    for slice_, device in _devices(cluster) if cluster.publishes_lists else ():
        if any(attribute.is_list for attribute in device.attributes.values()):
            drivers[slice_.spec.driver] += 1
    for driver, count in sorted(drivers.items()):
        message = f"{count} devices have list-typed attributes"
        advice = (
            f"API servers of 1.36 and later keep lists only with the gate {LIST_ATTRIBUTES} (alpha), so "
            f"dra-lab treats the gate as on. --feature-gates {LIST_ATTRIBUTES}=false plans without it."
        )
        yield Finding("list-attributes", Severity.NOTE, driver, message, advice)


def check_classes(cluster: Cluster) -> Iterator[Finding]:
    """Yield a finding when slices were read without any DeviceClass."""
    if cluster.slices and not cluster.classes:
        message = "no DeviceClasses were read"
        advice = "dra-lab offers the documented classes of known drivers and exports them with the claim."
        yield Finding("classes-missing", Severity.WARNING, cluster.name, message, advice)


def _devices(cluster: Cluster) -> Iterator[tuple[ResourceSlice, Device]]:
    for slices in cluster.slices_by_pool.values():
        for slice_ in newest(slices):
            for device in slice_.spec.devices or ():
                yield slice_, device


def _count(devices: list[str]) -> str:
    return f"{len(devices)} device{'' if len(devices) == 1 else 's'}"


def _some(names: list[str] | set[str]) -> str:
    shown = sorted(names)[:_SHOWN]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def check_hierarchies(cluster: Cluster) -> Iterator[Finding]:
    """Yield warnings about racks, blocks and the like; `dra-lab topology` prints the notes as well."""
    yield from (one for one in hierarchy_findings(cluster) if one.severity is not Severity.NOTE)


def check_counters(cluster: Cluster) -> Iterator[Finding]:
    """Yield counters of which the devices in use draw more than there is: their pool allocates nothing any more."""
    for use in counters_in_use(cluster):
        if use.amount.left < 0:
            subject = f"{use.driver}/{use.pool}"
            message = f"devices in use draw {float(use.amount.used):g} of counter {use.counter_set}/{use.counter}"
            message += f", and there are {float(use.amount.total):g}"
            advice = "The driver publishes less than before, so devices that need this counter cannot be allocated."
            yield Finding("counter-overdrawn", Severity.WARNING, subject, message, advice)


def check_health(cluster: Cluster) -> Iterator[Finding]:
    """Yield devices that are in use and not healthy, with the pods that use them."""
    if UNHEALTHY not in device_health(cluster).values():
        return
    users: dict[DeviceID, list[str]] = defaultdict(list)
    for claim in cluster.claims:
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            users[result.id] += [f"{claim.metadata.namespace}/{one.name}" for one in claim.status.reserved_for]
    for device_id, health in sorted(device_health(cluster).items()):
        if health == UNHEALTHY:
            who = ", ".join(sorted(set(users[device_id]))[:5]) or "no pod"
            message = f"the driver reports the device as unhealthy, and {who} uses it"
            advice = "A new claim may still get it unless its driver taints it; see the driver's logs on the node."
            yield Finding("device-unhealthy", Severity.WARNING, str(device_id), message, advice)


_RULES_OF_HARDWARE: tuple[Check, ...] = (
    check_pools,
    check_identities,
    check_taints,
    check_places,
    check_lists,
    check_classes,
    check_refused_slices,
)
"""Those that look at slices, nodes and classes alone: what they find stays while these do."""

_RULES: tuple[Check, ...] = (
    check_refused_claims,
    check_unused,
    check_counters,
    check_health,
    check_audit,
    check_hierarchies,
)
