"""A plan as plain text for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dra_lab.exports.plan_values import plan_json
from dra_lab.exports.sentences import answer_sentence, printable, sentence
from dra_lab.exports.tables import first_fit_value
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import GOALS, FirstFit, FirstFitStatus, GoalValue, NodeFit, Plan, Shortfall
from dra_lab.pictures.reason_words import (
    conflict_lines,
    funnel_tables,
    regret_lines,
    relaxation_lines,
    scarcity_lines,
)
from dra_lab.topology.locality import Locality, localities

__all__ = ["answer_sentence", "plan_json", "plan_text", "printable"]


def plan_text(plan: Plan, cluster: Cluster, *, names: int | None = None) -> str:
    """Return the answer for people: a sentence, devices, goals with proof, reasons, suggestions, findings.

    Every row is there, nothing is cut but the nodes after the first `names` that serve the claim alike (None: none
    is). Text from the cluster is made printable.
    """
    parts = [answer_sentence(plan, cluster), *_sections(plan, cluster, names)]
    return "\n\n".join(parts) + "\n"


def _sections(plan: Plan, cluster: Cluster, names: int | None) -> Iterator[str]:
    if plan.placements:
        yield _section(f"Devices on {plan.node}", _table(_devices(plan, cluster)))
    if plan.goals:
        yield _section("Goals, most important first (smaller is better)", _table(_goals(plan)))
    if regrets := [*regret_lines(plan)]:
        yield _section("Regret", _bullets(sentence(line) for line in regrets))
    if plan.node_classes:
        yield _section("Nodes", [*_nodes(plan, names)])
    if plan.shortfalls:
        yield _section("Reasons", _bullets(_reason(shortfall) for shortfall in plan.shortfalls))
    if plan.reasons is not None:
        yield from _why(plan)
    if plan.suggestions:
        yield _section("Suggestions", [*_suggestions(plan)])
    if plan.findings:
        yield _section("Findings", _bullets(str(finding) for finding in plan.findings))


def _why(plan: Plan) -> Iterator[str]:
    """Yield what stands behind the reasons: short or scattered, what cannot hold together, counts, what was tried."""
    if lines := [*scarcity_lines(plan), *conflict_lines(plan)]:
        yield _section("What is in the way", _bullets(sentence(line) for line in lines))
    for table in funnel_tables(plan):
        needed = f"{table.needed} needed" if table.needed else "all that match"
        legend = [f"{head}: {text}" for head, text in table.legend]
        rows = _table([table.columns, *table.rows])
        yield _section(f"Devices left for {table.request} ({needed})", [*legend, *rows])
    if lines := [*relaxation_lines(plan)]:
        yield _section("Relaxations, each tried alone", _bullets(sentence(line) for line in lines))


def _reason(shortfall: Shortfall) -> str:
    where = f" ({shortfall.node})" if shortfall.node and shortfall.node not in shortfall.message else ""
    return f"{sentence(shortfall.message + where)} {shortfall.advice}".rstrip()


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([printable(title), *(f"  {printable(line)}" for line in lines)])


def _bullets(texts: Iterable[str]) -> list[str]:
    return [f"- {text}" for text in texts]


def _devices(plan: Plan, cluster: Cluster) -> list[list[str]]:
    here = localities(cluster, plan.node) if plan.node in cluster.node_by_name else {}
    rows = [["request", "device", "model", "NUMA node", "PCIe root", "takes"]]
    for placement in plan.placements:
        place = here.get(placement.device)
        takes = ", ".join(f"{key} {amount}" for key, amount in placement.consumed.items())
        model = place.label if place else ""
        rows.append([placement.reference, str(placement.device), model, _numa(place), _root(place), takes])
    return rows


def _numa(place: Locality | None) -> str:
    if place is None or place.numa_node is None:
        return "not known"
    return f"{place.numa_node.value} (derived)" if place.numa_node.derived else str(place.numa_node.value)


def _root(place: Locality | None) -> str:
    return str(place.pcie_root.value) if place is not None and place.pcie_root is not None else "not known"


def _goals(plan: Plan) -> list[list[str]]:
    rows = [["goal", "best", "proof", "kube-scheduler, this manifest", "kube-scheduler, without links"]]
    for goal in plan.goals:
        told = [_compared(goal, found) for found in (plan.first_fit, plan.first_fit_plain)]
        rows.append([GOALS.get(goal.goal, goal.goal), _value(goal), _proof(goal), *told])
    return rows


def _value(goal: GoalValue) -> str:
    return f"{goal.value} ({goal.unknown} of unknown place)" if goal.unknown else goal.words


def _proof(goal: GoalValue) -> str:
    if goal.proven:
        return "proven"
    return "not proven" if goal.bound is None else f"not proven, bound {goal.bound}"


def _compared(goal: GoalValue, found: FirstFit | None) -> str:
    if found is None:
        return "not asked"
    value = first_fit_value(found, goal.goal)
    if found.status is not FirstFitStatus.ALLOCATED or value is None:
        words = {
            FirstFitStatus.NONE: "finds nothing",
            FirstFitStatus.ERROR: "gives up",
            FirstFitStatus.STOPPED: "stopped",
        }
        return words.get(found.status, "not known")
    return f"{value} ({value - goal.value:+d})" if value != goal.value else str(value)


def _nodes(plan: Plan, most: int | None) -> Iterator[str]:
    words = {
        NodeFit.BEST: "as well as the best",
        NodeFit.WORSE: "worse",
        NodeFit.NO: "no",
        NodeFit.UNKNOWN: "not decided",
    }
    for fit, word in words.items():
        names = sorted(name for c in plan.node_classes if c.fit is fit for name in c.nodes)
        if names:
            left = f" and {len(names) - most:,} more" if most is not None and len(names) > most else ""
            yield f"{word}: {', '.join(names[:most])}{left}"


def _suggestions(plan: Plan) -> Iterator[str]:
    for suggestion in plan.suggestions:
        yield f"- {suggestion.title}. {suggestion.detail}".rstrip()
        for request, texts in suggestion.selectors.items():
            for text in texts:
                yield f"    {request}: {text}"
        if suggestion.source:
            yield f"    source: {suggestion.source}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [[printable(cell) for cell in row] for row in rows]
    used = [index for index in range(len(shown[0])) if any(row[index] for row in shown[1:])]
    widths = {index: max(len(row[index]) for row in shown) for index in used}
    return ["  ".join(row[index].ljust(widths[index]) for index in used).rstrip() for row in shown]
