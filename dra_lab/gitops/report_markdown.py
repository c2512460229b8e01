"""A review as Markdown, for the comment of a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.gitops.report_text import heading, last_line, together_line
from dra_lab.gitops.review import OUTCOME_WORDS, Review
from dra_lab.words.document import Lines, Part, Sentence, Table, Words, as_markdown


def review_markdown(review: Review) -> str:
    """Return the review as Markdown: the objects per outcome, a table of them, and the findings."""
    return f"### dra-lab check\n\n{as_markdown(_parts(review))}\n"


def _parts(review: Review) -> Iterator[Part]:
    yield Sentence(last_line(review))
    yield Words(heading(review))
    sentences = {item.origin.object: item.sentence for item in review.reviewed}
    rows = [
        (item.object, OUTCOME_WORDS[item.outcome], item.reason or sentences.get(item.object, ""))
        for item in review.objects
    ]
    yield Table(("object", "outcome", "reason"), rows)
    yield Words(together_line(review))
    yield Lines("", [str(finding) for finding in review.findings])
