"""Plain callbacks by event name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

EVENTS = {
    "cluster": "the cluster, its what-if changes or its release changed",
    "sketch": "the drawing changed",
    "layout": "boxes were moved",
    "history": "there is another step to undo or redo",
    "status": "the devices that match each request were counted",
    "solving": "planning began",
    "progress": "planning, or the search of the manifest, went on",
    "plan": "there is an answer",
    "findings": "something else was noticed about cluster or manifest",
    "problem": "something went wrong",
    "ask": "the person is asked, or has answered",
    "highlight": "something else is highlighted",
    "following": "a running cluster is followed, lost, or no longer followed",
    "mode": "another mode is shown",
    "fleet": "the workloads or their answer changed",
    "fleet-progress": "planning the workloads went on",
    "fleet-why": "the reasons for stranded devices are known",
    "fleet-added": "nodes to add are sought or found",
    "export": "an export was opened, simulated, written or closed",
    "compare": "kept plans changed",
    "look": "a node or device is looked at",
    "show": "the picture shows another allocation",
    "copies": "copies were counted",
    "pending": "the reasons of pending pods are known",
}
"""The events of a session, and what has happened then."""


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
