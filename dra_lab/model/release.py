"""Kubernetes releases, their DRA feature gates, and what they change in kube-scheduler's search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from dra_lab.errors import InputError
from dra_lab.model.quantity import whole_number

RELEASES = ("1.34", "1.35", "1.36.2", "1.36.3", "1.37.0", "1.37.1", "1.38")
"""The releases whose rules differ. A patch level between two of them has the rules of the one before it."""

MINORS = tuple(dict.fromkeys(".".join(release.split(".")[:2]) for release in RELEASES))
"""The minor releases; each means its newest patch level."""

DEFAULT_RELEASE = "1.36.3"

ALPHA = "1.38"
"""The release that is not final: v1.38.0-alpha.2 is its newest version. Its row has the rules that it is to have."""

NEWEST_FINAL = next(release for release in reversed(RELEASES) if release != ALPHA)


def shown_release(release: str) -> str:
    """Return a release or a minor release as people read it: `1.38 (alpha)`."""
    return f"{release} (alpha)" if release == ALPHA else release


def shown_since(release: str) -> str:
    """Return the first release of a rule as people read it: a minor release begins with its first row of RELEASES."""
    minor = ".".join(release.split(".")[:2])
    first = next((one for one in RELEASES if f"{one}.".startswith(f"{minor}.")), "")
    return shown_release(minor if release == first else release)


SHOWN_RELEASES = tuple((release, shown_release(release)) for release in RELEASES)
"""The releases and their names in menus."""

_SINCE: dict[str, str] = {
    "DynamicResourceAllocation": "1.34",
    "DRAAdminAccess": "1.34",
    "DRAPrioritizedList": "1.34",
    "DRAResourceClaimDeviceStatus": "1.34",
    "DRASchedulerFilterTimeout": "1.34",
    "DRAPartitionableDevices": "1.36",
    "DRADeviceTaints": "1.36",
    "DRAConsumableCapacity": "1.36",
    "DRADeviceBindingConditions": "1.36",
    "DRAExtendedResource": "1.36",
    "DRADeviceTaintRules": "1.37",
    "DRAFractionalCapacityRange": "1.37",
    "DRADeviceAttributesDownwardAPI": "1.37",
    "OpportunisticBatching": "1.35",
}
_OFF = (
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAResourcePoolStatus",
    "DRAWorkloadResourceClaims",
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevicesType",
    "SchedulerPreQueueingHints",
    "CompositePodGroup",
    "PodGroupPreemptionPolicy",
)
SILENT = (
    "DRADeviceAttributesDownwardAPI",
    "OpportunisticBatching",
    "SchedulerPreQueueingHints",
    "CompositePodGroup",
    "PodGroupPreemptionPolicy",
)
"""The gates that change no answer here (docs/semantics.md 1.2.5)."""
GATES = (*_SINCE, *_OFF)
_COMES_WITH: dict[str, str] = {
    "DRADeviceTaintRules": "1.35",
    "DRAListTypeAttributes": "1.36",
    "DRANodeAllocatableResources": "1.36",
    "DRAResourcePoolStatus": "1.36",
    "DRAWorkloadResourceClaims": "1.36",
    "DRAFractionalCapacityRange": "1.37",
    "DRADerivedAttributes": "1.37",
    "DRADeviceCompatibilityGroups": "1.37",
    "DRAOptionalNodeOperations": "1.37",
    "DRAPartitionableDevicesType": "1.37",
    "DRADeviceAttributesDownwardAPI": "1.36",
    "OpportunisticBatching": "1.35",
    "SchedulerPreQueueingHints": "1.37",
    "CompositePodGroup": "1.37",
    "PodGroupPreemptionPolicy": "1.37",
}
"""The first release that has a gate, where that is not 1.34 (docs/semantics.md 1.2)."""
_GONE: dict[str, str] = {"DynamicResourceAllocation": "1.38"}
"""The first release without a gate: what it was for is always on."""

LOCKED = (
    "DRAAdminAccess",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
    "DRAExtendedResource",
    "DRADeviceTaints",
    "DRADeviceTaintRules",
)
"""The gates that are locked on in 1.38 (docs/semantics.md 1.2.4). Recorded cases turn off locked ones of older ones."""
LIST_ATTRIBUTES = "DRAListTypeAttributes"
"""The gate of list-typed attributes (KEP-5491): the API server keeps a list only where it is on."""


class CountedRules(StrEnum):
    """The DeviceTaintRules that count: none, those with a `deviceSelector`, or also those without, for all devices."""

    NONE = ""
    SELECTING = "selecting"
    EVERY = "every"


def has_gate(version: str, gate: str) -> bool:
    """Say whether a release has a feature gate of DRA, on or off."""
    return at_least(version, _COMES_WITH.get(gate, RELEASES[0])) and not (
        gate in _GONE and at_least(version, _GONE[gate])
    )


def can_set(version: str, gate: str, *, on: bool) -> bool:
    """Say whether the components of a release start with a feature gate set on or off."""
    return has_gate(version, gate) and (on or gate not in LOCKED or not at_least(version, ALPHA))


def at_least(version: str, since: str) -> bool:
    """Say whether a release of RELEASES is `since` or later; a minor release begins with its first patch level."""
    return RELEASES.index(version) >= next(at for at, one in enumerate(RELEASES) if f"{one}.".startswith(f"{since}."))


def known_release(version: str) -> str:
    """Return the release of RELEASES with the rules of a version such as `1.36`, `1.36.5` or `v1.36.2-eks-1`.

    It is "" for what is no version, and for a minor release before the first or after the last.
    """
    parts = version.removeprefix("v").replace("-", ".").replace("+", ".").split(".")
    minor, patch = ".".join(parts[:2]), whole_number(parts[2]) if len(parts) > 2 else None
    rows = [release for release in RELEASES if f"{release}.".startswith(f"{minor}.")] if len(parts) > 1 else []
    if len(parts) > 2 and patch is None:
        return ""
    if patch is None:
        return rows[-1] if rows else ""
    until = [row for row in rows if int(row.removeprefix(minor).lstrip(".") or 0) <= patch]
    return (until or rows[:1] or [""])[-1]


@dataclass(frozen=True)
class KubernetesRelease:
    """A release such as `1.36.3` with its default feature gates, some of them overridden by name in `gates`.

    `1.36` means its newest patch level, and a patch level has the rules of the last one in RELEASES before it.
    Raises InputError for a release outside 1.34 to 1.38 (alpha), and for a gate that the release does not have or has
    locked: its API server and kube-scheduler would not start with it.

    Example:
        >>> from dra_lab import KubernetesRelease
        >>> KubernetesRelease("1.36").enabled("DRAConsumableCapacity")
        True
        >>> KubernetesRelease("1.36").version
        '1.36.3'
    """

    version: str = DEFAULT_RELEASE
    gates: Mapping[str, bool] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is not known, by name."""
        known = known_release(self.version)
        if not known:
            raise InputError(
                f"Kubernetes release {self.version!r} is not known; use one of {', '.join(map(shown_release, MINORS))}"
            )
        object.__setattr__(self, "version", known)
        for gate in self.gates:
            if gate not in GATES:
                from difflib import get_close_matches

                near = get_close_matches(gate, GATES, 1)
                advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(GATES))}"
                raise InputError(f"feature gate {gate!r} is not a feature gate of DRA; {advice}")
            self._check_gate(gate)

    def _check_gate(self, gate: str) -> None:
        """Refuse a gate with which kube-scheduler of this release does not start."""
        version, then = shown_release(self.version), "so kube-scheduler does not start. Leave it out"
        if gate in _GONE and not has_gate(self.version, gate):
            raise InputError(f"Kubernetes {version} no longer has the feature gate {gate}, {then}: it is always on")
        if not has_gate(self.version, gate):
            later = f"choose release {_COMES_WITH[gate]} or later"
            raise InputError(f"Kubernetes {version} has no feature gate {gate}, {then}, or {later}")
        if not can_set(self.version, gate, on=self.gates[gate]):
            raise InputError(f"Kubernetes {version} locks the feature gate {gate} to true, {then}")

    def enabled(self, gate: str) -> bool:
        """Return whether a feature gate is on: the override if there is one, else the release's default.

        Args:
            gate: The name of the gate, such as `DRAConsumableCapacity`.

        Returns:
            True if it is on; False for an unknown gate.
        """
        if gate in self.gates:
            return self.gates[gate]
        since = _SINCE.get(gate)
        return since is not None and self.is_at_least(since)

    def needs(self, gate: str) -> str:
        """Return that something needs a gate that is off: `needs the feature gate X, which is off in 1.34`."""
        return f"needs the feature gate {gate}, which is off in {self.version}"

    def turn_on(self, gate: str) -> str:
        """Return what to do about a gate that is off."""
        comes, since = _COMES_WITH.get(gate, RELEASES[0]), _SINCE.get(gate, "")
        if not has_gate(self.version, gate):
            return f"Plan for {since or comes} or later" + ("." if since else f", with --feature-gates {gate}=true.")
        later = f", or plan for {since} or later" if since and not self.is_at_least(since) else ""
        return f"Turn it on with --feature-gates {gate}=true{later}."

    def is_at_least(self, version: str) -> bool:
        """Return whether this is the release `version` or a later one.

        Args:
            version: A release such as "1.36.3", or "1.36" for its first patch level.

        Returns:
            True if it is.

        Raises:
            ValueError: The release is unknown.
        """
        return at_least(self.version, version)

    @property
    def minor(self) -> str:
        """Return the minor release, such as `1.36`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def counted_rules(self) -> CountedRules:
        """Say which DeviceTaintRules count (docs/semantics.md 1.9.3, 1.9.4)."""
        if not self.enabled("DRADeviceTaintRules"):
            return CountedRules.NONE
        return CountedRules.SELECTING if self.is_at_least("1.37.1") else CountedRules.EVERY

    @property
    def reads_lists(self) -> bool:
        """Say whether stored selectors see list-typed attributes: with the gate, and always from 1.37 (#139395)."""
        return self.enabled(LIST_ATTRIBUTES) or self.is_at_least("1.37")

    @property
    def matches_lists(self) -> bool:
        """Say whether constraints compare list-typed attributes by common values.

        They do with the gate from 1.37 on: the scheduler of 1.36 never passes the gate on (docs/semantics.md 3.9.12).
        """
        return self.enabled(LIST_ATTRIBUTES) and self.is_at_least("1.37")

    def __str__(self) -> str:
        """Return the version, with the overridden gates when there are any."""
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in sorted(self.gates.items()))
        return f"{self.version} ({gates})" if gates else self.version


def release_of(given: KubernetesRelease | str | None, default: str, *, lists: bool = False) -> KubernetesRelease:
    """Return a release as it was given, or by its version (`"1.36"`); that of `default` where none was given.

    `lists` says that a slice shows a list-typed attribute, which proves that LIST_ATTRIBUTES is on where the release
    has it; a gate that was given by name stays as it was given. Raises InputError for a version that is not known, and
    for what is no version.
    """
    if given is not None and not isinstance(given, KubernetesRelease | str):
        raise InputError(f"a release is a version such as {DEFAULT_RELEASE!r} or a KubernetesRelease, not {given!r}")
    found = given if isinstance(given, KubernetesRelease) else KubernetesRelease(default if given is None else given)
    if lists and LIST_ATTRIBUTES not in found.gates and has_gate(found.version, LIST_ATTRIBUTES):
        return KubernetesRelease(found.version, {**found.gates, LIST_ATTRIBUTES: True})
    return found


def read_gates(text: str) -> dict[str, bool]:
    """Return the gates of `A=true,B=false`, as Kubernetes writes them. Raises InputError for another form."""
    gates = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if value not in ("true", "false"):
            raise InputError(f"feature gate {part!r}: write NAME=true or NAME=false")
        gates[name] = value == "true"
    return gates


def release_of_text(text: str) -> KubernetesRelease:
    """Return the release that `str` of one gave, `1.36 (A=true,B=false)`. Raises InputError."""
    version, _, gates = text.partition(" (")
    return KubernetesRelease(version, read_gates(gates.removesuffix(")")))


def release_of_cluster(server: str, kubelets: Iterable[str]) -> str:
    """Return the known release of an API server's version (`v1.36.2`), else of the lowest kubelet, else the default.

    Minor releases below the first known count as the first, and those above the last known as the last.
    """
    found = [numbers for version in ([server] if server else kubelets) if (numbers := _numbers(version)) is not None]
    if not found:
        return DEFAULT_RELEASE
    minor, patch = min(found)
    first, last = (int(one.split(".")[1]) for one in (MINORS[0], MINORS[-1]))
    if not first <= minor <= last:
        return RELEASES[0] if minor < first else RELEASES[-1]
    return known_release(f"1.{minor}.{patch}")


def _numbers(version: str) -> tuple[int, int] | None:
    """Return the minor release and the patch level of `v1.36.2`, None for anything else."""
    parts = version.removeprefix("v").replace("-", ".").replace("+", ".").split(".")
    minor = whole_number(parts[1]) if len(parts) >= 2 and parts[0] == "1" else None
    patch = whole_number(parts[2]) if len(parts) > 2 else 0
    return None if minor is None or minor < 0 else (minor, max(patch or 0, 0))


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
    `from_1_38` means: All with a broken pool fails one node (3.6.10). Slices that contradict each other make a pool
    invalid (3.2.18). A device with shares is not taken alone (3.11.13). A capacity is found with and without the domain
    of its driver (3.11.14).
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
    from_1_38: bool


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
        from_1_38=release.is_at_least("1.38"),
    )
