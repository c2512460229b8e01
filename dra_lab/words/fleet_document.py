"""Answers about fleets: a fleet plan, how many more fit, the largest job, what is stranded, a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dra_lab.model.goals import FLEET_GOALS, UNPLACED, GoalValue
from dra_lab.model.headroom import NODES_TOGETHER, Headroom, LargestJob, Stranded, StrandedKind
from dra_lab.model.placement import FirstFitStatus, Start
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.planner.scenarios import ScenarioAnswer
from dra_lab.words.document import Column, Lines, Part, Sentence, Table, Words, as_text, printable
from dra_lab.words.facts import COUNTING_ENDS, KINDS, counted, goal_proof, sentence
from dra_lab.words.gang_document import count_parts, gang_parts, gang_sentence, workloads_table
from dra_lab.words.plan_document import NAMES, answer_sentence
from dra_lab.words.reason_words import finding_lines, regret_parts, shortfall_item

MANY = 40
"""Nodes up to which each has a row of its own."""


def fleet_sentence(plan: Plan) -> str:
    """Return the answer in one to three short sentences, with what is proven of it; names are made printable."""
    if plan.gangs:
        return gang_sentence(plan)
    if plan.status is PlanStatus.EMPTY:
        return "No replicas are requested."
    if plan.status is PlanStatus.NOT_CHECKED:
        return printable(f"Not checked: {sentence(plan.shortfalls[0].message)}")
    if plan.status is PlanStatus.STOPPED:
        reason = plan.shortfalls[0].message if plan.shortfalls else "there was not enough time"
        return printable(f"Not answered: {sentence(reason)}")
    if plan.status is PlanStatus.INFEASIBLE:
        least = plan.goal(UNPLACED)
        few = plan.objective == "nodes" and not (least and least.value == _wanted(plan))
        misfit = "The replicas do not all fit" if few else "Not one replica fits"
        reasons = f": {plan.shortfalls[0].message}" if plan.shortfalls else ""
        none = " You asked for all on the fewest nodes, so none is placed." if few else ""
        return printable(sentence(f"{misfit}, proven{reasons}") + none)
    return printable(" ".join(_placed(plan)))


def _wanted(plan: Plan) -> int:
    return sum(workload.replicas for workload in plan.workloads)


def _placed(plan: Plan) -> Iterator[str]:
    nodes = len(plan.nodes)
    counts = f"{len(plan.pods):,} of {_wanted(plan):,} replicas placed on {counted(nodes, 'node')}"
    if plan.start is Start.NEVER:
        # "placed" would say that the pods run
        counts = f"An allocation exists for {len(plan.pods):,} of {_wanted(plan):,} replicas"
        yield f"{counts}, but not every pod starts with its manifest."
        return
    if plan.start is Start.OPEN:
        yield "Whether every pod starts with its manifest is not known."
    unplaced = plan.goal(UNPLACED)
    if unplaced is None or not unplaced.value:
        yield f"{counts}."
    elif unplaced.proven:
        yield f"{counts}; no more fit, proven."
    else:
        most = f"at most {_wanted(plan) - unplaced.bound:,} could" if unplaced.bound is not None else "more may fit"
        yield f"{counts}; {most}, not proven."
    open_goals = [_open(goal) for goal in plan.goals if not goal.proven and goal.goal != UNPLACED]
    yield f"Best so far, not proven: {', '.join(open_goals)}." if open_goals else "Every goal is proven optimal."
    if plan.first_fit is not None:
        pairs = plan.against_first_fit
        worse = [f"{_meaning(g)} {theirs - mine:+,}" for g, (mine, theirs) in pairs.items() if mine != theirs]
        difference = ", ".join(worse) or "as good"
        yield f"kube-scheduler's first fit with the same replicas{compared_words(plan)}: {difference}."


def compared_words(plan: Plan) -> str:
    """Return on which part of the nodes first fit was compared, `` on 261 of 716 nodes``; "" for all of them."""
    found = plan.first_fit
    if found is None or found.status is not FirstFitStatus.STOPPED:
        return ""
    return f" on {len(found.compared):,} of {len(plan.nodes):,} nodes"


def _open(goal: GoalValue) -> str:
    return f"{_meaning(goal.goal)} {goal.value:,}" + (f" (at least {goal.bound:,})" if goal.bound is not None else "")


def _meaning(goal: str) -> str:
    return FLEET_GOALS.get(goal, goal)


def fleet_text(
    plan: Plan,
    headroom: Sequence[Headroom] = (),
    lost: Stranded | None = None,
    jobs: Sequence[LargestJob] = (),
    unread: str = "",
) -> str:
    """Return the answer as plain text; see `fleet_parts`."""
    return as_text(fleet_parts(plan, headroom, lost, jobs, unread)) + "\n"


def short_fleet_parts(
    plan: Plan, headroom: Sequence[Headroom] = (), unread: str = "", causes: Sequence[Part] = ()
) -> Iterator[Part]:
    """Yield the short answer: sentence, workloads, first nodes, how many more fit, and the option that shows more."""
    yield from _first_parts(plan, unread)
    yield _nodes_table(plan, most=NAMES)
    yield _headroom_lines(headroom)
    yield from causes
    if plan.pods:
        yield Words("-v shows the goals with their proof, the bandwidth, the largest job and the stranded devices.")
    elif plan.status is not PlanStatus.EMPTY:
        yield Words("-v shows all reasons.")


def _first_parts(plan: Plan, unread: str) -> Iterator[Part]:
    yield Sentence(fleet_sentence(plan))
    if unread:
        yield Words(sentence(unread[0].upper() + unread[1:]))
    yield workloads_table(plan)


def _headroom_lines(headroom: Sequence[Headroom]) -> Lines:
    return Lines("How many more fit after this, each workload by itself", [*map(headroom_sentence, headroom)])


def fleet_parts(
    plan: Plan,
    headroom: Sequence[Headroom] = (),
    lost: Stranded | None = None,
    jobs: Sequence[LargestJob] = (),
    unread: str = "",
) -> Iterator[Part]:
    """Yield the answer: sentence, workloads, goals with proof, nodes, what more fits, what is stranded.

    More than MANY nodes share rows: those with identical pods are one row, with the names of the first two and the
    number of the others. JSON names every one.

    Args:
        plan: The fleet plan.
        headroom: How many more replicas fit after it.
        lost: What is stranded after it.
        jobs: The largest jobs that still fit after it.
        unread: Which claims were not read (`free_words.unread_words`).
    """
    if plan.gangs:
        yield from gang_parts(plan)
        return
    yield from _first_parts(plan, unread)
    if plan.pods:
        yield fleet_goals_table(plan)
    yield from regret_parts(plan.regrets)
    yield _nodes_table(plan)
    yield Lines("Reasons", [shortfall_item(shortfall) for shortfall in plan.shortfalls])
    yield finding_lines(plan.findings)
    yield _headroom_lines(headroom)
    yield Lines("The largest job that still fits", [*map(job_sentence, jobs)])
    if lost is not None:
        yield _stranded_table(lost)
        if lost.not_examined:
            yield Words(not_examined_words(lost))


def fleet_goals_table(plan: Plan) -> Table:
    """Return the goals: the plan's value and proof, and kube-scheduler's value with the same replicas."""
    where, pairs = compared_words(plan), plan.against_first_fit
    rows = []
    for goal in plan.goals:
        mine, theirs = pairs.get(goal.goal, (goal.value, None))
        worse = None if theirs is None else theirs - mine
        unknown = f", {goal.unknown:,} devices of unknown place" if goal.unknown else ""
        exact = (goal.bound, goal.proven, goal.unknown)
        rows.append([goal.goal, _meaning(goal.goal), goal.value, goal_proof(goal) + unknown, *exact, theirs, worse])
    columns = (
        Column(name="goal"),
        Column("goal", "meaning"),
        Column("best", "best"),
        Column("proof"),
        Column(name="bound"),
        Column(name="proven"),
        Column(name="unknown"),
        Column("kube-scheduler", "first_fit"),
        Column("worse by", "regret"),
    )
    only = f"; kube-scheduler{where} only" if where else ""
    return Table(columns, rows, f"Goals, most important first (smaller is better{only})")


def _nodes_table(plan: Plan, most: int | None = None) -> Table:
    """Return the replicas of each node; with more than `most` nodes, the first rows and the number of other nodes."""
    rows: list[tuple[str, list[list[object]]]] = [
        (node, [[_load(replica.workload for replica in replicas)]]) for node, replicas in plan.on_node.items()
    ]
    shown = rows if most is None else rows[:most]
    others = [[f"and {len(rows) - len(shown):,} more", ""]] if len(rows) > len(shown) else []
    return Table(("node", "replicas"), [*_identical_together(shown), *others], "Nodes")


def _load(names: Iterable[str]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in Counter(names).items())


def _identical_together(nodes: Sequence[tuple[str, list[list[object]]]]) -> Iterator[list[object]]:
    """Yield the rows of the nodes; of many nodes, those with identical rows as one."""
    by_rows: dict[str, list[tuple[str, list[list[object]]]]] = {}
    for node in nodes:
        by_rows.setdefault(repr(node[1]) if len(nodes) > MANY else node[0], []).append(node)
    for members in sorted(by_rows.values(), key=lambda members: -len(members)):
        first = ", ".join(name for name, _ in members[:2])
        rest = f" and {len(members) - 2:,} more" if len(members) > 2 else ""
        yield from ([first + rest, *row] for row in members[0][1])


def headroom_parts(headroom: Headroom) -> Iterator[Part]:
    """Yield how many more replicas of a workload fit: the sentence, a row for each class of nodes or each domain."""
    if headroom.levels:
        yield from count_parts(headroom)
        return
    yield Sentence(f"{headroom_sentence(headroom)}.")
    ordered = sorted(headroom.where, key=lambda fit: (-fit.replicas.value, -len(fit.members), fit.members))
    rows = [
        (
            f"{len(fit.members):,}" + (" together" if fit.kind == NODES_TOGETHER else ""),
            str(fit.replicas),
            fit.members[0] if fit.members else "",
        )
        for fit in ordered
    ]
    yield Table(("nodes", "more on each", "first of them"), rows)


def headroom_sentence(headroom: Headroom) -> str:
    """Return how many more replicas of a workload fit, in words."""
    count = headroom.count
    if count.exact:
        return printable(f"{headroom.workload}: {count.value:,} more, proven")
    if count.bound is None:
        return printable(f"{headroom.workload}: at least {count.value:,} more; {COUNTING_ENDS}")
    return printable(f"{headroom.workload}: at least {count.value:,} more, at most {count.bound:,}; not proven")


def job_sentence(job: LargestJob) -> str:
    """Return the largest job of a claim, in words."""
    if not job.scale_bound:
        return printable(f"{job.claim}: not even once, proven")
    times = "the claim once" if job.scale == 1 else f"{job.scale} times the claim"
    scale = f"{times} on {job.node}" if job.scale else "not known whether it fits"
    open_scale = "" if job.scale >= job.scale_bound else f" (at most {job.scale_bound} times; not proven)"
    count = job.replicas
    pods = f"{'at least ' if count.bound is None else ''}{counted(count.value, 'pod')} of it can start together"
    open_pods = "" if count.exact else f" (at most {count.bound:,}; not proven)"
    open_pods = f" ({COUNTING_ENDS})" if count.bound is None else open_pods
    return printable(f"{job.claim}: {scale}{open_scale}; {pods}{open_pods}")


def job_parts(job: LargestJob) -> Iterator[Part]:
    """Yield the largest job of a claim."""
    yield Sentence(f"{job_sentence(job)}.")


def stranded_sentence(lost: Stranded) -> str:
    """Return what is stranded in all, in words."""
    words = [_stranded_words(kind) for kind in lost.kinds if kind.free]
    stranded = f"Stranded: {'; '.join(words)}." if words else "Nothing is free, so nothing is stranded."
    known = "" if lost.not_examined and not lost.nodes else stranded
    return printable(" ".join(filter(None, (known, not_examined_words(lost)))))


def not_examined_words(lost: Stranded) -> str:
    """Return the sentence on the nodes that are not in what is stranded, "" if all are."""
    return f"{counted(lost.not_examined, 'node')} not examined before the time limit." if lost.not_examined else ""


def _stranded_words(kind: StrandedKind) -> str:
    words = f"{kind.stranded:,} of {kind.free:,} free {KINDS.get(kind.kind, kind.kind)}"
    if kind.proven:
        return words
    why = ["not proven"] if kind.usable < kind.bound else []
    if kind.partitions:
        why.append(
            f"{kind.partitions:,} of these are partitions of different sizes, of which large ones leave less free"
        )
    return f"{f'at most {words}' if kind.partitions else words} (at least {kind.least:,}; {'; '.join(why)})"


def stranded_parts(lost: Stranded) -> Iterator[Part]:
    """Yield what is stranded: the sentence, a row for each kind in all and on each node."""
    yield Sentence(stranded_sentence(lost))
    yield _stranded_table(lost)


def _stranded_table(lost: Stranded) -> Table:
    named = (([" + ".join(c.nodes)] if c.together else c.nodes, c.kinds) for c in lost.nodes)
    nodes = sorted((name, _kind_rows(kinds)) for names, kinds in named for name in names)
    every = "all examined" if lost.not_examined else "in all"
    rows = [[every, *row] for row in _kind_rows(lost.kinds)] + [*_identical_together(nodes)]
    title = "Stranded after this: free, and no aligned claim of these can use it"
    return Table(("node", "kind", "free", "usable", "stranded", "proof"), rows, title)


def _kind_rows(kinds: Sequence[StrandedKind]) -> list[list[object]]:
    return [
        [
            KINDS.get(kind.kind, kind.kind),
            kind.free,
            kind.usable,
            f"at most {kind.stranded:,}" if kind.partitions and not kind.proven else kind.stranded,
            "proven" if kind.proven else f"at least {kind.least:,}",
        ]
        for kind in kinds
        if kind.free
    ]


def scenario_parts(answer: ScenarioAnswer) -> Iterator[Part]:
    """Yield the answer of one scenario."""
    plan = answer.plan
    if plan is None:
        yield Sentence(f"{answer.scenario}: not answered: {answer.error}")
    else:
        words = answer_sentence(plan) if plan.is_one_pod else fleet_sentence(plan)
        yield Sentence(f"{answer.scenario}: {words}")
