"""A review for people."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.gitops.fits import short_of
from dra_lab.gitops.review import OUTCOME_WORDS, Fit, Review
from dra_lab.words.document import printable
from dra_lab.words.facts import counted, sentence


def review_text(review: Review) -> str:
    """Return the review as text: what was checked, each workload, the findings, the objects per outcome."""
    return "\n".join(printable(line) for line in _lines(review)) + "\n"


def _lines(review: Review) -> Iterator[str]:
    yield heading(review)
    short = short_of(review.together)
    for item in review.reviewed:
        alone = " alone" if item.fit is Fit.FITS and item.subject in short else ""
        yield ""
        yield f"{item.subject}: {OUTCOME_WORDS[item.fit]}{alone}"
        yield f"  {item.sentence}"
    answered = {item.origin.object for item in review.reviewed if item.fit.is_open}
    for checked in review.objects:
        if checked.outcome.is_open and checked.object not in answered:
            yield ""
            yield f"{checked.object}: {OUTCOME_WORDS[checked.outcome]}"
            yield f"  {sentence(checked.reason[:1].upper() + checked.reason[1:])}"
    if review.together is not None:
        yield ""
        yield together_line(review)
    if review.findings:
        yield ""
        for finding in review.findings:
            yield str(finding)
    yield ""
    yield last_line(review)


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
    others = f"{counted(review.others, 'object')} ask{'s' if review.others == 1 else ''} for no devices"
    if not review.objects:
        if review.errors:
            return f"Not valid: {counted(len(review.errors), 'error')}."
        return f"Nothing to check: {others}." if review.others else "Not checked: there is no object."
    counts = (
        f"{review.count(Fit.FITS)} valid and fitting",
        f"{review.count(Fit.DOES_NOT_FIT)} not valid or not fitting",
        f"{review.count(Fit.NOT_DECIDED, Fit.NOT_CHECKED)} not checked",
    )
    more = f"; {others}" if review.others else ""
    return f"{counted(len(review.objects), 'object')}: {', '.join(counts)}{more}."
