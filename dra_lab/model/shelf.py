"""What rooms work out from a cluster and keep with it, and what of an earlier snapshot may be taken over."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dra_lab.model.slices import ResourceSlice

T = TypeVar("T")
Earlier = tuple[T, "Change"]
"""What was worked out before a change, and the change."""

_MOST_STEPS = 3
"""Snapshots for which something stays on the shelf that nobody asks for: a node that went is never asked for again."""


@dataclass(frozen=True, eq=False)
class Change:
    """What is different between two snapshots of a cluster that is followed, as far as devices and places go.

    `gone` and `come` are ResourceSlices (one that is published anew is in both, as it was and as it is); `nodes` are
    the names of nodes that came, went, or have other labels or another overlay. `known` is where rooms remember what it
    comes to in the cluster that it ends in (which nodes see it, what they see now); `steps` is how many snapshots it is
    about.
    """

    gone: tuple[ResourceSlice, ...] = ()
    come: tuple[ResourceSlice, ...] = ()
    nodes: frozenset[str] = frozenset()
    known: dict[str, Any] = field(default_factory=dict)
    steps: int = 1

    def then(self, later: Change) -> Change:
        """Return the difference that both make, one after the other."""
        came, went = {id(s) for s in self.come}, {id(s) for s in later.gone}
        return Change(
            (*self.gone, *(s for s in later.gone if id(s) not in came)),
            (*(s for s in self.come if id(s) not in went), *later.come),
            self.nodes | later.nodes,
            steps=self.steps + later.steps,
        )

    def find(self, key: str, make: Callable[[], T]) -> T:
        """Return what is known of it, else what `make` makes."""
        if key not in self.known:
            self.known[key] = make()
        found: T = self.known[key]
        return found


class Shelf(dict[Hashable, Any]):
    """What was worked out, by key; `earlier` has what stood there before slices or labels of some nodes changed.

    Who does not `find` a key takes over what holds for the nodes that see no difference. As soon as anything is put,
    what stood there before is let go: of a large cluster it takes as much memory once more.
    """

    def __init__(self) -> None:
        """Begin empty, after nothing."""
        super().__init__()
        self._earlier: dict[Hashable, tuple[Any, Change]] = {}

    def __setitem__(self, key: Hashable, value: Any) -> None:
        """Put something here, and let go of what stood there before."""
        super().__setitem__(key, value)
        self._earlier.pop(key, None)

    def setdefault(self, key: Hashable, default: Any = None) -> Any:
        """Return what stands here, else put it here; of two threads that come at once, both get one."""
        found = super().setdefault(key, default)
        self._earlier.pop(key, None)
        return found

    def find(self, key: Hashable, make: Callable[[tuple[Any, Change] | None], T]) -> T:
        """Return what stands here, else put what `make` makes of `earlier`; two threads that come at once get one."""
        found: T | None = self.get(key)
        return self.setdefault(key, make(self.earlier(key))) if found is None else found

    def earlier(self, key: Hashable) -> tuple[Any, Change] | None:
        """Return what stood there before, and what has changed since; None where nothing did."""
        return self._earlier.get(key)

    def after(self, change: Change) -> Shelf:
        """Return an empty shelf for the cluster after a change, which can look at this one.

        This one does not look at its own predecessor any more: else each snapshot kept all before it.
        """
        made, before = Shelf(), self._earlier
        self._earlier = {}
        both: dict[int, Change] = {}
        for key, (value, old) in before.items():
            if key not in self and old.steps < _MOST_STEPS:
                whole = both.get(id(old))
                if whole is None:
                    whole = both[id(old)] = old.then(change)
                made._earlier[key] = value, whole
        # another thread may write meanwhile
        made._earlier.update((key, (value, change)) for key, value in tuple(self.items()))
        return made


def slices_changed(
    before: Iterable[ResourceSlice], after: Iterable[ResourceSlice]
) -> tuple[tuple[ResourceSlice, ...], tuple[ResourceSlice, ...]]:
    """Return the slices that went and those that came; the same object is the same slice."""
    if before is after:
        return (), ()
    old, new = {id(s): s for s in before}, {id(s): s for s in after}
    return (
        tuple(s for key, s in old.items() if key not in new),
        tuple(s for key, s in new.items() if key not in old),
    )
