"""Two reviews of the same files, before and after: what is new, what is gone, and what became of each claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.review import Checked, FitState, Review, Reviewed
from dra_lab.model.plan import Plan

_RANK = {FitState.FITS: 0, FitState.NOT_DECIDED: 1, FitState.NOT_CHECKED: 1, FitState.DOES_NOT_FIT: 2}


class ComparedState(Struct, frozen=True):
    """A workload or claim on one side: whether it fits, how often, on how many nodes, and its best allocation."""

    fit: FitState
    sentence: str
    times: int | None = None
    capped: bool = False
    nodes: int = 0
    plan: Plan | None = None

    def order(self, *, same_claim: bool) -> tuple[int, tuple[int, ...], int]:
        """Return what makes one state worse than another: the outcome, and of the same claim its goals and number."""
        if not same_claim:
            return _RANK[self.fit], (), 0
        goals = tuple(goal.value for goal in self.plan.goals) if self.plan is not None and self.plan.fits else ()
        return _RANK[self.fit], goals, -(self.times or 0)


class Change(Struct, frozen=True):
    """A workload or claim before and after; None where it is not there."""

    subject: str
    before: ComparedState | None
    after: ComparedState | None

    @property
    def word(self) -> str:
        """Return what became of it: new, removed, worse, better, changed, or "" for the same."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "removed"
        drawn = [None if one.plan is None else one.plan.sketch for one in (self.before, self.after)]
        same = drawn[0] == drawn[1]
        before, after = (one.order(same_claim=same) for one in (self.before, self.after))
        if before != after:
            return "worse" if after > before else "better"
        devices = [None if one.plan is None else one.plan.placements for one in (self.before, self.after)]
        return "" if same and devices[0] == devices[1] else "changed"

    @property
    def newly_open(self) -> FitState:
        """Return the outcome if it is worse than before, else that it fits: what was so before is not new."""
        if self.after is None or (self.before is not None and _RANK[self.before.fit] >= _RANK[self.after.fit]):
            return FitState.FITS
        return self.after.fit


class Comparison(Struct, frozen=True):
    """What changed since a revision: `new` and `gone` findings, and every workload and claim of both sides."""

    since: str
    review: Review
    changes: tuple[Change, ...]
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]

    @property
    def outcome(self) -> FitState:
        """Return the outcome of what is new: an error or a claim that fitted before decides, then one left open."""
        found = {change.newly_open for change in self.changes}
        if any(f.severity is Severity.ERROR for f in self.new):
            found.add(FitState.DOES_NOT_FIT)
        return max(found, key=_RANK.__getitem__, default=FitState.FITS)

    @property
    def new_only(self) -> Review:
        """Return the review without the findings and failing objects that were there before."""
        worse = {change.subject for change in self.changes if change.newly_open is not FitState.FITS}
        objects = tuple(o for o in self.review.objects if o.outcome is FitState.FITS or o.object in worse)
        reviewed = tuple(r for r in self.review.reviewed if r.fit is FitState.FITS or r.subject in worse)
        return replace(self.review, findings=self.new, objects=objects, reviewed=reviewed)


def compare_reviews(before: Review, after: Review, since: str) -> Comparison:
    """Return what changed from one review to another. Files that were renamed are the same if their objects are."""
    left, right = dict(_states(before)), dict(_states(after))
    subjects = dict.fromkeys((*right, *left))
    changes = (Change(key[0], left.get(key), right.get(key)) for key in subjects)
    telling = tuple(change for change in changes if any(one and one.sentence for one in (change.before, change.after)))
    new, gone = _left(after.findings, before.findings), _left(before.findings, after.findings)
    return Comparison(since, after, telling, new, gone)


def _left(findings: Sequence[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that the others lack; a line that moved is the same finding."""
    known = Counter(map(_key, others))
    found = []
    for finding in findings:
        key = _key(finding)
        if known[key]:
            known[key] -= 1
        else:
            found.append(finding)
    return tuple(found)


def _key(finding: Finding) -> tuple[str, ...]:
    origin = finding.origin
    return finding.rule, finding.severity, finding.subject, finding.message, origin.object if origin else ""


def _states(review: Review) -> Iterator[tuple[tuple[str, int], ComparedState]]:
    """Yield the workloads and claims with an answer, then the other objects; equal names are numbered."""
    seen: Counter[str] = Counter()
    sentences = {item.sentence for item in review.reviewed}
    rows: list[Reviewed | Checked] = [*review.reviewed]
    names = {item.subject for item in review.reviewed} | {item.origin.object for item in review.reviewed}
    rows += [o for o in review.objects if o.object not in names and o.reason not in sentences]
    for row in rows:
        if isinstance(row, Reviewed):
            name = row.subject
            state = ComparedState(row.fit, row.sentence, row.times, row.capped, len(row.nodes), row.plan)
        else:
            name, state = row.object, ComparedState(row.outcome, row.reason)
        seen[name] += 1
        yield (name, seen[name]), state
