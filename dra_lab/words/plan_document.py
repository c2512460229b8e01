"""The document of a plan: devices, goals beside kube-scheduler's, nodes and domains, reasons, what fits after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.headroom import Headroom, LargestJob, Stranded
from dra_lab.model.placement import FirstFit, FirstFitStatus, PlacedPod, PlacedReplica
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import pod_drawing
from dra_lab.model.workload import Workload
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Locality, Place
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.capacity_document import (
    headroom_sentence,
    identical_together,
    job_sentence,
    not_examined_words,
    stranded_table,
)
from dra_lab.words.document import Column, Detail, Lines, Part, Picture, Sentence, Table, Words, printable
from dra_lab.words.drawing_words import request_sentence
from dra_lab.words.facts import (
    FIRST_FITS,
    FIT_WORDS,
    compared_words,
    counted,
    goal_meaning,
    goal_proof,
    search_end,
    sentence,
)
from dra_lab.words.moves_document import moves_table
from dra_lab.words.reason_words import (
    blocking_lines,
    finding_lines,
    reasons_parts,
    regret_parts,
    shortfall_item,
    suggestion_item,
)
from dra_lab.words.workload_words import (
    added_words,
    choice_sentence,
    choice_tables,
    domains_table,
    levels_table,
    levels_words,
    verdict_parts,
    verdict_sentence,
)

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangChoice, GangVerdicts
    from dra_lab.model.node_type import AddedNodes

NAMES = 8
"""Nodes that serve a claim alike and are named on a screen: `plan.fitting_nodes` and `plan.node_classes` have all."""

MOST_SUGGESTIONS = 3
"""Suggestions in the short form of an answer, the best first."""

MOST = 12
"""Gangs and shared claims that are shown one by one."""

_DEVICES = 3
"""Devices of a shared claim that are named."""


class AfterPlan(Struct, frozen=True):
    """What is known after a plan, by the name of the workload where it is about one.

    `more` counts what still fits after the plan, `total` the gangs that fit without it, with every level. `jobs` are
    the largest jobs that still fit, and `stranded` is what no claim can use. `choices` are what schedulers do with a
    gang, `queues` and `verdicts` its queue and what that says. `added` are nodes with which everything fits, and
    `alone` is the plan of one pod of each workload where nothing has a place. `unread` says which claims were not read.
    """

    more: Mapping[str, Headroom] = {}
    total: Mapping[str, Headroom] = {}
    jobs: tuple[LargestJob, ...] = ()
    stranded: Stranded | None = None
    choices: Mapping[str, tuple[GangChoice, ...]] = {}
    queues: Mapping[str, str] = {}
    verdicts: Mapping[str, GangVerdicts] = {}
    added: AddedNodes | None = None
    alone: Mapping[str, Plan] = {}
    unread: str = ""


NOTHING_MORE = AfterPlan()


def detailed_parts(
    plan: Plan,
    cluster: Cluster | None = None,
    *,
    names: int | None = None,
    detail: Detail,
    after: AfterPlan = NOTHING_MORE,
) -> Iterator[Part]:
    """Yield as much of the answer as is wanted; see `plan_parts` for all of it, `short_parts` for the short form."""
    if detail == "all":
        yield from plan_parts(plan, cluster, names=names, after=after)
    elif detail == "short":
        yield from short_parts(plan, cluster, after)
    else:
        yield Sentence(answer_sentence(plan, cluster))
        yield from map(Sentence, map(verdict_sentence, after.verdicts.values()))


def short_parts(plan: Plan, cluster: Cluster | None = None, after: AfterPlan = NOTHING_MORE) -> Iterator[Part]:
    """Yield the short answer: sentence, where pods are, what more fits, first causes, and the option for more."""
    yield from _first_parts(plan, cluster, after)
    yield from _placed_parts(plan, cluster, most=NAMES)
    yield from _gang_parts(plan, after)
    yield _headroom_lines(plan, after)
    yield from _alone(after)
    if plan.fits:
        yield Words("-v shows the goals with their proof, the bandwidth with its sources, and the nodes.")
    elif plan.status is not PlanStatus.EMPTY:
        causes = [sentence(line) for line in blocking_lines(plan.reasons)] if plan.reasons else []
        yield Lines("What is in the way", causes[:1])
        yield Lines("Suggestions", [suggestion_item(suggestion) for suggestion in plan.suggestions[:MOST_SUGGESTIONS]])
        room = " --make-room looks for running pods that have to move." if cluster and cluster.pods else ""
        yield Words(f"-v shows all reasons and suggestions, and the nodes.{room if plan.movable is None else ''}")


def plan_parts(
    plan: Plan,
    cluster: Cluster | None = None,
    *,
    picture: str = "",
    names: int | None = None,
    after: AfterPlan = NOTHING_MORE,
) -> Iterator[Part]:
    """Yield the answer: sentence, picture, devices or pods, goals with proof, nodes, reasons, what fits after it.

    More than MANY nodes share rows: those with identical pods are one row, with the names of the first two and the
    number of the others. JSON has every one. `names` is how many of the nodes that serve the claim alike are named;
    None names all.
    """
    yield from _first_parts(plan, cluster, after)
    yield from _requested(plan, cluster)
    yield Picture(picture)
    yield from _placed_parts(plan, cluster)
    if plan.pods:
        yield goals_table(plan)
    yield from regret_parts(plan.regrets)
    yield from _gang_parts(plan, after)
    yield Lines("Nodes", [*_nodes(plan, names)])
    yield Lines("Reasons", [shortfall_item(shortfall) for shortfall in plan.shortfalls])
    yield from reasons_parts(plan.reasons)
    yield Lines("Suggestions", [suggestion_item(suggestion) for suggestion in plan.suggestions])
    yield finding_lines(plan.findings)
    if plan.not_examined and plan.gangs:
        yield Words(f"{counted(plan.not_examined, 'node')} not examined before the time limit.")
    yield from _alone(after)
    yield _headroom_lines(plan, after)
    yield Lines("The largest job that still fits", [*map(job_sentence, after.jobs)])
    if after.stranded is not None:
        yield stranded_table(after.stranded)
        yield Words(not_examined_words(after.stranded))
    for name, found in after.total.items():
        yield levels_table(found, name if len(after.total) > 1 else "")
    for gang in plan.gangs:
        yield from choice_tables(after.choices.get(gang.name, ()), gang)
    for verdicts in after.verdicts.values():
        yield from (part for part in verdict_parts(verdicts) if not isinstance(part, Sentence))


def _requested(plan: Plan, cluster: Cluster | None) -> Iterator[Words]:
    """Yield what a pod of each group requests, with its name if there are several."""
    groups = [(workload, group) for workload in plan.workloads for group in workload.pods]
    for workload, group in groups:
        drawn = plan.drawn or pod_drawing(group.name, group.claims)
        words = request_sentence(drawn, cluster, workload.replicas * group.count)
        name = workload.name if workload.size == 1 else f"{workload.name}/{group.name}"
        yield Words(f"{name}: {words}" if len(groups) > 1 else words)


def _first_parts(plan: Plan, cluster: Cluster | None, after: AfterPlan) -> Iterator[Part]:
    yield Sentence(answer_sentence(plan, cluster))
    if after.added is not None:
        yield Words(added_words(after.added))
    # "Kueue: yes" below says nothing of the quota
    yield from map(Words, map(verdict_sentence, after.verdicts.values()))
    if after.unread:
        yield Words(sentence(after.unread[0].upper() + after.unread[1:]))
    yield moves_table(plan.moves)
    if plan.replicas > 1:
        yield workloads_table(plan)


def _headroom_lines(plan: Plan, after: AfterPlan) -> Lines:
    gangs = {gang.name for gang in plan.gangs}
    more = [headroom_sentence(found) for name, found in after.more.items() if name not in gangs]
    return Lines("How many more fit after this, each workload by itself", more)


def _alone(after: AfterPlan) -> Iterator[Part]:
    lines = [f"{name}: {answer_sentence(plan)}" for name, plan in after.alone.items() if not plan.fits]
    if after.alone and not lines:
        yield Words("One replica of each workload fits. --objective replicas places as many as possible.")
    yield Lines("Why one replica does not fit", lines)


# ---------------------------------------------------------------- where pods are


def _placed_parts(plan: Plan, cluster: Cluster | None, most: int | None = None) -> Iterator[Part]:
    if len(plan.single_pods) == 1:
        yield devices_table(plan.single_pods[0], cluster)
    elif plan.single_pods:
        yield _nodes_table(plan, most)
    if plan.replicas > 1 or most is None:
        more = [f"{len(plan.placed_gangs) - MOST:,} more gangs are placed."] if len(plan.placed_gangs) > MOST else []
        heads = ("gang", "domain", "pods", "nodes")
        yield Table(heads, [_row(placed) for placed in plan.placed_gangs[:MOST]], "Where the gangs are", more)
    yield shared_table(plan)


def devices_table(pod: PlacedPod, cluster: Cluster | None = None) -> Table:
    """Return the devices of a pod: for which request, the model and the places, and what is taken of a shared one."""
    here = localities(cluster, pod.node) if cluster is not None and pod.node in cluster.node_by_name else {}
    rows = []
    for placement in pod.devices:
        takes = ", ".join(f"{key} {amount}" for key, amount in placement.consumed.items())
        locality = here.get(placement.device)
        places = _places(locality) if here else ("", "", "")
        name = placement.device.device if locality is None else locality.name
        rows.append((placement.reference, name, *places, takes, str(placement.device)))
    columns = ("request", "device", "model", "NUMA node", "PCIe root", "takes", "published as")
    return Table(columns, rows, f"Devices on {pod.node}")


def _places(locality: Locality | None) -> tuple[str, str, str]:
    if locality is None:
        return "", "not known", "not known"
    return locality.label, place_words(locality.numa_node, "not known"), place_words(locality.pcie_root, "not known")


def place_words(place: Place | None, unknown: str = "") -> str:
    """Return a place with the remark that it is derived; `unknown` where there is none."""
    if place is None:
        return unknown
    return f"{place.value} (derived)" if place.derived else str(place.value)


def workloads_table(plan: Plan) -> Table:
    """Return the workloads with the replicas that are wanted and placed, and the number of nodes that they use."""
    nodes: dict[str, set[str]] = {}
    for pod in plan.pods:
        nodes.setdefault(pod.workload, set()).add(pod.node)
    placed = plan.placed
    rows = [(w.name, w.replicas, placed[w.name], len(nodes.get(w.name, ()))) for w in plan.workloads]
    return Table(("workload", "wanted", "placed", Column(name="nodes")), rows, "Workloads")


def _nodes_table(plan: Plan, most: int | None = None) -> Table:
    """Return the replicas of each node; with more than `most` nodes, the first rows and the number of other nodes."""
    on_node: dict[str, list[str]] = {}
    for pod in plan.single_pods:
        on_node.setdefault(pod.node, []).append(pod.workload)
    rows: list[tuple[str, list[list[object]]]] = []
    for node in sorted(on_node):
        load = ", ".join(f"{count} × {name}" for name, count in Counter(on_node[node]).items())
        rows.append((node, [[load]]))
    shown = rows if most is None else rows[:most]
    others = [[f"and {len(rows) - len(shown):,} more", ""]] if len(rows) > len(shown) else []
    return Table(("node", "replicas"), [*identical_together(shown), *others], "Nodes")


def _row(placed: PlacedReplica) -> tuple[object, ...]:
    pods = Counter(pod.node for pod in placed.pods)
    nodes = ", ".join(f"{node} ({count})" for node, count in sorted(pods.items())[:3])
    rest = f" and {len(pods) - 3:,} more" if len(pods) > 3 else ""
    return f"{placed.workload} {placed.replica}", "/".join(placed.domain), len(placed.pods), nodes + rest


def shared_table(plan: Plan) -> Table:
    """Return the claims that pods use together, each with the pods, the node and the devices."""
    gangs = {gang.name: gang for gang in plan.gangs}
    rows = [row for placed in plan.placed_gangs for row in _shared(placed, gangs[placed.workload])]
    heads = ("gang", "claim", "pods", "node", "devices")
    more = [f"{len(rows) - MOST:,} more claims are shared."] if len(rows) > MOST else []
    return Table(heads, rows[:MOST], "Claims that pods share", more)


def _shared(placed: PlacedReplica, gang: Workload) -> Iterator[tuple[str, ...]]:
    pods = Counter(pod.group for pod in placed.pods)
    claims_of = {group.name: group.shared_claims for group in gang.pods} | {"": gang.shared_claims}
    for one in placed.shared:
        users = f"{pods[one.group]:,} of {one.group}" if one.group else f"all {len(placed.pods):,}"
        devices = [str(placement.device) for placement in one.devices]
        more = f" and {len(devices) - _DEVICES:,} more" if len(devices) > _DEVICES else ""
        names = ", ".join(claim.name for claim in claims_of[one.group])
        yield f"{placed.workload} {placed.replica}", names, users, one.node, ", ".join(devices[:_DEVICES]) + more


def _gang_parts(plan: Plan, after: AfterPlan) -> Iterator[Part]:
    for gang in plan.gangs:
        name = f" for {gang.name}" if len(plan.gangs) > 1 else ""
        yield domains_table(plan, gang, f"Domains{name}, before this plan" if name or plan.replicas > 1 else "Domains")
        if gang.name in after.total and gang.name in after.more:
            start = f"For {gang.name}: " if name else ""
            fixed = " All of these use the same values." if any(one.workload == gang.name for one in plan.same) else ""
            words = levels_words(after.total[gang.name], after.more[gang.name], gang)
            yield Words(printable(f"{start}{words}{fixed}"))
        if after.choices.get(gang.name):
            which = f" for {gang.name} alone" if len(plan.workloads) > 1 else ""
            found = [choice_sentence(choice, gang) for choice in after.choices[gang.name]]
            yield Lines(printable(f"What schedulers find{which}"), found)


# ---------------------------------------------------------------- goals and nodes


GOAL_COLUMNS = (
    Column(name="goal"),
    Column("goal", "meaning"),
    Column("best"),
    Column("proof"),
    *(Column(name=name) for name in ("best", "bound", "proven", "unknown")),
    *(Column(name) for name in FIRST_FITS.values()),
    *(Column(name=name) for name in ("manifest", "plain", "regret", "plain_regret")),
)


def goals_table(plan: Plan) -> Table:
    """Return the goals: the plan's value and proof, and kube-scheduler's two values for the same pods and nodes."""
    rows, pairs = [], plan.against_first_fit
    for goal in plan.goals:
        unknown = f" ({goal.unknown:,} of unknown place)" if goal.unknown else ""
        fits = (plan.first_fit, plan.first_fit_plain)
        values = [found.value(goal.goal) if found is not None else None for found in fits]
        mine = pairs.get(goal.goal, (goal.value,))[0]
        worse = [None if value is None or goal.at_most else value - mine for value in values]
        shown = [_beside(goal, found, mine) for found in fits]
        exact = [goal.value, goal.bound, goal.proven, goal.unknown]
        head = [goal.goal, goal_meaning(goal.goal, plan), f"{goal.words}{unknown}", goal_proof(goal)]
        rows.append([*head, *exact, *shown, *values, *worse])
    where = compared_words(plan)
    only = f"; kube-scheduler{where} only" if where else ""
    return Table(GOAL_COLUMNS, rows, f"Goals, most important first (smaller is better{only})")


def _beside(goal: GoalValue, found: FirstFit | None, mine: int) -> str:
    """Return what kube-scheduler reaches in a goal and how much worse that is, or what its search ended with."""
    value = found.value(goal.goal) if found is not None else None
    if found is None or value is None or (found.status is not FirstFitStatus.ALLOCATED and not found.compared):
        return search_end(found) if found is not None else ""
    return f"{value:,} ({value - mine:+,})" if value != mine and not goal.at_most else f"{value:,}"


def _nodes(plan: Plan, most: int | None) -> Iterator[str]:
    for fit, word in FIT_WORDS.items():
        names = sorted(name for row in plan.node_classes if row.verdict is fit for name in row.members)
        if names:
            left = f" and {len(names) - most:,} more" if most is not None and len(names) > most else ""
            yield f"{word}: {', '.join(names[:most])}{left}"
