"""Work: what is known once every node is decided, from which the answer is put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_lab.authoring.expand import Expansion
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan, Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.plan_findings import claim_findings
from dra_lab.planner.scan import Scan

if TYPE_CHECKING:
    from dra_lab.planner.choose import Choice


class Work(Struct, frozen=True):
    """What is known once every node is decided; `cluster` is as it was given, `plan` what holds for every answer.

    `exact` says that the claim was given as a ResourceClaim: no request of it is split, also where a change is tried.
    """

    cluster: Cluster
    plan: Plan
    scan: Scan
    expansion: Expansion
    order: tuple[str, ...]
    budget: Budget
    solver: str
    choice: Choice
    exact: bool = False

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing as it was given."""
        return self.plan.sketch

    @property
    def several(self) -> bool:
        """Say whether several claims were planned together: then the drawing is the planner's own."""
        return bool(self.plan.claims)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what holds whatever the answer is, run-time errors of selectors first."""
        return (*claim_findings(self.scan), *self.plan.findings)

    def suggestions(self) -> tuple[Suggestion, ...]:
        """Return what could be drawn instead, not tried yet; of several claims, with all of them as one drawing."""
        from dra_lab.authoring.suggestions import suggest

        # Counts of nodes in a suggestion are exact where every node is looked at; a large cluster has no time for that.
        few = len(self.scan.cluster.node_names) <= self.budget.sizes.explained
        nodes = self.scan.rules.nodes if few else tuple(equal.nodes[0] for equal in self.scan.classes)
        return suggest(self.scan.cluster, self.scan.sketch, self.scan.release, nodes=nodes)

    def offered(self, suggestions: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        """Return suggestions as they are told: those for several claims cannot be applied to any one drawing."""
        if not self.several:
            return tuple(suggestions)
        return tuple(Suggestion(s.title, s.detail, s.source, s.selectors) for s in suggestions)


def once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings, errors first, one for each rule and subject; what the planner itself says comes first."""
    first: dict[tuple[str, str, object], Finding] = {}
    for finding in findings:
        first.setdefault((finding.rule, finding.subject, finding.origin), finding)
    return sort_findings(first.values())
