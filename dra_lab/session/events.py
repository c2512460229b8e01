"""Plain callbacks by event name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

EVENTS = (
    "cluster",
    "sketch",
    "layout",
    "history",
    "status",
    "solving",
    "progress",
    "plan",
    "findings",
    "problem",
    "ask",
    "highlight",
    "following",
    "mode",
    "fleet",
    "fleet-progress",
    "fleet-why",
    "fleet-added",
    "export",
    "compare",
    "look",
    "show",
    "copies",
    "pending",
)
"""The events of a session.

The cluster or drawing changed, matches were counted, a solve began, went on, or ended, or the manifest was searched.
Something went wrong, the person is asked, or something is highlighted. The running cluster is followed, lost or no
longer followed. Another mode is shown, the fleet or its answer changed, its solve went on, the reasons for stranded
devices are known, or nodes to add are sought or found. An export was opened, simulated, written or closed, kept plans
changed, a node or device is looked at, the picture shows another allocation, copies were counted,
or the reasons of pending pods are known.
"""


class Events:
    """Callbacks by event. `post` decides in which thread they run: it is given a function to call there."""

    def __init__(self) -> None:
        """Begin without callbacks; they run where they are emitted."""
        self._callbacks: dict[str, list[Callable[[], None]]] = defaultdict(list)
        self.post: Callable[[Callable[[], None]], None] = lambda call: call()

    def on(self, event: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each event of that name; returns a function that ends it. Raises KeyError."""
        if event not in EVENTS:
            raise KeyError(f"{event!r} is not an event of a session; events: {', '.join(EVENTS)}")
        self._callbacks[event].append(callback)

        def off() -> None:
            if callback in self._callbacks[event]:
                self._callbacks[event].remove(callback)

        return off

    def emit(self, *events: str) -> None:
        """Run the callbacks of the events, in order, each through `post`: an event loop gets air between them."""
        for event in events:
            for callback in tuple(self._callbacks[event]):
                self.post(partial(self._run, event, callback))

    def _run(self, event: str, callback: Callable[[], None]) -> None:
        if callback in self._callbacks[event]:
            callback()
