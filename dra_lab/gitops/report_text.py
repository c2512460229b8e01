"""A review for people."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.findings import Severity, sentence_case
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Review
from dra_lab.gitops.workload_fit import short_of
from dra_lab.words.document import Detail, Lines, Part, Sentence, Words
from dra_lab.words.facts import counted, sentence
from dra_lab.words.plan_document import NAMES


def review_parts(review: Review, detail: Detail = "all") -> Iterator[Part]:
    """Yield the number of objects per outcome, what was checked, the workloads and objects, and the findings.

    The short form has the first workloads that fit, and leaves out the notes.
    """
    yield Sentence(last_line(review))
    if detail == "answer":
        return
    yield Words(heading(review))
    short, everything = short_of(review.together), detail == "all"
    fitting = [item for item in review.reviewed if item.fit is FitState.FITS and item.subject not in short]
    left = [] if everything else fitting[NAMES:]
    for item in review.reviewed:
        if item not in left:
            alone = " alone" if item.fit is FitState.FITS and item.subject in short else ""
            yield Lines(f"{item.subject}: {OUTCOME_WORDS[item.fit]}{alone}", [item.sentence])
    if left:
        yield Words(f"And {counted(len(left), 'workload')} more that fit.")
    answered = {item.origin.object for item in review.reviewed} | {item.sentence for item in review.reviewed}
    for checked in review.objects:
        if checked.outcome is not FitState.FITS and not {checked.object, checked.reason} & answered:
            reason = sentence(sentence_case(checked.reason))
            yield Lines(f"{checked.object}: {OUTCOME_WORDS[checked.outcome]}", [reason])
    yield Words(together_line(review))
    findings = [f for f in review.findings if everything or f.severity is not Severity.NOTE]
    yield Lines("Findings", [f"{finding} [dra-lab help {finding.rule}]" for finding in findings])
    if left or len(findings) < len(review.findings):
        yield Words("-v shows every workload and the notes.")


def heading(review: Review) -> str:
    """Return what was checked against what."""
    when = f", read {review.read_at}" if review.read_at else ""
    use = (review.unread or "devices in use counted") if review.in_use else "nothing in use"
    return f"{counted(len(review.files), 'file')} against {review.cluster}{when}, Kubernetes {review.release}, {use}"


def together_line(review: Review) -> str:
    """Return how many replicas of each workload fit at once, "" if that was not planned."""
    plan = review.together
    if plan is None:
        return ""
    placed = ", ".join(f"{plan.placed[w.name]} of {w.replicas} {w.name}" for w in plan.workloads)
    return f"all at once: {placed} ({'proven' if plan.proven else 'not proven'})"


def last_line(review: Review) -> str:
    """Return how many objects have each outcome."""
    others = f"{counted(review.others, 'object')} request{'s' if review.others == 1 else ''} no devices"
    if not review.objects:
        if review.errors:
            return f"Not valid: {counted(len(review.errors), 'error')}."
        return f"Nothing to check: {others}." if review.others else "Not checked: there is no object."
    counts = (
        f"{review.count(FitState.FITS)} valid and fitting",
        f"{review.count(FitState.DOES_NOT_FIT)} not valid or not fitting",
        f"{review.count(FitState.NOT_DECIDED, FitState.NOT_CHECKED)} not checked",
    )
    more = f"; {others}" if review.others else ""
    return f"{counted(len(review.objects), 'object')}: {', '.join(counts)}{more}."
