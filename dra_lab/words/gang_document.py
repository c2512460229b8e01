"""A plan for gangs in words: the answer, where each gang is, and what each domain lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dra_lab.model.fleet import MOST_COUNTED, UNPLACED
from dra_lab.model.gang import GANG_GOALS, GANGS, GangCount, GangPlan, GangRoom, PlacedGang
from dra_lab.model.plan import GoalValue, PlanStatus
from dra_lab.words.document import Column, Lines, Part, Sentence, Table, Words, printable
from dra_lab.words.facts import counted, sentence

MOST = 12
"""Domains and gangs that are shown one by one."""


def gang_sentence(plan: GangPlan) -> str:
    """Return the answer in one to three short sentences, with what is proven of it."""
    if plan.status is PlanStatus.EMPTY:
        return "No gangs are requested."
    if plan.status is PlanStatus.NOT_CHECKED:
        return printable(f"Not checked: {sentence(plan.shortfalls[0].message)}")
    if plan.status is PlanStatus.STOPPED:
        return "Not answered: there was not enough time."
    if plan.status is PlanStatus.INFEASIBLE:
        return "Not one gang fits, proven."
    return printable(" ".join(_placed(plan)))


def _placed(plan: GangPlan) -> Iterator[str]:
    wanted = sum(gang.replicas for gang in plan.gangs)
    pods = sum(len(placed.replicas) for placed in plan.placed) + len(plan.replicas)
    nodes = {pod.node for placed in plan.placed for pod in placed.replicas} | {pod.node for pod in plan.replicas}
    counts = f"{len(plan.placed):,} of {counted(wanted, 'gang')} placed"
    counts = f"{counts}, {counted(pods, 'pod')} on {counted(len(nodes), 'node')}"
    first = [goal for goal in plan.goals if goal.goal.partition(" ")[0] in (GANGS, UNPLACED)]
    if len(plan.placed) == wanted:
        yield f"{counts}."
    else:
        proven = all(goal.proven for goal in first if goal.goal != UNPLACED)
        yield f"{counts}; {'no more fit, proven' if proven else 'more may fit'}."
    open_goals = [_open(goal) for goal in plan.goals if not goal.proven and goal not in first[:1]]
    yield f"Best so far, not proven: {', '.join(open_goals)}." if open_goals else "Every goal is proven optimal."


def _open(goal: GoalValue) -> str:
    name, _, priority = goal.goal.partition(" ")
    words = GANG_GOALS.get(name, name) + (f" of priority {priority}" if priority else "")
    return f"{words} {goal.value:,}" + (f" (at least {goal.bound:,})" if goal.bound is not None else "")


def gang_parts(plan: GangPlan) -> Iterator[Part]:
    """Yield the answer, where each gang is, and for gangs without a place what each domain has."""
    yield Sentence(gang_sentence(plan))
    heads = (Column("gang", "gang"), Column("domain", "domain"), Column("pods", "pods"), Column("nodes", "nodes"))
    more = [f"{len(plan.placed) - MOST:,} more gangs are placed."] if len(plan.placed) > MOST else []
    yield Table(heads, [_row(placed) for placed in plan.placed[:MOST]], "Where the gangs are", more)
    names = [gang.name for gang in plan.gangs if plan.counts[gang.name] < gang.replicas]
    for name in names[:MOST]:
        yield rooms_lines([room for room in plan.rooms if room.gang == name])
    if plan.goals:
        yield Table(
            (Column("goal", "goal"), Column("value", "value"), Column("at least", "bound"), Column("", "proven")),
            [(_words(goal), goal.value, goal.bound, "proven" if goal.proven else "") for goal in plan.goals],
            "Goals",
        )
    if plan.not_examined:
        yield Words(f"{counted(plan.not_examined, 'node')} not examined before the time limit.")


def _words(goal: GoalValue) -> str:
    name, _, priority = goal.goal.partition(" ")
    return GANG_GOALS.get(name, name) + (f", priority {priority}" if priority else "")


def _row(placed: PlacedGang) -> tuple[object, ...]:
    pods = Counter(pod.node for pod in placed.replicas)
    nodes = ", ".join(f"{node} ({count})" for node, count in sorted(pods.items())[:3])
    rest = f" and {len(pods) - 3:,} more" if len(pods) > 3 else ""
    return f"{placed.gang} {placed.number}", "/".join(placed.domain), len(placed.replicas), nodes + rest


def rooms_lines(rooms: list[GangRoom]) -> Lines:
    """Return what each domain has for one gang, those with most pods first."""
    if not rooms:
        return Lines("")
    order = sorted(rooms, key=lambda room: -room.most)
    lines = [printable(f"{'/'.join(room.domain) or 'all nodes'}: {room}") for room in order[:MOST]]
    lines += [f"{len(rooms) - MOST:,} more domains have fewer"] if len(rooms) > MOST else []
    return Lines(printable(f"Pods of {rooms[0].gang} that each domain has"), lines)


def count_parts(found: GangCount) -> Iterator[Part]:
    """Yield how many more gangs fit, with each level and in each domain."""
    yield Sentence(printable(f"{found.gang}: {_number((found.count, found.bound))} more."))
    rows = [(level or "no level", _number(number)) for level, number in found.levels.items()]
    yield Table(("required level", "gangs in all"), rows)
    rooms = sorted(found.rooms, key=lambda room: -room.gangs)[:MOST]
    each = [("/".join(room.domain), _number((room.gangs, room.gangs_bound)), str(room)) for room in rooms]
    yield Table(("domain", "gangs", "pods of one gang"), each)


def _number(number: tuple[int, int]) -> str:
    count, bound = number
    if count >= MOST_COUNTED:
        return f"at least {count:,}"
    return f"{count:,}" if count >= bound else f"{count:,} to {bound:,}"
