"""What a notebook shows of answers about fleets: a sentence and small tables as HTML, the same as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from dra_lab.model.fleet import FLEET_GOALS, FleetPlan, LargestJob, Replica, Room, Stranded
from dra_lab.pictures.charts.amounts import KINDS
from dra_lab.planner.scenarios import ScenarioAnswer
from dra_lab.widgets.result_parts import Lines, Part, Sentence, Table, as_html, as_text


def fleet_words(plan: FleetPlan) -> str:
    """Return a fleet plan as plain text, every node in it."""
    from dra_lab.exports.fleet_text import fleet_text

    return fleet_text(plan).rstrip("\n")


def fleet_html(plan: FleetPlan) -> str:
    """Return a fleet plan as HTML: sentence, workloads, goals beside kube-scheduler's, what the nodes hold."""
    return as_html(_fleet(plan))


def _fleet(plan: FleetPlan) -> Iterator[Part]:
    from dra_lab.exports.fleet_text import fleet_sentence
    from dra_lab.pictures.reason_words import bandwidth_lines

    yield Sentence(fleet_sentence(plan))
    placed = plan.placed
    rows = [(w.name, f"{w.replicas:,}", f"{placed[w.name]:,}") for w in plan.workloads]
    yield Table(("workload", "wanted", "placed"), rows)
    if plan.goals and plan.replicas:
        yield Table(("goal", "best", "proof", "kube-scheduler's first fit"), [*_goal_rows(plan)])
    loads = Counter(_load(plan, replicas) for replicas in plan.on_node.values())
    yield Table(("on a node", "nodes"), [(load, f"{count:,}") for load, count in loads.most_common()])
    yield Lines("Regret", [*bandwidth_lines(plan.regrets)])
    yield Lines("Reasons", [f"{s.message}. {s.advice}".strip() for s in plan.shortfalls])
    yield Lines("Findings", [str(finding) for finding in plan.findings])


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
    return as_text(_room(room))


def room_html(room: Room) -> str:
    """Return how many more replicas fit as HTML: the sentence, a row for each class of nodes."""
    return as_html(_room(room))


def _room(room: Room) -> Iterator[Part]:
    from dra_lab.exports.fleet_text import room_sentence

    yield Sentence(f"{room_sentence(room)}.")
    ordered = sorted(room.classes, key=lambda c: (-c.each, -len(c.nodes), c.nodes))
    rows = [
        (
            f"{len(c.nodes):,}" + (" together" if c.nodes in room.together else ""),
            f"{c.each:,}" if c.proven else f"at least {c.each:,}" if c.capped else f"{c.each:,} to {c.bound:,}",
            c.nodes[0] if c.nodes else "",
        )
        for c in ordered
    ]
    yield Table(("nodes", "more on each", "first of them"), rows)


def job_words(job: LargestJob) -> str:
    """Return the largest job of a claim as plain text."""
    return as_text([_job(job)])


def job_html(job: LargestJob) -> str:
    """Return the largest job of a claim as HTML."""
    return as_html([_job(job)])


def _job(job: LargestJob) -> Sentence:
    from dra_lab.exports.fleet_text import job_sentence

    return Sentence(f"{job_sentence(job)}.")


def stranded_words(lost: Stranded) -> str:
    """Return what is stranded as plain text: the sentence, a row for each kind."""
    return as_text(_stranded(lost))


def stranded_html(lost: Stranded) -> str:
    """Return what is stranded as HTML: the sentence, a row for each kind, in all."""
    return as_html(_stranded(lost))


def _stranded(lost: Stranded) -> Iterator[Part]:
    from dra_lab.exports.fleet_text import stranded_sentence

    yield Sentence(stranded_sentence(lost))
    rows = [
        (
            KINDS.get(kind.kind, kind.kind),
            f"{kind.free:,}",
            f"{kind.usable:,}",
            f"at most {kind.stranded:,}" if kind.partitions and not kind.proven else f"{kind.stranded:,}",
            "proven" if kind.proven else f"at least {kind.least:,}",
        )
        for kind in lost.kinds
    ]
    yield Table(("kind", "free", "usable by aligned claims", "stranded", "proof"), rows)


def answer_words(answer: ScenarioAnswer) -> str:
    """Return the answer of one scenario as plain text."""
    return as_text([_answer(answer)])


def answer_html(answer: ScenarioAnswer) -> str:
    """Return the answer of one scenario as HTML."""
    return as_html([_answer(answer)])


def _answer(answer: ScenarioAnswer) -> Sentence:
    from dra_lab.exports.fleet_text import fleet_sentence
    from dra_lab.exports.sentences import answer_sentence

    if answer.plan is None:
        return Sentence(f"{answer.scenario}: not answered: {answer.error}")
    told = fleet_sentence(answer.plan) if isinstance(answer.plan, FleetPlan) else answer_sentence(answer.plan)
    return Sentence(f"{answer.scenario}: {told}")
