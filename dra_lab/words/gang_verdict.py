"""Gangs in the words of the screen: what is asked, the verdict with its proof, and what a scheduler does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.gang_verdicts import COUNTS, DEVICES, QUOTA
from dra_lab.model.goals import BEYOND, GANGS
from dra_lab.model.headroom import Fit, Headroom
from dra_lab.model.placement import PlacedPod, PlacedReplica
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import GangDrawing
from dra_lab.model.workload import HOST, Workload
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.words.document import printable
from dra_lab.words.facts import counted, sentence

_UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
"""The cluster UUID in the name of an NVLink partition; its first part tells the partitions of a cluster apart."""

_CUT = r"\1…"

_NAMED = 3
"""Domains that a verdict names."""

_IN_USE = " in use on "

QUESTIONS: Mapping[str, str] = {QUOTA: "quota", COUNTS: "Kueue counts", DEVICES: "devices"}
"""What is asked of a gang in Kueue, in the words of the screen."""

KUEUE_NOTE = (
    "Kueue counts CPU and memory and no devices. A drawing has no CPU and memory, so only pods are counted here."
)
"""What a replay of Kueue for a drawing leaves out."""


def gang_words(gang: GangDrawing, number: int) -> str:
    """Return what a gang is: `2 gangs of 16 pods, each in one rack`."""
    least = f" (at least {gang.min:,})" if gang.min is not None and gang.min < gang.size else ""
    where = f"in one {level_word(gang.level)}" if gang.level else ""
    prefer = f"in as few {plural(level_word(gang.prefer_level))} as possible" if gang.prefer_level else ""
    each = ", " + ("all " if number == 1 else "each ") if where or prefer else ""
    places = ", ".join(filter(None, (where, prefer)))
    return f"{counted(number, 'gang')} of {counted(gang.size, 'pod')}{least}{each}{places}"


def frame_words(gang: GangDrawing, number: int) -> str:
    """Return what a gang is, as short as a frame on the canvas needs it: `2 × 16 pods in one rack`."""
    several = f"{number:,} × " if number > 1 else ""
    where = f" in one {level_word(gang.level)}" if gang.level else ""
    return f"{several}{counted(gang.size, 'pod')}{where}"


def level_word(level: str) -> str:
    """Return what people call a level: the node for a host, else its name or the last part of its key."""
    return "node" if level == HOST else level.rpartition("/")[2]


def domain_name(domain: Sequence[str]) -> str:
    """Return the value of a domain of its own, a UUID in it cut; the whole cluster has the name `the cluster`."""
    return _UUID.sub(_CUT, domain[-1]) if domain else "the cluster"


def gang_verdict(plan: Plan, more: Mapping[str, Headroom]) -> str:
    """Return whether gangs and other pods fit and where, then how many more gangs fit."""
    wanted = sum(gang.replicas for gang in plan.gangs)
    if plan.status is PlanStatus.EMPTY:
        return "No gang is wanted."
    if plan.status is PlanStatus.NOT_CHECKED:
        return "Not checked."
    if plan.status is PlanStatus.STOPPED:
        return "No place is found yet."
    (first, *others) = [gang for gang in plan.gangs if gang.replicas] or plan.gangs
    if not plan.placed_gangs and wanted:
        words = _misfit(plan, first) if not others else f"Not one of {wanted:,} gangs fits."
    elif len(plan.placed_gangs) == wanted == 1:
        words = _one(first, plan.placed_gangs[0])
    elif len(plan.placed_gangs) == wanted:
        words = f"All {wanted:,} gangs fit{_where(first, plan.placed_gangs) if not others else ''}."
    else:
        where = _where(first, plan.placed_gangs) if not others else ""
        words = f"{len(plan.placed_gangs):,} of {wanted:,} gangs fit{where}."
    words += _ordinary(plan, plan.single_pods)
    if not others and first.name in more and len(plan.placed_gangs) == wanted:
        count = more[first.name].count
        words += f" {count} more such {'gang fits' if count.value == 1 else 'gangs fit'}"
        words += ", proven." if count.exact else "."
    return printable(words)


def _one(gang: Workload, placed: PlacedReplica) -> str:
    pods = len(placed.pods)
    head = f"All {counted(pods, 'pod')} fit" if pods == gang.size else f"{pods:,} of {gang.size:,} pods fit"
    return f"{head}{_where(gang, [placed])}."


def _where(gang: Workload, placed: Sequence[PlacedReplica]) -> str:
    """Return the domains of placed gangs: ` in rack r4`, ` in 2 racks: r1 and r4`."""
    if not gang.level:
        return f" on {counted(len({node for one in placed for node in one.nodes}), 'node')}"
    word = level_word(gang.level)
    names = list(dict.fromkeys(domain_name(one.domain) for one in placed))
    if len(names) == 1:
        return f" in {word} {names[0]}"
    last = names[-1] if len(names) <= _NAMED else f"{len(names) - _NAMED + 1:,} more"
    return f" in {len(names):,} {plural(word)}: {', '.join(names[: min(len(names), _NAMED) - 1])} and {last}"


def _misfit(plan: Plan, gang: Workload) -> str:
    headrooms = [headroom for headroom in plan.where if headroom.workload == gang.name]
    best = max(headrooms, key=lambda headroom: headroom.pods.value, default=None)
    pods = f"{gang.least:,} pods" if gang.least > 1 else "a pod"
    if best is None or not gang.level:
        held = f": it holds {best.pods.value:,}" if best is not None else ""
        return f"The cluster does not hold {pods} of {gang.name} at once{held}."
    if not best.pods.value:
        return f"No {level_word(gang.level)} holds a pod of {gang.name}."
    where = f"{domain_name(best.members)} holds the most: {headroom_words(best)}"
    return f"No {level_word(gang.level)} holds {pods}. {where}."


def _ordinary(plan: Plan, replicas: Sequence[PlacedPod]) -> str:
    wanted = sum(workload.replicas for workload in plan.workloads if not workload.is_gang)
    if not wanted:
        return ""
    return f" {len(replicas):,} of {counted(wanted, 'other pod')} {'is' if len(replicas) == 1 else 'are'} placed."


def gang_proof(plan: Plan) -> str:
    """Return what is proven of the verdict."""
    if plan.status is PlanStatus.EMPTY:
        return ""
    if plan.status is PlanStatus.NOT_CHECKED:
        return printable(sentence(plan.shortfalls[0].message)) if plan.shortfalls else ""
    if plan.status is PlanStatus.INFEASIBLE:
        return "Proven."
    if plan.status is PlanStatus.OPTIMAL:
        return "Proven optimal."
    first = [goal for goal in plan.goals if goal.goal.partition(" ")[0] in (GANGS, BEYOND)]
    if first and all(goal.proven for goal in first):
        return "No plan places more gangs, proven. That they cannot be aligned better is not proven, as the time ended."
    return "That no more gangs fit is not proven."


def headroom_words(headroom: Fit) -> str:
    """Return how many pods of one gang a domain holds: `14 of 16`."""
    return str(replace(headroom, reasons=()))


def lacking_words(headroom: Fit) -> list[str]:
    """Return what keeps pods away from a domain, one reason for the same nodes: `GPUs and NICs in use on n1`.

    A list of nodes that is cut may have others behind, so it stays a reason of its own.
    """
    found: dict[str, list[str]] = {}
    for reason in headroom.reasons:
        kind, _, nodes = reason.partition(_IN_USE)
        named = bool(nodes) and not nodes.endswith(" more")
        found.setdefault(f"{_IN_USE}{nodes}" if named else "", []).append(kind if named else reason)
    cut = found.pop("", [])
    return [*(f"{' and '.join(kinds)}{nodes}" for nodes, kinds in found.items()), *cut]


def scheduler_words(scheduler: str, verdict: str, text: str) -> str:
    """Return what a scheduler does with a gang: `Kueue 0.19 does not start it: ...`."""
    if text.startswith("it finds a place"):
        return printable(sentence(f"{scheduler} {_UUID.sub(_CUT, text.removeprefix('it '))}"))
    does = {"yes": "finds a place", "maybe": "may find a place", "no": "does not start it"}[verdict]
    return printable(sentence(f"{scheduler} {does}: {_UUID.sub(_CUT, text)}"))


def trapped_words(scheduler: str, domains: Sequence[str]) -> str:
    """Return that a scheduler may choose domains where claims do not fit: `Kueue 0.19 may choose r5, where ...`."""
    named = ", ".join(_UUID.sub(_CUT, name.rpartition("/")[2]) for name in domains[:_NAMED])
    more = f" or {len(domains) - _NAMED:,} more" if len(domains) > _NAMED else ""
    return printable(f"{scheduler} may choose {named}{more}, where the claims do not fit. The pods would wait there.")


def quota_words(text: str) -> str:
    """Return what the quota of Kueue says of a gang that it stops."""
    return printable(f"Quota stops it: {text}")
