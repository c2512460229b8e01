"""Identities and names of the API: DeviceID, qualified names, references to requests."""

from __future__ import annotations

import re
from typing import NamedTuple

STANDARD_DOMAIN = "resource.kubernetes.io"
PCIE_ROOT = f"{STANDARD_DOMAIN}/pcieRoot"
NUMA_NODE = f"{STANDARD_DOMAIN}/numaNode"

MARK = ":"
"""Stands between the name of a claim and that of its request where several claims are one drawing."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")


class DeviceID(NamedTuple):
    """The key of a device everywhere, as in the structured allocator; printed `driver/pool/device`.

    Example:
        >>> from dra_lab import DeviceID
        >>> DeviceID.parse("gpu.nvidia.com/lab-1/gpu-0").device
        'gpu-0'
    """

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        """Return `driver/pool/device`."""
        return f"{self.driver}/{self.pool}/{self.device}"

    @classmethod
    def parse(cls, text: str) -> DeviceID:
        """Read `driver/pool/device`; a pool name may contain slashes.

        Args:
            text: The printed key.

        Returns:
            The key.

        Raises:
            ValueError: The text has fewer than three parts.
        """
        driver, _, rest = text.partition("/")
        pool, _, device = rest.rpartition("/")
        if not (driver and pool and device):
            raise ValueError(f"{text!r} is not driver/pool/device")
        return cls(driver, pool, device)


def is_label(name: str) -> bool:
    """Say whether a name is a DNS-1123 label of at most 63 characters (request, device and counter names)."""
    return len(name) <= 63 and _LABEL.match(name) is not None


def split_qualified(name: str, driver: str) -> tuple[str, str]:
    """Split an attribute or capacity key into (domain, identifier); a bare key belongs to the driver's domain."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def full_name(name: str, driver: str) -> str:
    """Return the fully qualified form `domain/identifier` of an attribute or capacity key."""
    return name if "/" in name else f"{driver}/{name}"


def split_request(reference: str) -> tuple[str, str]:
    """Split `request` or `request/subrequest` into (request, subrequest or "")."""
    request, _, subrequest = reference.partition("/")
    return request, subrequest


def part_of(reference: str) -> tuple[str, str]:
    """Return (claim, reference in that claim) of a joined reference; the claim is "" where nothing was joined."""
    part, mark, rest = reference.partition(MARK)
    return (part, rest) if mark else ("", reference)
