"""What a topology file says of a node's devices in addition to its slices; kube-scheduler never sees any of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

LEVELS = ("switch", "pcieRoot", "numaNode", "socket")
"""The levels of which a file may give values, nearest first."""

DeviceKey = tuple[str, str]
"""(driver, device name): devices of equal nodes differ in their pool only."""


class FilePlace(Struct, frozen=True):
    """The value of a level and where it comes from: `file: dgx.xml:36, Bridge 0000:[2b-3b]`."""

    value: str | int
    source: str


class FilePlaces(Struct, frozen=True, eq=False):
    """What a file says of a node's devices.

    `source` names the file; `places` has places by level, used where the driver publishes none; `made` says where each
    attribute of the made slices comes from, by its full name. Equal nodes share one: two are equal only if they are the
    same object.
    """

    source: str
    places: Mapping[DeviceKey, Mapping[str, FilePlace]] = field(default_factory=dict)
    made: Mapping[DeviceKey, Mapping[str, str]] = field(default_factory=dict)
