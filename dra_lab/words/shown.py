"""Results as text and as HTML, for `print`, terminals and notebooks; the values themselves know nothing of screens."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import GangReplay, GangVerdicts
from dra_lab.model.headroom import Headroom, LargestJob, Stranded
from dra_lab.model.node_type import AddedNodes
from dra_lab.model.placement import Regret
from dra_lab.model.plan import Plan
from dra_lab.model.pod_reason import Explanation, PodReason
from dra_lab.model.reasons import Reasons, Relaxation, Shortfall, Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.trace import Trace
from dra_lab.model.upgrade import Upgrade
from dra_lab.words.document import Item, Lines, Part, Picture, Sentence, Words, as_html, as_text, escaped


class AnsweredSession(Protocol):
    """A cluster with its answer, such as a session."""

    @property
    def cluster(self) -> Cluster:
        """The cluster."""

    @property
    def answer(self) -> Plan | None:
        """The latest plan for it."""


_KNOWN: weakref.WeakKeyDictionary[AnsweredSession, Callable[[Cluster, Plan], str]] = weakref.WeakKeyDictionary()


def show_with_picture(known: AnsweredSession, draw: Callable[[Cluster, Plan], str]) -> None:
    """Show the answer of a session with the models and places of its devices and a picture, which a plan has not."""
    _KNOWN[known] = draw


def in_words(value: object) -> str:
    """Return a result as plain text, as a terminal shows it; `str` of a plan or a cluster is the same."""
    return as_text(parts_of(value))


def in_html(value: object) -> str:
    """Return a result as HTML without scripts."""
    return as_html(parts_of(value, pictures=True))


def parts_of(value: object, *, pictures: bool = False) -> Iterable[Part]:
    """Return the document of a result, with pictures where a cluster is known."""
    if isinstance(value, Plan):
        return _plan(value, pictures=pictures)
    document = _documents().get(type(value))
    if document is None:
        raise TypeError(f"{type(value).__name__} is not a result of dra_lab")
    return document(value)


def _documents() -> Mapping[type, Callable[[Any], Iterable[Part]]]:
    """Return what makes the document of each type but a plan."""
    from dra_lab.planner.scenarios import ScenarioAnswer
    from dra_lab.words import capacity_document, cluster_document, explain_document, reason_words, workload_words
    from dra_lab.words.answer_sentence import answer_sentence
    from dra_lab.words.capacity_document import stranded_sentence as lost_words
    from dra_lab.words.trace_words import trace_parts
    from dra_lab.words.upgrade_document import upgrade_parts

    return {
        Cluster: cluster_document.cluster_parts,
        ClaimSketch: _sketch,
        Finding: lambda finding: [Words(str(finding))],
        Shortfall: lambda shortfall: _advice(reason_words.shortfall_item(shortfall)),
        Suggestion: lambda suggestion: _advice(reason_words.suggestion_item(suggestion)),
        Reasons: reason_words.reasons_parts,
        Relaxation: lambda change: [Words(reason_words.relaxation_words(change))],
        Regret: reason_words.one_regret_parts,
        Headroom: capacity_document.headroom_parts,
        LargestJob: lambda job: [Sentence(f"{capacity_document.job_sentence(job)}.")],
        Stranded: lambda lost: [Sentence(lost_words(lost)), capacity_document.stranded_table(lost)],
        ScenarioAnswer: lambda one: [
            Sentence(f"{one.scenario}: {answer_sentence(one.plan) if one.plan else f'not answered: {one.error}'}")
        ],
        AddedNodes: capacity_document.added_parts,
        GangReplay: workload_words.replay_parts,
        GangVerdicts: workload_words.verdict_parts,
        Explanation: explain_document.explanation_parts,
        PodReason: explain_document.reason_parts,
        Trace: trace_parts,
        Upgrade: upgrade_parts,
    }


def _plan(plan: Plan, *, pictures: bool) -> Iterable[Part]:
    from dra_lab.words.plan_document import NAMES, plan_parts

    known = next((known for known in _KNOWN if known.answer is plan), None)
    if known is None:
        return plan_parts(plan, names=NAMES)
    picture = _KNOWN[known](known.cluster, plan) if pictures else ""
    return plan_parts(plan, known.cluster, picture=picture, names=NAMES)


def _sketch(sketch: ClaimSketch) -> Iterable[Part]:
    from dra_lab.manifests.yaml_text import dump_yaml

    text = dump_yaml(msgspec.to_builtins(sketch))
    return [Picture(f"<pre>{chr(10).join(map(escaped, text.splitlines()))}</pre>", text.rstrip())]


def _advice(item: Item) -> Iterable[Part]:
    return [Words(f"{item.text} {item.advice}".rstrip()), Lines("Selectors", item.code)]
