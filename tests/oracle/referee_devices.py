"""The devices that a node sees and what is in use, as the rules for plans read them; no code of the planner."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from dra_lab.cel.matching import Matching
from dra_lab.findings import Finding, Severity
from dra_lab.index.in_use import allocated_alone, grouped_sets
from dra_lab.index.pools import Pool, PoolDevice, devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, How, Link
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Locality, level_number, level_value, shared_value

_ONE_ROOT = ("pcieRoot", How.TOGETHER)


def broken(rule: str, subject: object, message: str) -> Finding:
    """Return the finding for a rule that a plan breaks."""
    return Finding(f"plan-{rule}", Severity.ERROR, str(subject), message, "Please report the claim and the cluster.")


@dataclass
class NodeDevices:
    """What a node sees, as the release's scheduler gathers it (docs/semantics.md 3.2.1, 3.2.3)."""

    cluster: Cluster
    name: str
    matching: Matching
    release: KubernetesRelease

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """Return the pools that the node sees."""
        return gather_pools(
            self.cluster,
            self.name,
            partitionable_devices=self.release.enabled("DRAPartitionableDevices"),
            counters_everywhere=not self.release.is_at_least("1.37"),
            consistent=self.release.is_at_least("1.38"),
        )

    @cached_property
    def published(self) -> Mapping[DeviceID, PoolDevice]:
        """Return every device that the node sees, with its slice."""
        return {item.id: item for item in devices_on(self.pools)}

    @cached_property
    def devices(self) -> Mapping[DeviceID, Device]:
        """Return every device that the node sees."""
        return {device: item.device for device, item in self.published.items()}

    @cached_property
    def places(self) -> Mapping[DeviceID, Locality]:
        """Return where each device sits."""
        return localities(self.cluster, self.name)

    def is_shareable(self, device: DeviceID) -> bool:
        """Say whether several requests may share a device."""
        return bool(self.devices[device].allow_multiple_allocations) and self.release.enabled("DRAConsumableCapacity")

    def is_visible(self, device: DeviceID) -> bool:
        """Say whether no feature gate hides a device (docs/semantics.md 3.5.8, 3.5.10)."""
        published, gate = self.devices[device], self.release.enabled
        if published.binding_conditions and not gate("DRADeviceBindingConditions"):
            return False
        if not published.consumes_counters:
            return True
        if self.release.is_at_least("1.37") and not gate("DRADeviceCompatibilityGroups"):
            pool = next(pool for pool in self.pools if (pool.driver, pool.name) == (device.driver, device.pool))
            sets = grouped_sets(self.cluster, pool, self.cluster.allocated)
            if any(use.compatibility_groups or use.counter_set in sets for use in published.consumes_counters):
                return False
        return gate("DRAPartitionableDevices")

    def stage(self, ask: Ask, device: DeviceID) -> str:
        """Return `match`, or what class and selectors of an ask answer instead."""
        return self.matching.match(ask, device.driver, self.devices[device]).stage

    def values(self, device: DeviceID, link: Link) -> frozenset[tuple[str, object]]:
        """Return all values on a link's place: several for a list with DRAListTypeAttributes, else one.

        Rule: docs/semantics.md 3.9.11.
        """
        published = self.devices[device]
        profile = self.published[device].kind.profile
        names = profile.attributes_at(link.where) if link.is_level else (link.where,)
        found = next((a for name in names if (a := published.lookup(name, device.driver)) is not None), None)
        if found is not None and isinstance(found.value, tuple) and self.release.enabled("DRAListTypeAttributes"):
            plain = [level_number(v) if link.is_level else v for v in found.value]
            return frozenset((type(v).__name__ if link.is_level else found.kind.rstrip("s"), v) for v in plain)
        value_at = level_value if link.how is How.APART else shared_value
        value = value_at(self.places[device], link.where, published)
        if value is not None:
            return frozenset({(type(value).__name__ if link.is_level or found is None else found.kind, value)})
        if found is not None and found.value == "" and link.must and (link.where, link.how) == _ONE_ROOT:
            # An empty root is no known root, and equal for the constraint all the same (docs/semantics.md 3.9.7).
            return frozenset({("str", "")})
        # A list that the release does not read equals nothing, and every other list where values must differ
        # (docs/semantics.md 3.9.10, 3.9.23).
        unread = found is not None and found.is_list
        return frozenset({("", "" if link.how is How.APART else device)}) if unread else frozenset()

    def losses(self, link: Link, parts: Sequence[Sequence[DeviceID]], also: Sequence[Link] = ()) -> int:
        """Return 0 for a link that holds; else 1, or the number of one-to-one groups without a common place.

        `parts` are the devices of each request; groups keep the links in `also` too.
        """
        values = [self.values(device, link) for part in parts for device in part]
        if link.how is How.TOGETHER:
            return int(bool(values) and not frozenset.intersection(*values))
        if link.how is How.APART:
            return int(not all(values) or any(not a.isdisjoint(b) for a, b in combinations(values, 2)))
        if len(parts) < 2:
            return 0
        groups = min(map(len, parts))
        if any(len(part) % groups for part in parts):
            return groups
        found = 0
        places = [Counter(tuple(self.values(d, one) for one in (link, *also)) for d in part) for part in parts]
        for place in places[0]:
            if all(place):
                found += min(at[place] // (len(part) // groups) for at, part in zip(places, parts, strict=True))
        return groups - found


class InUse:
    """What claims of the cluster and other pods of a plan hold: devices alone, shares, and amounts of shares."""

    def __init__(self, cluster: Cluster, release: KubernetesRelease) -> None:
        """Start with the claims of the cluster."""
        held = allocated_alone(cluster) if release.is_at_least("1.38") else cluster.allocated
        self.alone = Counter(held.exclusive.keys())
        self.shares = Counter({device: len(holders) for device, holders in held.shares.items()})
        self.amounts: dict[tuple[DeviceID, str], Fraction] = defaultdict(Fraction)
        for device, amounts in held.consumed.items():
            for key, amount in amounts.items():
                self.amounts[device, key] += amount

    def counters_left(self, cluster: Cluster, pool: Pool) -> Mapping[tuple[str, str], Fraction]:
        """Return what devices in use leave of every counter of a pool, by counter set and counter."""
        held = (
            device
            for slice_ in cluster.slices_by_pool.get((pool.driver, pool.name), ())
            if slice_.spec.pool.generation == pool.generation
            for device in slice_.spec.devices or ()
            if any(use[DeviceID(pool.driver, pool.name, device.name)] > 0 for use in (self.alone, self.shares))
        )
        before = draws_of(held)
        return {
            (counters.name, name): parse_quantity(counter.value) - before[counters.name, name]
            for counters in pool.counter_sets
            for name, counter in counters.counters.items()
        }


def draws_of(devices: Iterable[Device]) -> Mapping[tuple[str, str], Fraction]:
    """Return what devices draw together, by counter set and counter (`consumesCounters`)."""
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for device in devices:
        for use in device.consumes_counters:
            for name, counter in use.counters.items():
                found[use.counter_set, name] += parse_quantity(counter.value)
    return found
