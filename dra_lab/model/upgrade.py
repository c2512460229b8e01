"""What an upgrade of Kubernetes changes: each answer that differs between two releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dra_lab.findings import Origin
from dra_lab.model.printing import printed


class Turn(StrEnum):
    """How an answer changes: what works stops, what did not work starts, or it works, or fails, in another way."""

    STOPS = "stops"
    CHANGES = "changes"
    STARTS = "starts"


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """One answer that differs between two releases.

    Args:
        turn: Whether what it is about stops to work, starts to work, or neither.
        kind: What it is about: `pool`, `slice`, `taint rule`, `selector`, `claim`, `pod`, `workload` or `object`.
        subject: Its name.
        before: The answer in the release where the upgrade starts.
        after: The answer in the other release.
        rule: The rule of the finding that one of the answers has, "" if none has one.
        since: The first release with the answer of `after`; "" if that was not found in time.
        gates: Feature gates whose defaults cause the change.
        source: Where the rule of Kubernetes is documented.
        advice: What to do; "" if nothing has to be done.
        origin: The place in a file; default None: it is an object of the cluster.

    Example:
        >>> from dra_lab.model.upgrade import ChangedAnswer, Turn
        >>> ChangedAnswer(Turn.STOPS, "pool", "gpu.example.com/a", "8 devices", "0 devices").turn.value
        'stops'
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


@dataclass(frozen=True)
class Upgrade:
    """The changes that an upgrade brings: answers in two releases, without those that are the same in both.

    Args:
        cluster: The name of the cluster.
        start: The release where the upgrade starts, with its gates.
        target: The release where it ends, with its gates.
        changes: The answers that differ: what stops to work first, then what changes, then what starts to work.
        compared: The numbers of things whose answers were compared, by their noun (`pool`).
        undecided: The names of what is not decided in one of the releases because time ended.

    Example:
        >>> import dra_lab
        >>> dra_lab.check(dra_lab.load_cluster("sample:two-sockets"), release="1.36.2", upgrade="1.36.3").changes
        ()
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

    def __str__(self) -> str:
        """Return the changes as a terminal shows them."""
        return printed(self)

    def __repr__(self) -> str:
        """Return the releases and the number of changes in a line."""
        return f"<Upgrade of {self.cluster!r}, {self.start} to {self.target}: {len(self.changes)} changes>"
