"""The nearest PCIe switch of each device, from the bridges above it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence


def nearest_switches(devices: Sequence[tuple[str, Sequence[str]]]) -> Mapping[str, str]:
    """Return, by address, the nearest bridge below the root port that holds another device as well.

    `devices` are (address, addresses of the bridges above it, from the root port down). A bridge that holds the
    functions of one card only is part of that card and no switch to anybody else; neither is a root port.
    """
    below: dict[str, set[str]] = defaultdict(set)
    for address, bridges in devices:
        for bridge in bridges[1:]:
            below[bridge].add(address.rpartition(".")[0])
    found = {}
    for address, bridges in devices:
        shared = next((bridge for bridge in reversed(bridges[1:]) if len(below[bridge]) > 1), None)
        if shared is not None:
            found[address] = shared
    return found
