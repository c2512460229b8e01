"""Rich displays of results, registered with IPython by type; the values themselves know nothing of screens."""

from __future__ import annotations

import html
import weakref
from collections.abc import Iterator

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session
from dra_lab.widgets.plan_values import GoalRow
from dra_lab.widgets.result_parts import Lines, Part, Picture, Sentence, Table, Words, as_html, as_text

_NAMES = 8
"""Nodes that serve a claim alike and are named: `plan.fitting_nodes` and `plan.node_classes` have all of them."""

_SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()


def register_displays(session: Session | None = None) -> None:
    """Teach the running IPython, if any, to show a Plan, a Cluster and a sketch; doing it again changes nothing.

    A plan does not hold its cluster: the answer of a `session` that is given here is shown with its picture.
    """
    if session is not None:
        _SESSIONS.add(session)
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    rich, plain = (shell.display_formatter.formatters[kind] for kind in ("text/html", "text/plain"))
    rich.for_type(Plan, plan_html)
    rich.for_type(Cluster, cluster_html)
    plain.for_type(Plan, lambda plan, printer, _cycle: printer.text(plan_words(plan)))
    plain.for_type(Cluster, lambda cluster, printer, _cycle: printer.text(cluster_words(cluster)))
    rich.for_type(ClaimSketch, sketch_html)
    plain.for_type(ClaimSketch, lambda sketch, printer, _cycle: printer.text(sketch_words(sketch)))


def plan_words(plan: Plan) -> str:
    """Return a plan as plain text; models and places of its devices stand in it where its cluster is at hand."""
    from dra_lab.exports.text import plan_text

    cluster = _cluster_of(plan)
    return plan_text(plan, cluster, names=_NAMES).rstrip("\n") if cluster is not None else as_text(_plan(plan))


def cluster_words(cluster: Cluster) -> str:
    """Return what is in a cluster as plain text: one line, a row for each kind of device, the fabric, findings."""
    return as_text(_cluster(cluster))


def _summary(cluster: Cluster, release: KubernetesRelease) -> str:
    from dra_lab.session.summary import summary

    return f"{cluster.name or 'cluster'}: {summary(cluster, release)}"


def sketch_words(sketch: ClaimSketch) -> str:
    """Return a sketch as it stands in the file of a drawing."""
    import msgspec

    from dra_lab.exports.sentences import printable
    from dra_lab.manifests.yaml_text import dump_yaml

    text = dump_yaml(msgspec.to_builtins(sketch))
    return "\n".join(map(printable, text.splitlines()))


def sketch_html(sketch: ClaimSketch) -> str:
    """Return a sketch as it stands in the file of a drawing, as HTML."""
    return f"<pre>{html.escape(sketch_words(sketch))}</pre>"


def _span(smallest: int, largest: int) -> str:
    return f"{smallest}" if smallest == largest else f"{smallest} to {largest}"


def _cluster_of(plan: Plan) -> Cluster | None:
    return next((session.cluster for session in _SESSIONS if session.answer is plan), None)


def _picture(plan: Plan) -> str:
    from dra_lab.pictures.hardware import hardware_svg

    cluster = _cluster_of(plan)
    if cluster is None or plan.node not in cluster.node_by_name:
        return ""
    try:
        return hardware_svg(cluster, plan.node, plan=plan)
    except DraLabError as error:
        return f"<p>{html.escape(str(error))}</p>"


def plan_html(plan: Plan) -> str:
    """Return a plan as HTML without scripts: sentence, picture, goals beside kube-scheduler's, reasons, suggestions."""
    return as_html(_plan(plan))


def _plan(plan: Plan) -> Iterator[Part]:
    from dra_lab.exports.sentences import answer_sentence
    from dra_lab.pictures.reason_words import conflict_lines, regret_lines, relaxation_lines, scarcity_lines
    from dra_lab.widgets.answer_rows import goal_rows, reason_rows, suggestion_rows

    yield Sentence(answer_sentence(plan))
    yield Picture(_picture(plan))
    yield _devices(plan)
    goals = [(row.label, str(row.best), _proof(row), row.manifest, row.plain) for row in goal_rows(plan)]
    yield Table(("goal", "best", "proof", "kube-scheduler with this manifest", "without links"), goals)
    yield Lines("Bandwidth from GPUs to NICs", [*regret_lines(plan)])
    yield Lines("Reasons", [_joined(row.message, row.advice) for row in reason_rows(plan)])
    yield Lines("What is in the way", [*scarcity_lines(plan), *conflict_lines(plan)])
    yield Lines("Relaxations, each tried alone", [*relaxation_lines(plan)])
    yield Lines("What would help", [_joined(row.title, row.detail) for row in suggestion_rows(plan)])
    yield Lines("Findings", [str(finding) for finding in plan.findings])


def _proof(row: GoalRow) -> str:
    if row.proven:
        return "proven"
    return "not proven" if row.bound is None else f"bound {row.bound:,}"


def _devices(plan: Plan) -> Table:
    """Return which devices are taken, and how much of those that are shared."""
    takes = [", ".join(f"{key} {amount}" for key, amount in place.consumed.items()) for place in plan.placements]
    rows = [(place.reference, str(place.device)) for place in plan.placements]
    title = f"Devices on {plan.node}"
    if not any(takes):
        return Table(("request", "device"), rows, title)
    return Table(("request", "device", "takes"), [(*row, taken) for row, taken in zip(rows, takes, strict=True)], title)


def cluster_html(cluster: Cluster) -> str:
    """Return what is in a cluster as HTML: one line, a row for each kind of device, the fabric, how many findings."""
    return as_html(_cluster(cluster))


def _cluster(cluster: Cluster) -> Iterator[Part]:
    from dra_lab.checks.cluster import check_cluster
    from dra_lab.pictures.words import counted
    from dra_lab.widgets.cluster_rows import counts

    release = cluster.target_release()
    found = counts((*cluster.findings, *check_cluster(cluster)))
    yield Sentence(_summary(cluster, release))
    yield Table(("driver", "kind", "model", "devices", "free"), _driver_rows(cluster, release))
    yield from _fabric(cluster)
    words = f"{counted(found.error, 'error')}, {counted(found.warning, 'warning')}, {counted(found.note, 'note')}"
    yield Words(f"Kubernetes {release.version}; findings: {words}")


def _fabric(cluster: Cluster) -> Iterator[Part]:
    """Yield the levels of the fabric as a table and what contradicts in it; nothing where nothing is known."""
    from dra_lab.topology.fabric import fabric_rows, fabric_tree, fabric_words

    tree = fabric_tree(cluster)
    if not tree.levels:
        return
    rows = [
        (row.level, row.label, row.writer, row.places, _span(row.smallest, row.largest), row.without)
        for row in fabric_rows(tree)
    ]
    yield Words(f"Fabric: {fabric_words(tree)}")
    yield Table(("fabric", "label", "written by", "places", "nodes in each", "nodes without"), rows)
    yield Lines("Fabric findings", [str(finding) for finding in tree.findings])


def _driver_rows(cluster: Cluster, release: KubernetesRelease) -> list[tuple[str, ...]]:
    from dra_lab.authoring.candidates import all_devices, kind_of, lookup_of
    from dra_lab.authoring.device_use import is_free
    from dra_lab.authoring.free_words import free_count
    from dra_lab.drivers import device_label

    found: dict[tuple[str, str, str], list[bool]] = {}
    for item in all_devices(cluster):
        label = device_label(item.driver, lookup_of(item.driver, item.device))
        found.setdefault((item.driver, kind_of(item), label), []).append(is_free(cluster, item, release))
    return [(*key, f"{len(free):,}", free_count(cluster, sum(free))) for key, free in sorted(found.items())]


def _joined(*sentences: str) -> str:
    return ". ".join(sentence.rstrip(".") for sentence in sentences if sentence)
