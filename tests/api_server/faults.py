"""What may go wrong between a client and the server, asked for by a test."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Fault:
    """Goes wrong for the next `times` requests whose path and query hold `match`.

    `status` answers with that code, `headers` and `reason` in the Status object. `garbage` answers 200 with this body.
    `cut` sends this many bytes of the answer and closes. `stall` sends half of it and waits until the server closes.
    `silent` sends nothing, not even headers, until the server closes or `go_on` of Faults is set. `ends` begins a watch
    and ends it in order, without an event.
    """

    match: str
    times: int = 1
    status: int = 0
    reason: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    garbage: bytes | None = None
    cut: int | None = None
    stall: bool = False
    silent: bool = False
    ends: bool = False


class Faults:
    """The faults to come, in order."""

    def __init__(self) -> None:
        """Begin without faults."""
        self._faults: list[Fault] = []
        self.go_on = threading.Event()
        self.waiting = threading.Semaphore(0)
        self._lock = threading.Lock()

    def add(self, match: str, **what: object) -> None:
        """Ask for a fault."""
        with self._lock:
            self._faults.append(Fault(match, **what))

    def take(self, target: str) -> Fault | None:
        """Return the fault of a request, which then counts."""
        with self._lock:
            for fault in self._faults:
                if fault.times and fault.match in target:
                    fault.times -= 1
                    return fault
        return None

    def clear(self) -> None:
        """Let everything go well again."""
        with self._lock:
            self._faults.clear()
