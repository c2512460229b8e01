"""Does a device match a request: decided once for each kind of device, if the request reads nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dra_lab.cel.matching import ERROR, Matching
from dra_lab.index.device_kinds import DeviceKind, keys_read
from dra_lab.model.sketch import Ask


def decided_by_kind(matching: Matching, ask: Ask, driver: str) -> bool:
    """Say whether an ask has the same answer for all devices of a kind; the message of an error may differ."""
    if matching.alike(ask, driver):
        return True
    read = matching.keys_read(ask, driver)
    return read is not None and read <= keys_read(driver)


def stages_of_kinds(matching: Matching, ask: Ask, kinds: Iterable[DeviceKind]) -> Mapping[int, str]:
    """Return how far devices come with an ask (`Match.stage`) by the number of their kind, if the kind decides that."""
    decided: dict[str, bool] = {}
    found: dict[int, str] = {}
    for kind in kinds:
        if kind.driver not in decided:
            decided[kind.driver] = decided_by_kind(matching, ask, kind.driver)
        if decided[kind.driver]:
            stage = matching.match(ask, kind.driver, kind.example).stage
            if stage != ERROR:
                found[kind.number] = stage
    return found
