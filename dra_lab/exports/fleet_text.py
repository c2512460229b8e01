"""A plan for a fleet as a sentence and as plain text for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from dra_lab.exports.sentences import COUNTING_ENDS, printable, sentence
from dra_lab.model.fleet import FLEET_GOALS, UNPLACED, FleetPlan, LargestJob, Room, Stranded, StrandedKind
from dra_lab.model.plan import GoalValue, PlanStatus, Start
from dra_lab.pictures.charts.amounts import KINDS
from dra_lab.pictures.plain_table import plain_table
from dra_lab.pictures.reason_words import bandwidth_lines
from dra_lab.pictures.words import counted

MANY = 40
"""Nodes up to which each has a row of its own in a text."""


def fleet_sentence(plan: FleetPlan) -> str:
    """Return the answer in one to three short sentences, with what is proven of it; names are made printable."""
    if plan.status is PlanStatus.EMPTY:
        return "No replica is wanted."
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
        none = " All on the fewest nodes was asked for, so none is placed." if few else ""
        return printable(sentence(f"{misfit}, proven{reasons}") + none)
    return printable(" ".join(_placed(plan)))


def _wanted(plan: FleetPlan) -> int:
    return sum(workload.replicas for workload in plan.workloads)


def _placed(plan: FleetPlan) -> Iterator[str]:
    nodes = len(plan.nodes)
    counts = f"{len(plan.replicas):,} of {_wanted(plan):,} replicas placed on {counted(nodes, 'node')}"
    if plan.start is Start.NEVER:
        # "placed" would say that the pods run
        counts = f"An allocation exists for {len(plan.replicas):,} of {_wanted(plan):,} replicas"
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
    yield f"Best so far, not proven: {', '.join(open_goals)}." if open_goals else "Every goal is proven best."
    if plan.first_fit is not None:
        pairs = plan.against_first_fit
        worse = [f"{_meaning(g)} {theirs - mine:+,}" for g, (mine, theirs) in pairs.items() if mine != theirs]
        told = ", ".join(worse) or "as good"
        yield f"kube-scheduler's first fit with the same replicas{compared_words(plan)}: {told}."


def compared_words(plan: FleetPlan) -> str:
    """Return on which part of the nodes first fit was compared, `` on 261 of 716 nodes``; "" for all of them."""
    found = plan.first_fit
    if found is None or found.status is not PlanStatus.STOPPED:
        return ""
    return f" on {len(found.compared):,} of {len(plan.nodes):,} nodes"


def _open(goal: GoalValue) -> str:
    return f"{_meaning(goal.goal)} {goal.value:,}" + (f" (at least {goal.bound:,})" if goal.bound is not None else "")


def _meaning(goal: str) -> str:
    return FLEET_GOALS.get(goal, goal)


def fleet_text(
    plan: FleetPlan,
    rooms: Sequence[Room] = (),
    lost: Stranded | None = None,
    jobs: Sequence[LargestJob] = (),
    unread: str = "",
) -> str:
    """Return the answer for people: sentence, workloads, goals with proof, nodes, what more fits, what is stranded.

    `rooms`, `lost` and `jobs` are answers for after the plan. Of more than MANY nodes, those that hold the same stand
    in one row, under the names of the first two and the number of the others; JSON names every one. `unread` is what
    was not read of claims (`free_words.unread_words`).
    """
    caution = [sentence(unread[0].upper() + unread[1:])] if unread else []
    parts = [fleet_sentence(plan), *caution, *_sections(plan)]
    if rooms:
        parts.append(_section("How many more fit after this, each workload by itself", map(room_sentence, rooms)))
    if jobs:
        parts.append(_section("The largest job that still fits", map(job_sentence, jobs)))
    if lost is not None:
        parts.append(_section("Stranded after this: free, and no aligned claim of these can use it", [_lost(lost)]))
    return "\n\n".join(parts) + "\n"


def _sections(plan: FleetPlan) -> Iterator[str]:
    if plan.workloads:
        placed = plan.placed
        rows = [[w.name, w.replicas, placed[w.name]] for w in plan.workloads]
        yield _section("Workloads", [plain_table(("workload", "wanted", "placed"), rows)])
    if plan.goals and plan.replicas:
        where = f"; kube-scheduler{compared_words(plan)} only" if compared_words(plan) else ""
        head = f"Goals, most important first (smaller is better{where})"
        yield _section(head, [plain_table(_HEAD, [*_goals(plan)])])
    if lines := [*bandwidth_lines(plan.regrets)]:
        yield _section("Regret", [f"- {sentence(line)}" for line in lines])
    if plan.replicas:
        yield _section("Nodes", [plain_table(("node", "replicas"), [*_nodes(plan)])])
    if plan.shortfalls:
        yield _section("Reasons", [f"- {sentence(s.message)} {s.advice}".rstrip() for s in plan.shortfalls])
    if plan.findings:
        yield _section("Findings", [f"- {finding}" for finding in plan.findings])


_HEAD = ("goal", "best", "proof", "kube-scheduler", "worse by")


def _goals(plan: FleetPlan) -> Iterator[list[object]]:
    pairs = plan.against_first_fit
    for goal in plan.goals:
        proof = "proven" if goal.proven else "not proven" if goal.bound is None else f"not proven, bound {goal.bound:,}"
        unknown = f", {goal.unknown:,} devices of unknown place" if goal.unknown else ""
        mine, found = pairs.get(goal.goal, (0, None))
        theirs = [None, None] if found is None else [found, found - mine]
        yield [_meaning(goal.goal), goal.value, proof + unknown, *theirs]


def _nodes(plan: FleetPlan) -> Iterator[list[object]]:
    rows: list[tuple[str, list[list[object]]]] = []
    for node, replicas in plan.on_node.items():
        counts: dict[str, int] = {}
        for replica in replicas:
            counts[replica.workload] = counts.get(replica.workload, 0) + 1
        rows.append((node, [[", ".join(f"{count} × {name}" for name, count in counts.items())]]))
    for name, cells in _equal_together(rows):
        yield from ([name, *row] for row in cells)


def _equal_together(rows: Sequence[tuple[str, list[list[object]]]]) -> Iterator[tuple[str, list[list[object]]]]:
    """Yield the nodes with their cells; of many nodes, those with the same cells as one."""
    if len(rows) <= MANY:
        yield from rows
        return
    alike: dict[str, list[tuple[str, list[list[object]]]]] = {}
    for row in rows:
        alike.setdefault(repr(row[1]), []).append(row)
    for members in sorted(alike.values(), key=lambda members: (-len(members), members[0][0])):
        first = ", ".join(name for name, _ in members[:2])
        rest = f" and {len(members) - 2:,} more" if len(members) > 2 else ""
        yield first + rest, members[0][1]


def room_sentence(room: Room) -> str:
    """Return how many more replicas of a workload fit, in words."""
    if room.proven:
        return printable(f"{room.workload}: {room.count:,} more, proven")
    if room.capped:
        return printable(f"{room.workload}: at least {room.count:,} more; {COUNTING_ENDS}")
    return printable(f"{room.workload}: at least {room.count:,} more, at most {room.bound:,}; not proven")


def job_sentence(job: LargestJob) -> str:
    """Return the largest job of a claim, in words."""
    if not job.scale_bound:
        return printable(f"{job.claim}: not even once, proven")
    times = "the claim once" if job.scale == 1 else f"{job.scale} times the claim"
    scale = f"{times} on {job.node}" if job.scale else "not known whether it fits"
    open_scale = "" if job.scale >= job.scale_bound else f" (at most {job.scale_bound} times; not proven)"
    pods = f"{'at least ' if job.capped else ''}{counted(job.replicas, 'pod')} of it can start together"
    open_pods = "" if job.replicas >= job.replicas_bound else f" (at most {job.replicas_bound:,}; not proven)"
    open_pods = f" ({COUNTING_ENDS})" if job.capped else open_pods
    return printable(f"{job.claim}: {scale}{open_scale}; {pods}{open_pods}")


def stranded_sentence(lost: Stranded) -> str:
    """Return what is stranded in all, in words."""
    told = [_stranded_words(kind) for kind in lost.kinds if kind.free]
    return printable(f"Stranded: {'; '.join(told)}." if told else "Nothing is free, so nothing is stranded.")


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


def _lost(lost: Stranded) -> str:
    named = (([" + ".join(c.nodes)] if c.together else c.nodes, c.kinds) for c in lost.nodes)
    nodes = sorted(((name, kinds) for names, kinds in named for name in names), key=itemgetter(0))
    rows = _equal_together([(name, _kinds(kinds)) for name, kinds in nodes])
    told = [[name, *row] for name, cells in (("in all", _kinds(lost.kinds)), *rows) for row in cells]
    return plain_table(("node", "kind", "free", "usable", "stranded", "proof"), told)


def _kinds(kinds: Sequence[StrandedKind]) -> list[list[object]]:
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


def _section(title: str, lines: Iterable[str]) -> str:
    told = [line for text in lines for line in text.split("\n")]
    return "\n".join([title, *(f"  {printable(line)}" for line in told)])
