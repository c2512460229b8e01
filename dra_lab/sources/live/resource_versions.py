"""Resource versions: opaque text, but decimal numbers that grow where Kubernetes itself made them (KEP-5504)."""

from __future__ import annotations

from dra_lab.model.numbers import whole_number

_LONGEST = 40


def number_of(version: str) -> int | None:
    """Return a resource version as a number, None where it is none."""
    found = whole_number(version) if len(version) <= _LONGEST else None
    return found if found is None or found >= 0 else None


def went_back(version: str, known: str) -> bool:
    """Say whether a version is lower than one that the server gave before."""
    new, old = number_of(version), number_of(known)
    return new is not None and old is not None and new < old
