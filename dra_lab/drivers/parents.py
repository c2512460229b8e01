"""The physical device that a partition is a part of, where the partition publishes it."""

from __future__ import annotations

from dra_lab.drivers.profiles import Lookup

PARENTS = ("parentUUID", "parentPciAddr")
"""The attributes that name it: NVIDIA's driver for MIG (mig.go), older slices of AMD's."""


def parent_of(driver: str, lookup: Lookup) -> str:
    """Return the identity of the physical device that a partition names, "" for what is no partition."""
    return next((str(value) for name in PARENTS if (value := lookup(f"{driver}/{name}")) not in (None, "")), "")
