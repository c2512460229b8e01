"""A review for people."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.exports.sentences import printable
from dra_lab.gitops.review import Fit, Review
from dra_lab.pictures.words import counted

_WORDS = {Fit.FITS: "fits", Fit.DOES_NOT_FIT: "does not fit", Fit.NOT_DECIDED: "not decided"}


def review_text(review: Review) -> str:
    """Return the review as text: what was held against what, each workload, the findings, a verdict."""
    return "\n".join(printable(line) for line in _lines(review)) + "\n"


def _lines(review: Review) -> Iterator[str]:
    when = f", read {review.read_at}" if review.read_at else ""
    use = (review.unread or "devices in use counted") if review.in_use else "nothing in use"
    yield f"{counted(len(review.files), 'file')} against {review.cluster}{when}, Kubernetes {review.release}, {use}"
    for item in review.reviewed:
        yield ""
        yield f"{item.subject}: {_WORDS[item.fit]}"
        yield f"  {item.sentence}"
    if review.together is not None:
        yield ""
        placed = ", ".join(
            f"{review.together.placed[w.name]} of {w.replicas} {w.name}" for w in review.together.workloads
        )
        proof = "proven" if review.together.proven else "not proven"
        yield f"all at once: {placed} ({proof})"
    if review.findings:
        yield ""
        for finding in review.findings:
            yield str(finding)
    yield ""
    errors = len(review.errors)
    if review.valid:
        yield "Valid, and everything fits."
    elif not review.decided and not errors:
        yield "Not everything could be decided."
    else:
        misfits = sum(1 for item in review.reviewed if item.fit is Fit.DOES_NOT_FIT)
        yield f"Not valid or not fitting: {counted(errors, 'error')}, {counted(misfits, 'workload')} without a place."
