"""How far a device comes with an ask, and what keeps an ask for all devices from being served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from dra_lab.index.pools import Pool
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import Ask


class Stage(IntEnum):
    """The tests that a device passes before an ask may take it, in the order in which they are told to people."""

    CLASS = 0
    SELECTOR = 1
    TAINT = 2
    IN_USE = 3
    CAPACITY = 4
    FREE = 5


def why_not_all(
    ask: Ask,
    stages: Mapping[DeviceID, Stage],
    listed: Sequence[DeviceID],
    errors: Sequence[tuple[DeviceID, str, str]],
    pools: Sequence[Pool],
) -> str:
    """Return why an ask with `allocationMode` All cannot be served (docs/semantics.md 3.6), "" where nothing is known.

    `listed` are the devices that All means, `errors` those on which a selector fails.
    """
    if not ask.all_devices:
        return ""
    broken = next((pool for pool in pools if pool.invalid or not pool.complete), None)
    if broken is not None:
        why = broken.invalid or "not all of its slices are there"
        name = f"{broken.driver}/{broken.name}"
        return f"pool {name} is not complete ({why}), and a request for all devices needs every pool"
    if errors:
        return f"a selector fails on {errors[0][0]}, and a request for all devices looks at every device"
    if not listed:
        return "no device matches, and a request for all devices needs at least one"
    stuck = next((device for device in listed if stages[device] is not Stage.FREE), None)
    if stuck is not None:
        words = {Stage.TAINT: "tainted", Stage.IN_USE: "in use"}.get(stages[stuck], "short of capacity")
        return f"{stuck} is {words}, and a request for all devices needs every one of the {len(listed)} that match"
    return ""
