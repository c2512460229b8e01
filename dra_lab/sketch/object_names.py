"""Names for what is written: numbered requests, alternatives, links; DNS labels, never twice, the same every time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dra_lab.model.sketch import ClaimSketch

_MOST = 63
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_OTHER = re.compile(r"[^a-z0-9]+")


class ObjectNames:
    """Hands out DNS labels that are not taken yet; `taken` are the names that a person chose."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Begin with the names that are taken."""
        self._taken = set(taken)

    def series(self, base: str, count: int) -> tuple[str, ...]:
        """Return `base-0`, `base-1`, ...; a longer base (`base-n`) where one of them is taken."""
        width = len(str(count - 1)) + 1
        stem = _cut(base, _MOST - width)
        while any(f"{stem}-{index}" in self._taken for index in range(count)):
            stem = _cut(stem, _MOST - width - 2) + "-n"
        names = tuple(f"{stem}-{index}" for index in range(count))
        self._taken.update(names)
        return names

    def one(self, wanted: str) -> str:
        """Return the name itself, or the first of `name-1`, `name-2`, ... that is not taken."""
        name, number = _cut(wanted, _MOST), 0
        while name in self._taken:
            number += 1
            name = f"{_cut(wanted, _MOST - len(str(number)) - 1)}-{number}"
        self._taken.add(name)
        return name


def is_subdomain(name: str) -> bool:
    """Say whether a name is a DNS subdomain of at most 253 characters, as names of objects must be."""
    return len(name) <= 253 and _SUBDOMAIN.match(name) is not None


def object_name(text: str) -> str:
    """Return a name for objects and label values made from any text: a DNS label, the text itself where it is one."""
    return _cut(_OTHER.sub("-", text.lower()).strip("-"), _MOST) if text else "claim"


def claim_objects(sketch: ClaimSketch, name: str = "") -> tuple[str, ...]:
    """Return the name of the template of each claim of a drawing: `pod-claim`, of a single claim the drawing's name.

    `name` is used in place of the drawing's.
    """
    own = name or sketch.name
    if not sketch.claims:
        return (object_name(own),)
    names = ObjectNames()
    inside = (claim == own or claim.startswith(f"{own}-") for claim in sketch.claims)
    wanted = (claim if whole else f"{own}-{claim}" for claim, whole in zip(sketch.claims, inside, strict=True))
    return tuple(names.one(object_name(one)) for one in wanted)


def _cut(text: str, most: int) -> str:
    return text[:most].rstrip("-") or "x"
