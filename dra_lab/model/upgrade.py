"""What an upgrade of Kubernetes changes: each answer that differs between two releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dra_lab.findings import Origin
from dra_lab.printing import Shown


class Turn(StrEnum):
    """How an answer changes: what works stops, what did not work starts, or it works, or fails, in another way."""

    STOPS = "stops"
    CHANGES = "changes"
    STARTS = "starts"


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """One answer that differs between two releases, and the rule, release and feature gates that cause it.

    `kind` is `pool`, `slice`, `taint rule`, `selector`, `claim`, `pod`, `workload` or `object`. `rule` is that of
    the finding that one of the answers has. `since` is the first release with the answer of `after`, "" if that was
    not found in time. `source` is where the rule of Kubernetes is documented. `origin` is None for an object of the
    cluster.
    """

    turn: Turn
    kind: str
    subject: str
    before: str
    after: str
    rule: str = ""
    since: str = ""
    gates: tuple[str, ...] = ()
    source: str = ""
    advice: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, repr=False)
class Upgrade(Shown):
    """The answers that an upgrade changes: what stops to work first, then what changes, then what starts to work.

    `start` and `target` are releases with their gates. `compared` has the numbers of things whose answers were
    compared, by their noun (`pool`), and `undecided` the names of what is not decided in one of the releases
    because time ended.
    """

    cluster: str
    start: str
    target: str
    changes: tuple[ChangedAnswer, ...] = ()
    compared: Mapping[str, int] = ()  # type: ignore[assignment]
    undecided: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """Return "does-not-fit" if something stops to work, else "stopped" if something is undecided, else "fits"."""
        if any(change.turn is Turn.STOPS for change in self.changes):
            return "does-not-fit"
        return "stopped" if self.undecided else "fits"

    def __repr__(self) -> str:
        """Return the releases and the number of changes in a line."""
        return f"<Upgrade of {self.cluster!r}, {self.start} to {self.target}: {len(self.changes)} changes>"
