"""Progress: what a solve reports while it runs."""

from __future__ import annotations

from msgspec import Struct


class Progress(Struct, frozen=True):
    """One step of a solve: `stage` is "nodes", a goal or "first fit"; `text` says it to a person.

    `best` is the best value found, `bound` the best that could still exist; None while unknown.
    """

    stage: str
    text: str
    best: int | None = None
    bound: int | None = None
