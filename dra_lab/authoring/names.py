"""Names for what is written: numbered requests, alternatives, links; DNS labels, never twice, the same every time."""

from __future__ import annotations

from collections.abc import Iterable

_MOST = 63


class Names:
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


def _cut(text: str, most: int) -> str:
    return text[:most].rstrip("-") or "x"
