"""Why candidates were rejected: a bounded list, in the order in which the search met them."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from dra_lab.model.names import DeviceID


class Check(StrEnum):
    """The tests that a candidate goes through, in the allocator's order (docs/semantics.md 3.5.1 to 3.5.12)."""

    IN_USE = "in-use"
    GATE = "gate"
    CLASS = "class"
    SELECTOR = "selector"
    NODE = "node"
    CAPACITY = "capacity"
    COUNTERS = "counters"
    TAINT = "taint"
    CONSTRAINT = "constraint"
    LIMIT = "limit"


class Rejection(Struct, frozen=True):
    """One candidate that was turned down: for which claim and request (`request` or `request/subrequest`), and why."""

    claim: str
    request: str
    device: DeviceID
    check: Check
    detail: str = ""

    def __str__(self) -> str:
        """Return one line for a terminal."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.claim} {self.request}: {self.device}: {self.check}{detail}"


class Trace:
    """Keeps the first `size` rejections and counts the rest in `dropped`."""

    __slots__ = ("dropped", "rejections", "size")

    def __init__(self, size: int) -> None:
        """Keep at most `size` rejections; 0 keeps none."""
        self.size = size
        self.dropped = 0
        self.rejections: list[Rejection] = []

    def add(self, rejection: Rejection) -> None:
        """Keep a rejection, or count it when the list is full."""
        if len(self.rejections) < self.size:
            self.rejections.append(rejection)
        else:
            self.dropped += 1
