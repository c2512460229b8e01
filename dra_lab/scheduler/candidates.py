"""The devices of a node as the search sees them: in the allocator's order, with taints and what other claims hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dra_lab.errors import UnsupportedFeature
from dra_lab.index.documented_classes import known_classes
from dra_lab.index.in_use import allocated_alone, grouped_sets
from dra_lab.index.pools import Pool, pools_of
from dra_lab.model.claims import AllocatedDevices, DeviceClass, DeviceToleration, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Amounts, Device, DeviceAttribute, DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import to_nano
from dra_lab.model.release import Gates, KubernetesRelease
from dra_lab.model.slices import ResourceSlice


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Say whether a toleration matches a taint: key and effect empty or equal, operator Exists or an equal value."""
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def untolerated(taints: Iterable[DeviceTaint], tolerations: tuple[DeviceToleration, ...]) -> DeviceTaint | None:
    """Return the first taint that no toleration matches, or None."""
    return next((taint for taint in taints if not any(tolerates(t, taint) for t in tolerations)), None)


_BLOCKING = ("NoSchedule", "NoExecute")
_NOTHING: Amounts = {}


class Candidate(Struct, eq=False):
    """One device at its place in the search order.

    `blocked` names the claim that holds it alone ("" when none does). `consumed` is what shares took of it, and
    `shared` says that shares of it are held. `hidden` names the gate that would have to be on to use it ("" for most
    devices). `taints` are those that keep claims away.
    """

    index: int
    id: DeviceID
    device: Device
    slice: ResourceSlice
    on_node: bool
    shareable: bool
    hidden: str
    counted: bool
    blocked: str
    shared: bool
    consumed: Amounts
    taints: tuple[DeviceTaint, ...]

    @property
    def driver(self) -> str:
        """Return the driver's name."""
        return self.id.driver


class NodeView(Struct, frozen=True):
    """The offer of one node: its pools, its devices in search order, and what is held."""

    node_name: str
    pools: tuple[Pool, ...]
    candidates: tuple[Candidate, ...]
    allocated: AllocatedDevices
    cluster: Cluster
    classes: Mapping[str, DeviceClass]

    def lookup(self, index: int, name: str) -> DeviceAttribute | None:
        """Return the attribute of a full name of a candidate, or None (docs/semantics.md 3.9.3)."""
        candidate = self.candidates[index]
        return candidate.device.lookup(name, candidate.driver)

    @property
    def invalid_pool(self) -> Pool | None:
        """Return the first pool that is invalid, or None."""
        return next((pool for pool in self.pools if pool.invalid), None)


def held_devices(cluster: Cluster, gates: Gates) -> AllocatedDevices:
    """Return what claims hold; with the capacity gate off shares are exclusive (docs/semantics.md 3.11.10)."""
    held = cluster.allocated
    if gates.consumable_capacity:
        return allocated_alone(cluster) if gates.from_1_38 else held
    exclusive = {device: holders[0] for device, holders in held.shares.items()} | dict(held.exclusive)
    return AllocatedDevices(exclusive)


def view_node(
    cluster: Cluster,
    node_name: str,
    gates: Gates,
    held: AllocatedDevices | None = None,
    classes: Mapping[str, DeviceClass] | None = None,
) -> NodeView:
    """Return a node as the search sees it.

    `held` is what is in use, by default `held_devices`, and `classes` are those that claims may name, by default
    `known_classes`.
    """
    candidates: list[Candidate] = []
    pools, held = pools_of(cluster, node_name, gates), held_devices(cluster, gates) if held is None else held
    for pool in pools:
        grouped = grouped_sets(cluster, pool, held) if gates.skip_groups and cluster.partitioned else frozenset()
        for place in pool.devices:
            device, hidden, uses = place.device, "", place.device.consumes_counters
            if device.binding_conditions and not gates.binding_conditions:
                hidden = "DRADeviceBindingConditions"
            elif gates.skip_groups and any(use.compatibility_groups or use.counter_set in grouped for use in uses):
                hidden = "DRADeviceCompatibilityGroups"
            taints = cluster.taints_of(place.id, device, rules=gates.taint_rules) if gates.device_taints else ()
            consumed = held.consumed.get(place.id)
            candidates.append(
                Candidate(
                    index=len(candidates),
                    id=place.id,
                    device=device,
                    slice=place.slice,
                    on_node=place.on_node,
                    shareable=bool(device.allow_multiple_allocations) and gates.consumable_capacity,
                    hidden=hidden,
                    counted=bool(uses),
                    blocked=held.exclusive.get(place.id, ""),
                    shared=place.id in held.shares,
                    consumed={key: to_nano(amount) for key, amount in consumed.items()} if consumed else _NOTHING,
                    taints=tuple(taint for taint in taints if taint.effect in _BLOCKING) if taints else (),
                )
            )
    known = known_classes(cluster) if classes is None else classes
    return NodeView(node_name, pools, tuple(candidates), held, cluster, known)


def check_supported(view: NodeView, claims: Sequence[ResourceClaim], release: KubernetesRelease) -> None:
    """Raise UnsupportedFeature where a gate that is on brings a rule that the search does not have.

    These are `derivedAttributes` (KEP-6080), `compatibilityGroups` (KEP-5963) and `nodeAllocatableResources`
    (KEP-5517); all three gates are off by default up to 1.37.
    """
    if release.enabled("DRADerivedAttributes"):
        for claim in claims:
            for request in claim.spec.devices.requests:
                parts = (*request.first_available, *((request.exactly,) if request.exactly else ()))
                if any(part.derived_attributes for part in parts):
                    raise _refusal("derivedAttributes", f"claim {claim.metadata.name}, request {request.name}", release)
    groups = release.enabled("DRADeviceCompatibilityGroups")
    allocatable = release.enabled("DRANodeAllocatableResources")
    for candidate in view.candidates if groups or allocatable else ():
        device = candidate.device
        if groups and any(use.compatibility_groups for use in device.consumes_counters):
            raise _refusal("compatibilityGroups", f"device {candidate.id}", release)
        if allocatable and (device.node_allocatable_resources or device.node_allocatable_resource_mappings):
            raise _refusal("nodeAllocatableResources", f"device {candidate.id}", release)


def _refusal(feature: str, where: str, release: KubernetesRelease) -> UnsupportedFeature:
    return UnsupportedFeature(
        feature,
        f"{where} uses {feature}, which dra-lab cannot simulate yet; remove the field, or plan for a release in "
        f"which the gate is off (now {release})",
    )
