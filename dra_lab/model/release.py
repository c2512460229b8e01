"""Kubernetes releases and their DRA feature gates (defaults of 1.34 to 1.37; docs/semantics.md 1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_lab.errors import InputError
from dra_lab.model.numbers import whole_number

RELEASES = ("1.34", "1.35", "1.36", "1.37")
DEFAULT_RELEASE = "1.36"

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
)
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
}
"""The first release that has a gate, where that is not 1.34 (docs/semantics.md 1.2)."""
LIST_ATTRIBUTES = "DRAListTypeAttributes"
"""The gate of list-typed attributes (KEP-5491): the API server keeps a list only where it is on."""


def has_gate(version: str, gate: str) -> bool:
    """Say whether a release has a feature gate of DRA, on or off."""
    return RELEASES.index(version) >= RELEASES.index(_COMES_WITH.get(gate, RELEASES[0]))


@dataclass(frozen=True)
class KubernetesRelease:
    """A release such as `1.36` with its default feature gates, some of them overridden by name in `gates`.

    Raises InputError for a release outside 1.34 to 1.37 and for a gate that the release does not have: its API server
    and kube-scheduler would not start with it.

    Example:
        >>> from dra_lab import KubernetesRelease
        >>> KubernetesRelease("1.36").enabled("DRAConsumableCapacity")
        True
    """

    version: str = DEFAULT_RELEASE
    gates: Mapping[str, bool] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is not known, by name."""
        if self.version not in RELEASES:
            raise InputError(f"Kubernetes release {self.version!r} is not known; use one of {', '.join(RELEASES)}")
        for gate in self.gates:
            if gate not in GATES:
                from difflib import get_close_matches

                near = get_close_matches(gate, GATES, 1)
                advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(GATES))}"
                raise InputError(f"feature gate {gate!r} is not a feature gate of DRA; {advice}")
            if not has_gate(self.version, gate):
                message = f"Kubernetes {self.version} has no feature gate {gate}, so kube-scheduler does not start"
                raise InputError(f"{message}. Leave it out, or choose release {_COMES_WITH[gate]} or later")

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

    def is_at_least(self, version: str) -> bool:
        """Return whether this is the release `version` or a later one.

        Args:
            version: A release such as "1.36".

        Returns:
            True if it is.

        Raises:
            ValueError: The release is unknown.
        """
        return RELEASES.index(self.version) >= RELEASES.index(version)

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


def release_of_kubelet(versions: tuple[str, ...]) -> str:
    """Return the known release of the lowest kubelet version (`v1.36.2`), or the default when there is none.

    Versions below 1.34 count as 1.34 and versions above the newest known release as that release.
    """
    minors = []
    for version in versions:
        parts = version.lstrip("v").split(".")
        minor = whole_number(parts[1]) if len(parts) >= 2 and parts[0] == "1" else None
        if minor is not None and minor >= 0:
            minors.append(minor)
    if not minors:
        return DEFAULT_RELEASE
    lowest = min(max(min(minors), int(RELEASES[0].split(".")[1])), int(RELEASES[-1].split(".")[1]))
    return f"1.{lowest}"
