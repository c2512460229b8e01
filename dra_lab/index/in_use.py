"""Devices in use: who holds them, what is left of shared ones and of counters, and how they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.index.pools import Pool
from dra_lab.model.claims import AllocatedDevices, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, published_amounts
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.pods import Pod, ResourceHealth, ResourceStatus
from dra_lab.model.quantity import format_quantity, nano, parse_quantity
from dra_lab.model.slices import ResourceSlice, newest

UNHEALTHY = "Unhealthy"
_PREFIX = "claim:"
_RANK = {"Healthy": 0, "Unknown": 1, UNHEALTHY: 2}


@once_per_snapshot
def device_health(cluster: Cluster) -> Mapping[DeviceID, str]:
    """Return "Healthy", "Unhealthy" or "Unknown" by device, where a pod says it; the worst of what several say.

    kubelet names a device by its first CDI name, else by `driver/pool/device` (`dra/manager.go`,
    `UpdateAllocatedResourcesStatus`). A CDI name that matches none or several of the claim's devices is ignored. So is
    a pod for which the claim is no longer reserved, because nothing updates the status of a pod after its end.
    """
    found: dict[DeviceID, str] = {}
    for device_id, health in _reported(cluster):
        if _RANK.get(health, 1) >= _RANK.get(found.get(device_id, ""), -1):
            found[device_id] = health
    return found


def _reported(cluster: Cluster) -> Iterator[tuple[DeviceID, str]]:
    pods = [(pod, found) for pod in cluster.pods if (found := _statuses(pod))]
    claims = {(claim.metadata.namespace, claim.metadata.name): claim for claim in cluster.claims} if pods else {}
    for pod, statuses in pods:
        names = {entry.name: entry.resource_claim_name or "" for entry in pod.status.resource_claim_statuses}
        names |= {e.name: e.resource_claim_name for e in pod.spec.resource_claims if e.resource_claim_name}
        for status in statuses:
            entry, _, request = status.name.removeprefix(_PREFIX).partition("/")
            claim = claims.get((pod.metadata.namespace, names.get(entry, entry)))
            if claim is not None and _is_reserved(claim, pod):
                for resource in status.resources:
                    device_id = _device_of(claim, request, resource)
                    if device_id is not None:
                        yield device_id, resource.health


def _is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    name, uid = pod.metadata.name, pod.metadata.uid
    return any(
        one.resource in ("pods", "") and one.name == name and (not uid or not one.uid or one.uid == uid)
        for one in claim.status.reserved_for
    )


def _statuses(pod: Pod) -> tuple[ResourceStatus, ...]:
    containers = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return tuple(s for c in containers for s in c.allocated_resources_status if s.name.startswith(_PREFIX))


def _device_of(claim: ResourceClaim, request: str, resource: ResourceHealth) -> DeviceID | None:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    meant = [r.id for r in results if not request or r.request.partition("/")[0] == request]
    for device_id in dict.fromkeys(meant):
        if str(device_id) == resource.resource_id:
            return device_id
    text = resource.resource_id
    ending = [d for d in dict.fromkeys(meant) if text.endswith(d.device) and not text[: -len(d.device)][-1:].isalnum()]
    if len(ending) == 1:
        return ending[0]
    return meant[0] if len(meant) == 1 else None


class Amount(Struct, frozen=True):
    """How much there is of a capacity or counter, and how much of it claims hold; in the unit of its quantity."""

    total: Fraction
    used: Fraction

    @property
    def left(self) -> Fraction:
        """Return what is left; negative where more is held than there is."""
        return self.total - self.used


class DeviceInUse(Struct, frozen=True):
    """A device that claims hold.

    `node` is "" for a device that no single node has. `claims` hold it (`namespace/name`), alone or, where `shared`, a
    share each; `admin` are claims that only watch it. `consumers` are who the claims are reserved for. `capacity` says
    what is left of a shared device by capacity key. `taints` keep new claims away. `health` is what kubelet says:
    "Healthy", "Unhealthy", "Unknown", or "" where no pod says anything. `published` is False for a device that no
    current ResourceSlice has.
    """

    device: DeviceID
    node: str = ""
    claims: tuple[str, ...] = ()
    admin: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    shared: bool = False
    capacity: Mapping[str, Amount] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    health: str = ""
    published: bool = True


class CounterInUse(Struct, frozen=True):
    """A shared counter of a pool: how much there is, and how much the devices that claims hold draw from it."""

    driver: str
    pool: str
    counter_set: str
    counter: str
    amount: Amount


def published_device(cluster: Cluster, device: DeviceID) -> tuple[Device, ResourceSlice] | None:
    """Return a device of the newest generation of its pool with its slice, None if it is not published."""
    for item in reversed(newest(cluster.slices_by_pool.get(device[:2], ()))):
        for found in reversed(item.spec.devices or ()):
            if found.name == device.device:
                return found, item
    return None


@once_per_snapshot
def allocated_alone(cluster: Cluster) -> AllocatedDevices:
    """Return what all claims of a cluster hold as kube-scheduler 1.38 counts it (`held_alone`)."""
    return held_alone(cluster, cluster.allocated)


def held_alone(cluster: Cluster, held: AllocatedDevices) -> AllocatedDevices:
    """Return what claims hold as kube-scheduler 1.38 counts it.

    Shares of a device that can no longer be shared hold it alone. Amounts have the keys that the driver publishes now.
    Rules: docs/semantics.md 3.11.13, 3.11.14.
    """
    if not (held.shares or held.consumed):
        return held
    exclusive, shares, consumed = dict(held.exclusive), dict(held.shares), dict(held.consumed)
    for device in {*shares, *consumed}:
        found = published_device(cluster, device)
        if found is None:
            continue
        if device in shares and not found[0].allow_multiple_allocations:
            exclusive.setdefault(device, shares.pop(device)[0])
        if device in consumed:
            consumed[device] = published_amounts(found[0], consumed[device], device.driver)
    return replace(held, exclusive=exclusive, shares=shares, consumed=consumed)


@once_per_snapshot
def devices_in_use(cluster: Cluster) -> tuple[DeviceInUse, ...]:
    """Return the devices that claims hold, sorted by driver, pool and device."""
    return tuple(_rows(cluster))


def shares_in_use(cluster: Cluster, device: DeviceID) -> Mapping[str, Amount]:
    """Return how much of a shared device is in use, by capacity key; nothing of a device that no claim shares."""
    known = published_device(cluster, device) if device in cluster.allocated.shares else None
    consumed = cluster.allocated.consumed.get(device, {})
    return {
        key: Amount(parse_quantity(capacity.value), consumed.get(key, Fraction()))
        for key, capacity in (known[0].capacity.items() if known is not None else ())
    }


def _rows(cluster: Cluster) -> Iterator[DeviceInUse]:
    holders: dict[DeviceID, list[str]] = defaultdict(list)
    watching: dict[DeviceID, list[str]] = defaultdict(list)
    consumers: dict[DeviceID, dict[str, None]] = defaultdict(dict)
    for claim in cluster.claims:
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            (watching if result.admin_access else holders)[result.id].append(claim_name(claim))
            consumers[result.id].update(dict.fromkeys(consumers_of(claim)))
    health = device_health(cluster)
    for device_id in sorted(holders.keys() | watching.keys()):
        known = published_device(cluster, device_id)
        row = DeviceInUse(
            device_id,
            claims=tuple(dict.fromkeys(holders[device_id])),
            admin=tuple(dict.fromkeys(watching[device_id])),
            consumers=tuple(consumers[device_id]),
            shared=device_id in cluster.allocated.shares,
            health=health.get(device_id, ""),
            published=known is not None,
        )
        yield _with_device(cluster, row, *known) if known is not None else row


def _with_device(cluster: Cluster, row: DeviceInUse, device: Device, item: ResourceSlice) -> DeviceInUse:
    taints = cluster.taints_of(row.device, device)
    return replace(
        row,
        node=device.node_name or item.spec.node_name or "",
        capacity=shares_in_use(cluster, row.device),
        taints=tuple(str(taint) for taint in taints if taint.effect in ("NoSchedule", "NoExecute")),
    )


def counters_in_use(cluster: Cluster) -> tuple[CounterInUse, ...]:
    """Return the shared counters of all pools that have some, with what the devices in use draw (KEP-4815)."""
    pools = {(s.spec.driver, s.spec.pool.name) for s in cluster.slices if s.spec.shared_counters is not None}
    if not pools:
        return ()
    drawn: dict[tuple[str, str, str, str], Fraction] = defaultdict(Fraction)
    for device_id in {*cluster.allocated.exclusive, *cluster.allocated.shares}:
        known = published_device(cluster, device_id)
        for use in known[0].consumes_counters if known else ():
            for name, counter in use.counters.items():
                drawn[device_id.driver, device_id.pool, use.counter_set, name] += parse_quantity(counter.value)
    found = []
    for pool in sorted(pools):
        for counter_set in (
            one for item in newest(cluster.slices_by_pool[pool]) for one in item.spec.shared_counters or ()
        ):
            for name, counter in counter_set.counters.items():
                amount = Amount(parse_quantity(counter.value), drawn[*pool, counter_set.name, name])
                found.append(CounterInUse(*pool, counter_set.name, name, amount))
    return tuple(found)


def claim_name(claim: ResourceClaim) -> str:
    """Return `namespace/name`."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def consumers_of(claim: ResourceClaim) -> tuple[str, ...]:
    """Return who a claim is reserved for: names of pods, `resource/name` for anything else."""
    return tuple(
        one.name if one.resource in ("pods", "") else f"{one.resource}/{one.name}" for one in claim.status.reserved_for
    )


# --------------------------------------------------------------------- shared counters

Counter = tuple[int, str, str]
"""A counter: the position of its pool among the node's pools with counters, its set, its name."""

Draws = tuple[tuple[Counter, int], ...]
"""What a device takes of counters, sorted; nothing for a device that draws on none."""


def counted_pools(pools: Sequence[Pool]) -> tuple[Pool, ...]:
    """Return the pools of which a device on this node draws on counters, in their order."""
    return tuple(pool for pool in pools if pool.counted)


def grouped_sets(cluster: Cluster, pool: Pool, held: AllocatedDevices) -> frozenset[str]:
    """Return the counter sets of a pool on which an allocated device with `compatibilityGroups` draws.

    Without the gate of these groups, kube-scheduler 1.37 skips all devices that draw on such a set
    (docs/semantics.md 1.8.3).
    """
    return frozenset(
        use.counter_set
        for slice_ in cluster.slices_by_pool[pool.driver, pool.name]
        for device in slice_.spec.devices or ()
        if slice_.spec.pool.generation == pool.generation
        for use in device.consumes_counters
        if use.compatibility_groups and held.holders(DeviceID(pool.driver, pool.name, device.name))
    )


def consumption(device: Device, position: int) -> Draws:
    """Return `consumesCounters` of a device, summed by counter, in 1/NANO; `position` is that of its pool."""
    found: dict[Counter, int] = {}
    for use in device.consumes_counters:
        for name, counter in use.counters.items():
            key = (position, use.counter_set, name)
            found[key] = found.get(key, 0) + nano(counter.value)
    return tuple(sorted((key, amount) for key, amount in found.items() if amount))


@once_per_snapshot
def without_counters(cluster: Cluster) -> Mapping[DeviceID, str]:
    """Return the devices that are not in use and cannot be allocated, with the counter that they lack.

    The values read `gpu-0/memory-slice-0: 0 of 1 left`. It is mostly a partition of a GPU with another in use; a pool
    of which a counter is overdrawn allocates no device that draws on counters at all (docs/semantics.md 3.10.4).
    """
    books: dict[tuple[str, str], dict[tuple[str, str], Amount]] = defaultdict(dict)
    for use in counters_in_use(cluster):
        books[use.driver, use.pool][use.counter_set, use.counter] = use.amount
    found = {}
    for pool, book in books.items():
        if not any(amount.used for amount in book.values()):
            continue
        overdrawn = next((_words(counter, amount) for counter, amount in book.items() if amount.left < 0), "")
        for device in (one for item in newest(cluster.slices_by_pool[pool]) for one in item.spec.devices or ()):
            name = DeviceID(*pool, device.name)
            if device.consumes_counters and not cluster.allocated.holders(name):
                lacks = overdrawn or _lacks(device, book)
                if lacks:
                    found[name] = lacks
    return found


def _lacks(device: Device, book: Mapping[tuple[str, str], Amount]) -> str:
    """Return the first counter of which less is left than the device draws, in words; "" for none."""
    for use in device.consumes_counters:
        for key, counter in use.counters.items():
            amount = book.get((use.counter_set, key))
            if amount is not None and amount.left < parse_quantity(counter.value):
                return _words((use.counter_set, key), amount)
    return ""


def _words(counter: tuple[str, str], amount: Amount) -> str:
    return f"{'/'.join(counter)}: {format_quantity(amount.left)} of {format_quantity(amount.total)} left"
