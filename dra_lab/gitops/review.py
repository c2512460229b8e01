"""Manifests against a cluster: valid, matched, fitting, how often, how aligned: one value for every report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.plan import Plan


class FitState(StrEnum):
    """The outcome of a check: it is valid and fits, it does not, a search stopped before its end, or not checked."""

    FITS = "fits"
    DOES_NOT_FIT = "does-not-fit"
    NOT_DECIDED = "stopped"
    NOT_CHECKED = "not-checked"

    @property
    def is_open(self) -> bool:
        """Say whether it is neither known to fit nor known not to fit: reports count it as not checked."""
        return self in (FitState.NOT_DECIDED, FitState.NOT_CHECKED)


OUTCOME_WORDS = {
    FitState.FITS: "fits",
    FitState.DOES_NOT_FIT: "does not fit",
    FitState.NOT_DECIDED: "not decided",
    FitState.NOT_CHECKED: "not checked",
}


def worst(outcomes: Iterable[FitState]) -> FitState:
    """Return the outcome of several things together: one that does not fit decides, then one that is open."""
    found = set(outcomes)
    order = (FitState.DOES_NOT_FIT, FitState.NOT_CHECKED, FitState.NOT_DECIDED)
    return next((outcome for outcome in order if outcome in found), FitState.FITS)


@dataclass(frozen=True, slots=True)
class Checked:
    """One object that asks for devices, or is not valid, with its outcome; `reason` is "" for one that fits."""

    object: str
    outcome: FitState
    reason: str
    origin: Origin


@dataclass(frozen=True)
class Reviewed:
    """The findings for the pods of one workload, or for a claim that no workload uses.

    `wanted` is the number of requested replicas. `times` is how many fit, None if that is not known. `proven` says that
    no more fit, and `capped` that counting ended at a number that is not a bound (`fleet.MOST_COUNTED`). `plan` is the
    best allocation of one replica with what kube-scheduler would take, or the reasons; `sentence` says it all to a
    person.
    """

    subject: str
    origin: Origin
    fit: FitState
    sentence: str
    wanted: int = 1
    times: int | None = None
    proven: bool = False
    nodes: tuple[str, ...] = ()
    plan: Plan | None = None
    capped: bool = False


@dataclass(frozen=True)
class Review:
    """The answer of `dra-lab check`.

    `objects` are the objects that ask for devices, or are not valid, each with its outcome; `others` counts the valid
    objects that ask for no devices, which are nothing to check. `together` is the plan of all workloads at once, if
    there are several. `in_use` says whether devices in use were counted, and `unread` what is not known about them
    (`free_words.unread_words`). `findings` are sorted, errors first.
    """

    cluster: str
    release: str
    read_at: str = ""
    in_use: bool = False
    reviewed: tuple[Reviewed, ...] = ()
    together: Plan | None = None
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    unread: str = ""
    objects: tuple[Checked, ...] = ()
    others: int = 0

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings that make the manifests invalid."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def outcome(self) -> FitState:
        """Return the outcome of everything together; no object at all is not checked."""
        if self.errors:
            return FitState.DOES_NOT_FIT
        if not self.objects and not self.others:
            return FitState.NOT_CHECKED
        return worst([*(item.outcome for item in self.objects), *(item.fit for item in self.reviewed)])

    @property
    def valid(self) -> bool:
        """Say whether nothing is wrong and everything that asks for devices fits."""
        return self.outcome is FitState.FITS

    def count(self, *outcomes: FitState) -> int:
        """Return how many objects have one of these outcomes."""
        return sum(1 for item in self.objects if item.outcome in outcomes)
