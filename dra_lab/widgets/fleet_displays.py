"""What a notebook shows of answers about fleets: a sentence and small tables as HTML, the same as plain text."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dra_lab.model.fleet import FLEET_GOALS, FleetPlan, LargestJob, Replica, Room, Stranded
from dra_lab.pictures.charts.amounts import KINDS
from dra_lab.planner.scenarios import ScenarioAnswer

_CELL = ' style="text-align:left;padding:2px 14px 2px 0"'


def fleet_words(plan: FleetPlan) -> str:
    """Return a fleet plan as plain text, every node in it."""
    from dra_lab.exports.fleet_text import fleet_text

    return fleet_text(plan).rstrip("\n")


def fleet_html(plan: FleetPlan) -> str:
    """Return a fleet plan as HTML: sentence, workloads, goals beside kube-scheduler's, what the nodes hold."""
    from dra_lab.exports.fleet_text import fleet_sentence
    from dra_lab.pictures.reason_words import bandwidth_lines

    placed = plan.placed
    parts = [_strong(fleet_sentence(plan))]
    if plan.workloads:
        rows = [(w.name, f"{w.replicas:,}", f"{placed[w.name]:,}") for w in plan.workloads]
        parts.append(table_html(("workload", "wanted", "placed"), rows))
    if plan.goals and plan.replicas:
        parts.append(table_html(("goal", "best", "", "kube-scheduler's first fit"), [*_goal_rows(plan)]))
    if loads := Counter(_load(plan, replicas) for replicas in plan.on_node.values()):
        parts.append(table_html(("on a node", "nodes"), [(load, f"{count:,}") for load, count in loads.most_common()]))
    parts += [_lines("Regret", list(bandwidth_lines(plan.regrets)))]
    parts += [_lines("Reasons", [f"{s.message}. {s.advice}".strip() for s in plan.shortfalls])]
    parts += [_lines("Findings", [str(finding) for finding in plan.findings])]
    return _result(parts)


def _goal_rows(plan: FleetPlan) -> Iterable[tuple[str, ...]]:
    from dra_lab.exports.fleet_text import compared_words

    pairs, where = plan.against_first_fit, compared_words(plan)
    for goal in plan.goals:
        mine, theirs = pairs.get(goal.goal, (0, None))
        worse = f" ({theirs - mine:+,}{where})" if theirs is not None and theirs != mine else where
        proof = "proven" if goal.proven else "not proven" if goal.bound is None else f"bound {goal.bound:,}"
        told = "not asked" if theirs is None else f"{theirs:,}{worse}"
        yield FLEET_GOALS.get(goal.goal, goal.goal), f"{goal.value:,}", proof, told


def _load(plan: FleetPlan, replicas: Iterable[Replica]) -> str:
    counts = Counter(replica.workload for replica in replicas)
    return ", ".join(f"{counts[w.name]} × {w.name}" for w in plan.workloads if counts[w.name])


def room_words(room: Room) -> str:
    """Return how many more replicas fit as plain text, with every class of nodes."""
    from dra_lab.exports.fleet_text import room_sentence
    from dra_lab.pictures.plain_table import plain_table

    return f"{room_sentence(room)}\n\n{plain_table(_ROOM, _room_rows(room))}" if room.classes else room_sentence(room)


def room_html(room: Room) -> str:
    """Return how many more replicas fit as HTML: the sentence, a row for each class of nodes."""
    from dra_lab.exports.fleet_text import room_sentence

    return _result([_strong(f"{room_sentence(room)}."), table_html(_ROOM, _room_rows(room))])


_ROOM = ("nodes", "more on each", "first of them")


def _room_rows(room: Room) -> list[tuple[str, str, str]]:
    ordered = sorted(room.classes, key=lambda c: (-c.each, -len(c.nodes), c.nodes))
    return [
        (
            f"{len(c.nodes):,}" + (" together" if c.nodes in room.together else ""),
            f"{c.each:,}" if c.proven else f"{c.each:,} to {c.bound:,}",
            c.nodes[0] if c.nodes else "",
        )
        for c in ordered
    ]


def job_words(job: LargestJob) -> str:
    """Return the largest job of a claim as plain text."""
    from dra_lab.exports.fleet_text import job_sentence

    return job_sentence(job)


def job_html(job: LargestJob) -> str:
    """Return the largest job of a claim as HTML."""
    return _result([_strong(f"{job_words(job)}.")])


def stranded_words(lost: Stranded) -> str:
    """Return what is stranded as plain text."""
    from dra_lab.exports.fleet_text import stranded_sentence

    return stranded_sentence(lost)


def stranded_html(lost: Stranded) -> str:
    """Return what is stranded as HTML: the sentence, a row for each kind, in all."""
    rows = [
        (
            KINDS.get(kind.kind, kind.kind),
            f"{kind.free:,}",
            f"{kind.usable:,}",
            f"{kind.stranded:,}",
            "proven" if kind.proven else f"at least {kind.least:,}",
        )
        for kind in lost.kinds
    ]
    head = ("kind", "free", "usable by aligned claims", "stranded", "")
    return _result([_strong(stranded_words(lost)), table_html(head, rows)])


def answer_words(answer: ScenarioAnswer) -> str:
    """Return the answer of one scenario as plain text."""
    from dra_lab.exports.fleet_text import fleet_sentence
    from dra_lab.exports.sentences import answer_sentence, printable

    if answer.plan is None:
        return printable(f"{answer.scenario}: not answered: {answer.error}")
    told = fleet_sentence(answer.plan) if isinstance(answer.plan, FleetPlan) else answer_sentence(answer.plan)
    return f"{printable(answer.scenario)}: {told}"


def answer_html(answer: ScenarioAnswer) -> str:
    """Return the answer of one scenario as HTML."""
    return _result([_strong(answer_words(answer))])


def table_html(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table of text, every cell escaped; "" where there is no row."""
    if not rows:
        return ""
    top = "".join(f"<th{_CELL}>{html.escape(words)}</th>" for words in head)
    body = "".join(f"<tr>{''.join(f'<td{_CELL}>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _strong(words: str) -> str:
    return f"<p><strong>{html.escape(words)}</strong></p>"


def _lines(heading: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<p>{heading}:</p><ul>{items}</ul>" if lines else ""


def _result(parts: Iterable[str]) -> str:
    return f'<div class="dra-result">{"".join(parts)}</div>'
