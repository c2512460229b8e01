"""Why devices of a node are stranded, in words: the tests as bars, and what would make some of them usable."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet.why_stranded import WhyStranded
from dra_lab.words.document import clean
from dra_lab.words.drawing_words import nouns
from dra_lab.words.facts import KINDS
from dra_lab.words.why_not_document import TestBars, bars, link_bars


def stranded_bars(found: WhyStranded, cluster: Cluster, release: KubernetesRelease) -> Iterator[TestBars]:
    """Yield the tests of each request of which too few devices are left, and of the links that are in the way."""
    for claim, why in found.reasons:
        yield from (row for row in bars(why, nouns(claim, cluster, release)) if any(bar.short for bar in row.bars))
        if links := link_bars(why, claim):
            yield TestBars("Links", links, "links")


def stranded_lines(found: WhyStranded) -> Iterator[str]:
    """Yield what is stranded once the node is full, and what would make some of it usable."""
    kinds = [f"{kind.stranded:,} of {kind.free:,} free {KINDS[kind.kind]}" for kind in found.kinds if kind.stranded]
    if not kinds:
        return
    yield f"Once more pods fill this node, {' and '.join(kinds)} stay unused."
    leaving, relaxed = found.leaving, found.relaxed
    if leaving is not None:
        would = f"{leaving.after:,} {KINDS[leaving.kind]} would be stranded instead of {leaving.before:,}"
        yield clean(f"If {leaving.claim} left this node, {would}.")
    if relaxed is not None:
        yield clean(f"{relaxed.title}: one more pod then fits here.")
    if leaving is None and relaxed is None:
        yield "No single claim that leaves this node, and no weaker link, was found to free any of them."
