"""Kubernetes releases and their DRA feature gates (defaults of 1.34 to 1.37; dra-semantics 1.2, kube_features.go)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_lab.errors import InputError

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


@dataclass(frozen=True)
class KubernetesRelease:
    """A release such as `1.36` with its default feature gates, some of them overridden by name in `gates`.

    Raises InputError for a release outside 1.34 to 1.37 and for an unknown gate.
    """

    version: str = DEFAULT_RELEASE
    gates: Mapping[str, bool] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is not known, by name."""
        if self.version not in RELEASES:
            raise InputError(f"Kubernetes release {self.version!r} is not known; use one of {', '.join(RELEASES)}")
        for gate in self.gates:
            if gate not in GATES:
                raise InputError(f"feature gate {gate!r} is not one of DRA's; known: {', '.join(sorted(GATES))}")

    def enabled(self, gate: str) -> bool:
        """Say whether a feature gate is on: the override if there is one, else the release's default."""
        if gate in self.gates:
            return self.gates[gate]
        since = _SINCE.get(gate)
        return since is not None and RELEASES.index(self.version) >= RELEASES.index(since)

    def __str__(self) -> str:
        """Return the version, with the overridden gates when there are any."""
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in sorted(self.gates.items()))
        return f"{self.version} ({gates})" if gates else self.version


def release_of(given: KubernetesRelease | str | None, default: str) -> KubernetesRelease:
    """Return a release as it was given, or by its version (`"1.36"`); that of `default` where none was given.

    Raises InputError for a version that is not known, and for what is no version.
    """
    if isinstance(given, KubernetesRelease):
        return given
    if given is not None and not isinstance(given, str):
        raise InputError(f"a release is a version such as {DEFAULT_RELEASE!r} or a KubernetesRelease, not {given!r}")
    return KubernetesRelease(default if given is None else given)


def release_of_kubelet(versions: tuple[str, ...]) -> str:
    """Return the known release of the lowest kubelet version (`v1.36.2`), or the default when there is none.

    Versions below 1.34 count as 1.34 and versions above the newest known release as that release.
    """
    minors = []
    for version in versions:
        parts = version.lstrip("v").split(".")
        if len(parts) >= 2 and parts[0] == "1" and parts[1].isdigit():
            minors.append(int(parts[1]))
    if not minors:
        return DEFAULT_RELEASE
    lowest = min(max(min(minors), int(RELEASES[0].split(".")[1])), int(RELEASES[-1].split(".")[1]))
    return f"1.{lowest}"
