"""A review as Markdown, for the comment of a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.gitops.report_text import heading, last_line, together_line
from dra_lab.gitops.review import OUTCOME_WORDS, Review
from dra_lab.words.document import printable

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~"})


def review_markdown(review: Review) -> str:
    """Return the review as Markdown: the objects per outcome, a table of them, and the findings."""
    return "\n".join(_lines(review)) + "\n"


def _lines(review: Review) -> Iterator[str]:
    yield "### dra-lab check"
    yield ""
    yield f"**{_text(last_line(review))}**"
    yield ""
    yield _text(heading(review))
    if review.objects:
        yield ""
        yield "| object | outcome | reason |"
        yield "|---|---|---|"
        sentences = {item.origin.object: item.sentence for item in review.reviewed}
        for item in review.objects:
            reason = item.reason or sentences.get(item.object, "")
            yield f"| {_text(item.object)} | {OUTCOME_WORDS[item.outcome]} | {_text(reason)} |"
    if review.together is not None:
        yield ""
        yield _text(together_line(review))
    if review.findings:
        yield ""
        for finding in review.findings:
            yield f"- {_text(str(finding))}"


def _text(text: str) -> str:
    return printable(text).translate(_SPECIAL)
