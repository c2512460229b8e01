"""Manifests against a cluster: valid, matched, fitting, how often, how aligned: one value for every report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan


class Fit(StrEnum):
    """Whether all wanted replicas fit: yes, no (both proven), or not decided."""

    FITS = "fits"
    DOES_NOT_FIT = "does-not-fit"
    NOT_DECIDED = "not-decided"


@dataclass(frozen=True)
class Reviewed:
    """What was found for the pods of one workload, or for a claim that no workload uses.

    `wanted` replicas are asked for; `times` is how many fit, None where that is not known; `proven` says that no more
    do. `plan` is the best allocation of one replica with what kube-scheduler would take, or the reasons; `sentence`
    says it all to a person.
    """

    subject: str
    origin: Origin
    fit: Fit
    sentence: str
    wanted: int = 1
    times: int | None = None
    proven: bool = False
    nodes: tuple[str, ...] = ()
    plan: Plan | None = None


@dataclass(frozen=True)
class Review:
    """The answer of `dra-lab check`.

    `together` is the plan of all workloads at once, where there are several; `in_use` says whether devices in use were
    counted, `unread` what is not known of them (`free_words.unread_words`); `findings` are sorted, errors first.
    """

    cluster: str
    release: str
    read_at: str = ""
    in_use: bool = False
    reviewed: tuple[Reviewed, ...] = ()
    together: FleetPlan | None = None
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    unread: str = ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings that make the manifests invalid."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def valid(self) -> bool:
        """Say whether nothing is wrong and everything fits."""
        return not self.errors and all(item.fit is Fit.FITS for item in self.reviewed)

    @property
    def decided(self) -> bool:
        """Say whether every question was answered."""
        return all(item.fit is not Fit.NOT_DECIDED for item in self.reviewed)
