"""Results as text and as HTML, for `print`, terminals and notebooks; the values themselves know nothing of screens."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import Shortfall, Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.words.document import Lines, Part, Picture, Words, as_html, as_text, escaped

if TYPE_CHECKING:
    from dra_lab.model.gang_replay import GangReplay
    from dra_lab.model.gang_verdicts import GangVerdicts
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.model.pod_reason import Explanation, PodReason

SHOWN = (
    "dra_lab.findings.Finding",
    "dra_lab.model.cluster.Cluster",
    "dra_lab.model.headroom.LargestJob",
    "dra_lab.model.headroom.Headroom",
    "dra_lab.model.headroom.Stranded",
    "dra_lab.model.gang_replay.GangReplay",
    "dra_lab.model.gang_verdicts.GangVerdicts",
    "dra_lab.model.node_type.AddedNodes",
    "dra_lab.model.plan.Plan",
    "dra_lab.model.reasons.Shortfall",
    "dra_lab.model.reasons.Suggestion",
    "dra_lab.model.pod_reason.Explanation",
    "dra_lab.model.pod_reason.PodReason",
    "dra_lab.model.reasons.Reasons",
    "dra_lab.model.reasons.Relaxation",
    "dra_lab.model.regret.Regret",
    "dra_lab.model.sketch.ClaimSketch",
    "dra_lab.model.trace.Trace",
    "dra_lab.planner.scenarios.ScenarioAnswer",
)
"""The types of which `parts_of` returns a document."""


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
    match value:
        case Plan():
            return _plan(value, pictures=pictures)
        case Cluster():
            from dra_lab.words.cluster_document import cluster_parts

            return cluster_parts(value)
        case ClaimSketch():
            return [_sketch(value)]
        case Finding():
            return [Words(str(value))]
        case Shortfall() | Suggestion():
            return _advice(value)
    return _other(value)


def _plan(plan: Plan, *, pictures: bool) -> Iterable[Part]:
    from dra_lab.words.plan_document import NAMES, plan_parts

    known = next((known for known in _KNOWN if known.answer is plan), None)
    if known is None:
        return plan_parts(plan, names=NAMES)
    picture = _KNOWN[known](known.cluster, plan) if pictures else ""
    return plan_parts(plan, known.cluster, picture=picture, names=NAMES)


def _sketch(sketch: ClaimSketch) -> Part:
    """Return a sketch as its file contains it."""
    import msgspec

    from dra_lab.manifests.yaml_text import dump_yaml

    text = dump_yaml(msgspec.to_builtins(sketch))
    return Picture(f"<pre>{chr(10).join(map(escaped, text.splitlines()))}</pre>", text.rstrip())


def _advice(value: Shortfall | Suggestion) -> Iterable[Part]:
    from dra_lab.words.reason_words import shortfall_item, suggestion_item

    item = shortfall_item(value) if isinstance(value, Shortfall) else suggestion_item(value)
    return [Words(f"{item.text} {item.advice}".rstrip()), Lines("Selectors", item.code)]


def _other(value: object) -> Iterable[Part]:
    """Return the document of a reason, or of an answer about a fleet."""
    from dra_lab.model.gang_replay import GangReplay
    from dra_lab.model.gang_verdicts import GangVerdicts
    from dra_lab.model.headroom import Headroom, LargestJob, Stranded
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.model.pod_reason import Explanation, PodReason
    from dra_lab.model.reasons import Reasons, Relaxation
    from dra_lab.model.regret import Regret
    from dra_lab.model.trace import Trace
    from dra_lab.planner.scenarios import ScenarioAnswer
    from dra_lab.words import capacity_document
    from dra_lab.words.reason_words import one_regret_parts, reasons_parts, relaxation_words

    match value:
        case GangReplay() | GangVerdicts() | AddedNodes():
            return _gang(value)
        case Headroom():
            return capacity_document.headroom_parts(value)
        case LargestJob():
            return capacity_document.job_parts(value)
        case Stranded():
            return capacity_document.stranded_parts(value)
        case ScenarioAnswer():
            return capacity_document.scenario_parts(value)
        case Explanation() | PodReason():
            return _pods(value)
        case Reasons():
            return reasons_parts(value)
        case Relaxation():
            return [Words(relaxation_words(value))]
        case Regret():
            return one_regret_parts(value)
        case Trace():
            from dra_lab.words.trace_document import trace_parts

            return trace_parts(value)
    raise TypeError(f"{type(value).__name__} is not a result of dra_lab")


def _pods(value: Explanation | PodReason) -> Iterable[Part]:
    """Return the document of why pods are pending."""
    from dra_lab.model.pod_reason import PodReason
    from dra_lab.words.pod_reason_document import explanation_parts, reason_parts

    return reason_parts(value) if isinstance(value, PodReason) else explanation_parts(value)


def _gang(value: GangReplay | GangVerdicts | AddedNodes) -> Iterable[Part]:
    """Return the document of an answer about gangs."""
    from dra_lab.model.gang_replay import GangReplay
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.words import added_document, gang_document, gang_verdicts_document

    match value:
        case GangReplay():
            return gang_document.replay_parts(value)
        case AddedNodes():
            return added_document.added_parts(value)
    return gang_verdicts_document.verdict_parts(value)


def teach(shell: Any) -> None:
    """Teach an IPython shell to show results; no result's module is imported before there is one to show."""
    rich, plain = (shell.display_formatter.formatters[kind] for kind in ("text/html", "text/plain"))
    for name in SHOWN:
        module, _, kind = name.rpartition(".")
        rich.for_type_by_name(module, kind, in_html)
        plain.for_type_by_name(module, kind, lambda value, printer, _cycle: printer.text(in_words(value)))
