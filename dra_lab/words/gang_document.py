"""A plan for gangs in words: the answer, where each gang is, and what each domain lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dra_lab.findings import sentence_case
from dra_lab.model.goals import GANG_GOALS, GANGS, UNPLACED, GoalValue
from dra_lab.model.headroom import Bounded, Fit, Headroom, counted_to
from dra_lab.model.placement import PlacedReplica
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.words.document import Column, Lines, Part, Sentence, Table, Words, printable
from dra_lab.words.facts import counted, sentence
from dra_lab.words.gang_verdict import headroom_words, lacking_words

if TYPE_CHECKING:
    from dra_lab.model.gang_replay import GangReplay
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.pinning.gang_choices import GangChoice

MOST = 12
"""Domains and gangs that are shown one by one."""

_DEVICES = 3
"""Devices of a shared claim that are named."""

_REASONS = 2
"""Reasons against a domain that are shown if it has many."""


def gang_sentence(plan: Plan) -> str:
    """Return the answer in one to three short sentences, with what is proven of it."""
    if plan.status is PlanStatus.EMPTY:
        return "No gangs are requested."
    if plan.status is PlanStatus.NOT_CHECKED:
        return printable(f"Not checked: {sentence(plan.shortfalls[0].message)}")
    if plan.status is PlanStatus.STOPPED:
        return "Not answered: there was not enough time."
    if plan.status is PlanStatus.INFEASIBLE:
        return printable(_misfit(plan))
    return printable(" ".join(filter(None, _placed(plan))))


def _misfit(plan: Plan) -> str:
    """Return that not one gang fits, with the domain that has most pods if there is one kind of gang."""
    if len(plan.workloads) > 1:
        return "Not one gang fits, proven."
    (gang,) = plan.gangs
    best = max(plan.where, key=lambda headroom: headroom.pods.value, default=None)
    level = "node" if gang.level in HOSTS else gang.level
    if not gang.level:
        pods = f"; they have {best.pods.value:,} of {best.size:,} pods" if best is not None else ""
        return f"The nodes do not have all {gang.least:,} pods of the gang at once, proven{pods}."
    if best is None:
        return f"No {level} has {_pods(gang)}, proven: no node is in one."
    return f"No {level} has {_pods(gang)}, proven. {'/'.join(best.members)} has {best.pods.value:,}."


def _pods(gang: Workload) -> str:
    return f"all {gang.size:,} pods of the gang" if gang.least == gang.size else f"the least {gang.least:,} pods"


def _placed(plan: Plan) -> Iterator[str]:
    wanted = sum(gang.replicas for gang in plan.gangs)
    if wanted == len(plan.placed_gangs) == len(plan.workloads) == 1:
        yield _one_placed(plan.placed_gangs[0], plan.gangs[0].size)
        yield _proof(plan, [])
        return
    others = [workload for workload in plan.workloads if not workload.is_gang]
    other = f" and {len(plan.single_pods):,} of {counted(sum(one.replicas for one in others), 'other pod')}"
    counts = f"{len(plan.placed_gangs):,} of {counted(wanted, 'gang')}{other if others else ''} placed"
    counts = f"{counts}, {counted(len(plan.pods), 'pod')} on {counted(len(plan.nodes), 'node')}"
    first = [goal for goal in plan.goals if goal.goal.partition(" ")[0] in (GANGS, UNPLACED)]
    if len(plan.placed_gangs) == wanted:
        yield f"{counts}."
    else:
        proven = all(goal.proven for goal in first if goal.goal != UNPLACED)
        yield f"{counts}; {'no more fit, proven' if proven else 'more may fit'}."
    yield _proof(plan, first)


def _one_placed(placed: PlacedReplica, size: int) -> str:
    where = f" in {'/'.join(placed.domain)}" if placed.domain else ""
    pods = len(placed.pods)
    number = counted(pods, "pod") if pods == size else f"{pods:,} of {counted(size, 'pod')}"
    return f"The gang fits{where}: {number} on {counted(len(placed.nodes), 'node')}."


def _proof(plan: Plan, first: list[GoalValue]) -> str:
    open_goals = [_open(goal) for goal in plan.goals if not goal.proven and goal not in first[:1]]
    if open_goals:
        return f"Best so far, not proven: {', '.join(open_goals)}."
    return "Every goal is proven optimal." if all(goal.proven for goal in plan.goals) else ""


def _open(goal: GoalValue) -> str:
    name, _, priority = goal.goal.partition(" ")
    words = GANG_GOALS.get(name, name) + (f" of priority {priority}" if priority else "")
    return f"{words} {goal.value:,}" + (f" (at least {goal.bound:,})" if goal.bound is not None else "")


def gang_parts(plan: Plan) -> Iterator[Part]:
    """Yield the answer, where each gang is, and for gangs without a place what each domain has."""
    yield Sentence(gang_sentence(plan))
    if len(plan.workloads) > 1:
        yield workloads_table(plan)
    yield _placed_table(plan)
    yield shared_table(plan)
    names = [gang.name for gang in plan.gangs if plan.placed[gang.name] < gang.replicas]
    for name in names[:MOST]:
        yield headroom_lines([headroom for headroom in plan.where if headroom.workload == name])
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


def _row(placed: PlacedReplica) -> tuple[object, ...]:
    pods = Counter(pod.node for pod in placed.pods)
    nodes = ", ".join(f"{node} ({count})" for node, count in sorted(pods.items())[:3])
    rest = f" and {len(pods) - 3:,} more" if len(pods) > 3 else ""
    return f"{placed.workload} {placed.replica}", "/".join(placed.domain), len(placed.pods), nodes + rest


def headroom_lines(headrooms: list[Fit]) -> Lines:
    """Return what each domain has for one gang, those with most pods first."""
    if not headrooms:
        return Lines("")
    order = sorted(headrooms, key=lambda headroom: -headroom.pods.value)
    lines = [printable(f"{'/'.join(headroom.members) or 'all nodes'}: {headroom}") for headroom in order[:MOST]]
    lines += [f"{len(headrooms) - MOST:,} more domains have fewer"] if len(headrooms) > MOST else []
    return Lines(printable(f"Pods of {headrooms[0].workload} that each domain has"), lines)


def count_parts(found: Headroom) -> Iterator[Part]:
    """Yield how many more gangs fit, with each level and in each domain."""
    yield Sentence(printable(f"{found.workload}: {found.count} more."))
    rows = [(level or "no level", str(number)) for level, number in found.levels.items()]
    yield Table(("required level", "gangs in all"), rows)
    headrooms = sorted(found.where, key=lambda headroom: -headroom.replicas.value)[:MOST]
    each = [("/".join(headroom.members), str(headroom.replicas), str(headroom)) for headroom in headrooms]
    yield Table(("domain", "gangs", "pods of one gang"), each)


def short_gang_parts(
    plan: Plan, counts: Sequence[tuple[Headroom, Headroom]], choices: Sequence[Sequence[GangChoice]]
) -> Iterator[Part]:
    """Yield the answer, what each domain has, how many gangs fit, and what schedulers do with each gang.

    `counts` has for each gang how many fit now and after the plan.
    """
    yield Sentence(gang_sentence(plan))
    several = len(plan.workloads) > 1 or plan.workloads[0].replicas > 1
    if len(plan.workloads) > 1:
        yield workloads_table(plan)
    if several and plan.placed_gangs:
        yield _placed_table(plan)
    yield shared_table(plan)
    for number, gang in enumerate(plan.gangs):
        name = f" for {gang.name}" if len(plan.gangs) > 1 else ""
        yield _domains_table(plan, gang, f"Domains{name}, before this plan" if name or several else "Domains")
        if number < len(counts):
            start = f"For {gang.name}: " if name else ""
            yield Words(printable(start + more_words(*counts[number], gang)))
        if number < len(choices):
            which = f" for {gang.name} alone" if len(plan.workloads) > 1 else ""
            yield choice_lines(choices[number], gang, f"What schedulers find{which}")


def long_gang_parts(
    plan: Plan, counts: Sequence[tuple[Headroom, Headroom]], choices: Sequence[Sequence[GangChoice]]
) -> Iterator[Part]:
    """Yield the short answer, then where each gang is, the goals, and the domains after the plan and in each replay."""
    shown = [*short_gang_parts(plan, counts, choices)]
    yield from shown
    yield from (part for part in gang_parts(plan) if isinstance(part, Table) and part.title and part not in shown)
    for _, found in counts:
        yield from (part for part in count_parts(found) if isinstance(part, Table))
    for gang, mine in zip(plan.gangs, choices, strict=False):
        for choice in mine:
            rows = [(row.domain, row.least, row.most, row.wanted) for row in choice.replay.domains]
            title = f"{choice.replay.scheduler}: pods of {gang.name}"
            yield Table(("domain", "at least", "at most", "needed"), rows, printable(title))


def workloads_table(plan: Plan) -> Table:
    """Return the workloads with the replicas that are wanted and placed, and the number of nodes that they use."""
    nodes: dict[str, set[str]] = {}
    for replica in plan.pods:
        nodes.setdefault(replica.workload, set()).add(replica.node)
    placed = plan.placed
    rows = [(w.name, w.replicas, placed[w.name], len(nodes.get(w.name, ()))) for w in plan.workloads]
    return Table(("workload", "wanted", "placed", Column(name="nodes")), rows, "Workloads")


def _placed_table(plan: Plan) -> Table:
    heads = (Column("gang", "gang"), Column("domain", "domain"), Column("pods", "pods"), Column("nodes", "nodes"))
    more = [f"{len(plan.placed_gangs) - MOST:,} more gangs are placed."] if len(plan.placed_gangs) > MOST else []
    return Table(heads, [_row(placed) for placed in plan.placed_gangs[:MOST]], "Where the gangs are", more)


def shared_table(plan: Plan) -> Table:
    """Return the claims that pods use together, each with the pods, the node and the devices."""
    gangs = {gang.name: gang for gang in plan.gangs}
    rows = [row for placed in plan.placed_gangs for row in _shared(placed, gangs[placed.workload])]
    heads = (Column("gang", "gang"), Column("claim", "claim"), Column("pods", "pods"), Column("node", "node"))
    more = [f"{len(rows) - MOST:,} more claims are shared."] if len(rows) > MOST else []
    return Table((*heads, Column("devices", "devices")), rows[:MOST], "Claims that pods share", more)


def _shared(placed: PlacedReplica, gang: Workload) -> Iterator[tuple[str, ...]]:
    pods = Counter(pod.group for pod in placed.pods)
    claims_of = {group.name: group.shared_claims for group in gang.pods} | {"": gang.shared_claims}
    for one in placed.shared:
        claims = claims_of[one.group]
        users = f"{pods[one.group]:,} of {one.group}" if one.group else f"all {len(placed.pods):,}"
        devices = [str(placement.device) for placement in one.devices]
        more = f" and {len(devices) - _DEVICES:,} more" if len(devices) > _DEVICES else ""
        names = ", ".join(claim.name for claim in claims)
        yield f"{placed.workload} {placed.replica}", names, users, one.node, ", ".join(devices[:_DEVICES]) + more


def _domains_table(plan: Plan, gang: Workload, title: str) -> Table:
    """Return what each domain has for one gang, those with most pods first."""
    headrooms = sorted(
        (headroom for headroom in plan.where if headroom.workload == gang.name),
        key=lambda headroom: (-headroom.pods.value, headroom.members),
    )
    rows = [
        (
            "/".join(headroom.members) or "all nodes",
            headroom_words(headroom),
            str(headroom.replicas),
            _lacks(headroom),
        )
        for headroom in headrooms[:MOST]
    ]
    more = [f"{len(headrooms) - MOST:,} more domains are not shown; -o json has all."] if len(headrooms) > MOST else []
    level = "node" if gang.level in HOSTS else gang.level or "domain"
    return Table((printable(level), "pods", "gangs", "lacks"), rows, title, more)


def _lacks(headroom: Fit) -> str:
    reasons = lacking_words(headroom)
    more = [f"{len(reasons) - _REASONS} more reasons"] if len(reasons) > _REASONS + 1 else []
    return "; ".join([*reasons[:_REASONS], *more] if more else reasons)


def added_words(found: AddedNodes) -> str:
    """Return with which new nodes everything fits, and whether fewer suffice."""
    rows = [
        f"{one.count:,} more {'node' if one.count == 1 else 'nodes'} like {one.type} {_in(one.domain)}"
        for one in found.added[:_REASONS]
    ]
    left = sum(one.count for one in found.added[_REASONS:])
    rows += [f"{left:,} more elsewhere"] if left else []
    proof = "fewer do not suffice, proven" if found.proven else "fewer may suffice"
    gangs = sum(gang.replicas for gang in found.wanted)
    what = "It fits" if gangs == 1 and not found.workloads else "All of it fits"
    return printable(f"{what} with {', '.join(rows)}, if there are places for them; {proof}.")


def _in(domain: Sequence[str]) -> str:
    return f"in {'/'.join(domain)}" if domain else "anywhere"


def more_words(now: Headroom, after: Headroom, gang: Workload) -> str:
    """Return how many gangs fit after the plan, and how many in all with each level: what the level costs."""
    levels = sorted(now.levels.items(), key=lambda row: row[0] != gang.level)
    words = ", ".join(f"{number} with {name or 'no level'}" for name, number in levels)
    more = "1 more gang fits" if after.count == Bounded(1, 1) else f"{after.count} more gangs fit"
    return f"After this plan, {more}. In all: {words}."


def choice_lines(choices: Sequence[GangChoice], gang: Workload, heading: str) -> Lines:
    """Return what each scheduler does with a gang, one after the other."""
    return Lines(printable(heading), [choice_sentence(choice, gang) for choice in choices])


def choice_sentence(choice: GangChoice, gang: Workload) -> str:
    """Return what a scheduler does with a gang: the verdict, why, how many gangs start, and where the claims miss."""
    return printable(" ".join(_choice(choice, gang)))


def _choice(choice: GangChoice, gang: Workload) -> Iterator[str]:
    yield _replay(choice.replay)
    if choice.started is not None and gang.replicas > 1:
        least, most = choice.started
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        yield f"It starts {number} of {gang.replicas:,} gangs."
    if choice.trapped:
        named = ", ".join(choice.trapped[:3]) + (" and more" if len(choice.trapped) > 3 else "")
        yield f"It may choose {named}, where the claims do not fit."


def _replay(replay: GangReplay) -> str:
    """Return whether a scheduler finds a place for a gang, and why: `Kueue 0.19: no. Kueue does not admit it ...`."""
    why = sentence(replay.sentence)
    return printable(f"{replay.scheduler}: {replay.verdict.value}. {sentence_case(why)}")


def replay_parts(replay: GangReplay) -> Iterator[Part]:
    """Yield whether a scheduler finds a place for a gang, then the domains that it tries or chooses."""
    yield Sentence(_replay(replay))
    yield domains_table(replay)


def domains_table(replay: GangReplay) -> Table:
    """Return how many pods get their devices in each domain that a scheduler tries or chooses."""
    rows = [(row.domain, str(counted_to(row.least, row.most)), row.wanted) for row in replay.domains[:MOST]]
    more = len(replay.domains) - len(rows)
    notes = [f"{more:,} more are not listed."] if more else []
    return Table(("domain", "pods with devices", "pods wanted"), rows, notes=notes)
