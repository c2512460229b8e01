"""A plan with what it is checked against: cluster, claims, devices; read by every rule of `check_plan`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dra_lab.cel.matching import Matching
from dra_lab.drivers import level_attributes
from dra_lab.findings import Finding, Severity
from dra_lab.index.pools import Pool, PoolDevice, devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, part_of
from dra_lab.model.plan import GoalValue, Placement, Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, How, Link, asks
from dra_lab.topology.locality import Locality, level_number, level_value, localities, shared_value

_ONE_ROOT = ("pcieRoot", How.TOGETHER)


@dataclass(frozen=True)
class AuditedPlan:
    """A plan with what it is checked against; `nics` says whether its requests may take NICs, where that is known."""

    cluster: Cluster
    plan: Plan
    release: KubernetesRelease
    nics: bool | None = None

    def taking(self, placements: tuple[Placement, ...], goals: tuple[GoalValue, ...] = ()) -> AuditedPlan:
        """Return the same with other devices taken; what does not depend on them is not worked out again."""
        other = replace(self, plan=replace(self.plan, placements=placements, goals=goals))
        other.__dict__.update((name, value) for name, value in self.__dict__.items() if name not in ("plan", "taken"))
        return other

    @cached_property
    def devices(self) -> Mapping[DeviceID, Device]:
        """Return every device that the node sees."""
        return {device: item.device for device, item in self.published.items()}

    @cached_property
    def published(self) -> Mapping[DeviceID, PoolDevice]:
        """Return every device that the node sees, with its slice."""
        return {item.id: item for item in devices_on(self.pools)}

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """Return the pools that the node sees."""
        # As the release's scheduler gathers them (docs/semantics.md 3.2.1, 3.2.3).
        return gather_pools(
            self.cluster,
            self.plan.node,
            partitionable_devices=self.release.enabled("DRAPartitionableDevices"),
            counters_everywhere=not self.release.is_at_least("1.37"),
        )

    @cached_property
    def places(self) -> Mapping[DeviceID, Locality]:
        """Return where each device sits."""
        return localities(self.cluster, self.plan.node)

    @cached_property
    def matching(self) -> Matching:
        """Return the answers of class and request selectors."""
        return Matching(self.cluster, self.release)

    @cached_property
    def asks(self) -> Mapping[str, Ask]:
        """Return every way to serve every request, by reference."""
        return {ask.reference: ask for request in self.plan.sketch.requests for ask in asks(request)}

    @cached_property
    def taken(self) -> Mapping[str, tuple[Placement, ...]]:
        """Return the placements by reference."""
        found: dict[str, list[Placement]] = defaultdict(list)
        for placement in self.plan.placements:
            found[placement.reference].append(placement)
        return {reference: tuple(placements) for reference, placements in found.items()}

    def shareable(self, device: DeviceID) -> bool:
        """Say whether several requests may share a device."""
        return bool(self.devices[device].allow_multiple_allocations) and self.release.enabled("DRAConsumableCapacity")

    def matches(self, ask: Ask, device: DeviceID) -> bool:
        """Say whether a device passes class and selectors of an ask."""
        return self.matching.match(ask, device.driver, self.devices[device]).stage == "match"

    def values(self, device: DeviceID, link: Link) -> frozenset[tuple[str, object]]:
        """Return all values at a link's place: several for a list with DRAListTypeAttributes, else one.

        Rule: docs/semantics.md 3.9.11.
        """
        key = (device, link.where, link.how, link.must)
        if key not in self._values:
            self._values[key] = self._values_at(device, link)
        return self._values[key]

    @cached_property
    def _values(self) -> dict[tuple[DeviceID, str, How, bool], frozenset[tuple[str, object]]]:
        return {}

    def _values_at(self, device: DeviceID, link: Link) -> frozenset[tuple[str, object]]:
        published = self.devices[device]
        names = level_attributes(device.driver, link.where) if link.is_level else (link.where,)
        found = next((a for name in names if (a := published.lookup(name, device.driver)) is not None), None)
        if found is not None and isinstance(found.value, tuple) and self.release.enabled("DRAListTypeAttributes"):
            plain = [level_number(v) if link.is_level else v for v in found.value]
            return frozenset((type(v).__name__ if link.is_level else found.kind.rstrip("s"), v) for v in plain)
        value_at = level_value if link.how is How.APART else shared_value
        value = value_at(self.places[device], link.where, published)
        if value is not None:
            return frozenset({(type(value).__name__ if link.is_level or found is None else found.kind, value)})
        if found is not None and found.value == "" and link.must and (link.where, link.how) == _ONE_ROOT:
            # Published empty, it is no known root, and equal for the constraint all the same (docs/semantics.md 3.9.7).
            return frozenset({("str", "")})
        # A list that the release does not read equals nothing, and every other list where values must differ
        # (docs/semantics.md 3.9.10, 3.9.23).
        unread = found is not None and found.is_list
        return frozenset({("", "" if link.how is How.APART else device)}) if unread else frozenset()

    @cached_property
    def claims(self) -> Sequence[str]:
        """Return the claims of the pod in its order; one claim is ""."""
        return tuple(dict.fromkeys(part_of(request.name)[0] for request in self.plan.sketch.requests))

    def of_claim(self, claim: str) -> tuple[Placement, ...]:
        """Return the placements of one claim as kube-scheduler writes them: by request, then in the pools' order."""
        order, places = {name: at for at, name in enumerate(self.asks)}, {d: at for at, d in enumerate(self.devices)}
        mine = (p for p in self.plan.placements if p.claim == claim)
        return tuple(sorted(mine, key=lambda p: (order[p.reference], places[p.device])))


def broken(rule: str, subject: object, message: str) -> Finding:
    """Return the finding that says which rule a plan breaks."""
    return Finding(f"plan-{rule}", Severity.ERROR, str(subject), message, "Please report the claim and the cluster.")
