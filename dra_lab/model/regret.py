"""Regret: how much worse kube-scheduler's first fit is than the best, goal by goal and as a range of bandwidth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace


class GoalRegret(Struct, frozen=True):
    """One goal that differs: the plan's value, kube-scheduler's, and how much worse that is (negative: better)."""

    goal: str
    best: int
    theirs: int

    @property
    def difference(self) -> int:
        """Return how much worse kube-scheduler is."""
        return self.theirs - self.best


class PathShare(Struct, frozen=True):
    """GPUs of an allocation that have their NIC on the same kind of path, and what that leaves of the bandwidth.

    `path` is a key of `topology.bandwidth.PATHS`, and `words` says it. `low` and `high` are ratios to the bandwidth
    that a GPU and its NIC reach on one PCIe root, None if nothing is known. `kind` is `reference` (that path itself,
    without `sources`), `measured` (published measurements), `yours` (by a person), `derived` or `unknown`. `sources`
    say where. `against` names published measurements outside the range, and what they measured.
    """

    path: str
    words: str
    gpus: int
    low: float | None
    high: float | None
    kind: str
    sources: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    note: str = ""


class Regret(Struct, frozen=True):
    """What the first fit costs on the plan's own node.

    `against` is `manifest` (kube-scheduler with the compiled manifest) or `plain` (counts and selectors only). `goals`
    are those that differ, in their order. `best` and `theirs` describe the paths from the GPUs to their NICs, () if the
    claim takes no GPUs or no NICs.
    """

    against: str
    goals: tuple[GoalRegret, ...] = ()
    best: tuple[PathShare, ...] = ()
    theirs: tuple[PathShare, ...] = ()

    @property
    def paths_differ(self) -> bool:
        """Say whether the GPUs reach their NICs in other ways than in the plan."""
        return self.best != self.theirs


REFERENCE, YOURS = "reference", "yours"
"""Kinds of a `PathShare`: the path that others are compared with, and a ratio that a person measured."""


def measured_path(regrets: Sequence[Regret]) -> str:
    """Return the worst known path that kube-scheduler without links allocates, which a person can measure; "" if none.

    Paths are in their order, the nearest first; the reference, and GPUs without a NIC, are not measured.
    """
    plain = next((regret.theirs for regret in regrets if regret.against == "plain"), ())
    known = [share.path for share in plain if share.kind != REFERENCE and share.path not in ("none", "unknown")]
    return known[-1] if known else ""


def with_measured(regrets: Sequence[Regret], measured: Mapping[str, tuple[float, float]]) -> tuple[Regret, ...]:
    """Return regrets with a person's own ratios for the paths of which they gave both numbers (with, without link)."""

    def own(shares: tuple[PathShare, ...]) -> tuple[PathShare, ...]:
        return tuple(_own(share, *measured[share.path]) if share.path in measured else share for share in shares)

    return tuple(replace(regret, best=own(regret.best), theirs=own(regret.theirs)) for regret in regrets)


def _own(share: PathShare, near: float, far: float) -> PathShare:
    ratio = round(far / near, 2)
    source = f"{far:g} without the link, {near:g} with it"
    note = "it is faster without the link; are the two numbers swapped?" if far > near else ""
    return replace(share, low=ratio, high=ratio, kind=YOURS, sources=(source,), against=(), note=note)
