"""The differences of releases in the search: feature gates, and whether the known defects of 1.36 are reproduced."""

from __future__ import annotations

from msgspec import Struct

from dra_lab.model.release import CountedRules, KubernetesRelease

RECORDED_RELEASES = ("1.36.2", "1.36.3")
"""The releases whose allocators were recorded; verdicts of all others come from documentation."""

RECORDED_RELEASE = RECORDED_RELEASES[0]
"""The release that the recorded cases expect."""


class Gates(Struct, frozen=True):
    """The feature gates that the structured allocator is handed, by subject.

    `list_attributes` says whether constraints compare lists, `list_selectors` whether selectors see them.
    `skip_groups` passes over devices with compatibilityGroups, as 1.37 does while the gate of these is off.
    `leaks` is True up to 1.36.2 and means: what a rejected or undone candidate booked stays booked
    (docs/semantics.md 3.10.8). `defects` is True up to 1.36 and means: counters are keyed by pool name alone.
    `distinctAttribute` remembers one device a request (3.9.18). List intersections are not
    restored (3.9.22). All drops devices without remaining capacity (3.6.5) and keeps its notes on one that turns out
    full. Configurations are repeated (3.16.3; see also 3 and 5.2).
    """

    prioritized_list: bool
    admin_access: bool
    consumable_capacity: bool
    device_taints: bool
    taint_rules: CountedRules
    partitionable_devices: bool
    binding_conditions: bool
    list_attributes: bool
    list_selectors: bool
    fractional_range: bool
    skip_groups: bool
    defects: bool
    leaks: bool


def gates_of(release: KubernetesRelease, *, list_attributes: bool | None = None) -> Gates:
    """Return the gates that a release's scheduler hands to its allocator.

    Up to 1.36 the scheduler never passes DRAListTypeAttributes on (docs/semantics.md 3.9.12); `list_attributes`
    overrides this for verdicts of the allocator alone.
    """
    defects = not release.is_at_least("1.37")
    lists = release.matches_lists if list_attributes is None else list_attributes
    taints = release.enabled("DRADeviceTaints")
    return Gates(
        prioritized_list=release.enabled("DRAPrioritizedList"),
        admin_access=release.enabled("DRAAdminAccess"),
        consumable_capacity=release.enabled("DRAConsumableCapacity"),
        device_taints=taints,
        taint_rules=release.counted_rules if taints else CountedRules.NONE,
        partitionable_devices=release.enabled("DRAPartitionableDevices"),
        binding_conditions=release.enabled("DRADeviceBindingConditions"),
        list_attributes=lists,
        list_selectors=release.reads_lists,
        fractional_range=release.enabled("DRAFractionalCapacityRange"),
        skip_groups=not (defects or release.enabled("DRADeviceCompatibilityGroups")),
        defects=defects,
        leaks=not release.is_at_least("1.36.3"),
    )
