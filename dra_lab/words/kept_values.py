"""The figures of a claim's plan by name, from the plan's JSON, as a kept plan has them (`model.sketch.Kept`).

- `fitting` of `fitting/of`: nodes on which the claim fits now.
- The names of the goals, and `gpus`: the GPUs that could be paired.
- `bandwidth/low` and `bandwidth/high`: percent of the bandwidth that the plan's worst GPU keeps, as a range. Those of a
  fleet are of all its pods.
- `scheduler`: 1 if kube-scheduler allocates devices as good on that node with this manifest, 0 if not. Its values are
  `scheduler/GOAL` and `scheduler/bandwidth/...`.
- `achieved`: 1 if kube-scheduler allocates the plan on every node that it may choose, 0 if not.
- For a fleet: `nodes`, `more/POD` (more pods of a workload that fit), `amount/KIND/planned` and others, and the goals.
- `copies`: how many pods with this claim fit in all.
- `placed` of `wanted`, and `stranded/KIND`.
- For gangs: `gangs` of `gangs/of`, `gangs/levels` (domains of preferred levels), `gangs/nodes`, and the goals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dra_lab.model.sketch import KnownValue

_ALLOCATED = "allocated"


def values_of_plan(plan: Mapping[str, Any]) -> dict[str, KnownValue]:
    """Return the figures of a plan's JSON. Raises KeyError, TypeError or ValueError for another value."""
    nodes, summary = plan["nodes"], plan["summary"]
    found = {"placed": _exact(int(summary["podsPlaced"])), "wanted": _exact(int(summary["pods"]))}
    if total := sum(len(kind["nodes"]) for kind in nodes["classes"]):
        found |= {"fitting": _exact(len(nodes["fitting"])), "fitting/of": _exact(total)}
    known = {str(goal["goal"]): KnownValue(value=int(goal["value"]), bound=goal.get("bound")) for goal in plan["goals"]}
    if any(name.partition(" ")[0] == "gangs" for name in known):
        return found | _of_gangs(plan, known)
    if found["placed"].value:
        found |= known
        gpus = max((int(goal.get("of", 0)) for goal in plan["goals"]), default=0)
        found |= {"gpus": _exact(gpus)} if gpus else {}
    return found | values_of_bandwidth(plan["regrets"]) | dict(_scheduler(plan.get("firstFit"), plan["goals"]))


def _of_gangs(plan: Mapping[str, Any], known: Mapping[str, KnownValue]) -> dict[str, KnownValue]:
    gangs = {str(one["name"]) for one in plan["workloads"] if is_gang(one)}
    wanted = sum(int(one["replicas"]) for one in plan["workloads"] if one["name"] in gangs)
    placed = sum(int(one["placed"]) for one in plan["workloads"] if one["name"] in gangs)
    least = [found.bound for name, found in known.items() if name.partition(" ")[0] == "gangs"]
    most = None if None in least else wanted - sum(bound or 0 for bound in least)
    found = {"gangs": KnownValue(value=placed, bound=most), "gangs/of": _exact(wanted)}
    found["gangs/open"] = _exact(sum(not goal["proven"] for goal in plan["goals"]))
    if plan["summary"]["podsPlaced"]:
        found |= {name: known[name] for name in ("numa", "unpaired", "roots") if name in known}
        found |= {f"gangs/{name}": known[name] for name in ("levels", "nodes") if name in known}
    return found


def is_gang(workload: Mapping[str, Any]) -> bool:
    """Say whether the JSON of a workload has replicas of more than one pod, or a level."""
    groups = workload["pods"]
    alone = len(groups) == 1 and groups[0]["count"] == 1 and not groups[0].get("sharedClaims")
    beside = ("level", "preferLevel", "priority", "sharedClaims")
    return not alone or any(workload.get(name) for name in beside)


def values_of_bandwidth(regrets: Sequence[Mapping[str, Any]]) -> dict[str, KnownValue]:
    """Return the bandwidth of the JSON of regrets: that of the plan and, with its manifests, of kube-scheduler."""
    best = next((cost["best"] for cost in regrets), ())
    theirs = next((cost["theirs"] for cost in regrets if cost["against"] == "manifest"), ())
    return {**dict(_bandwidth("", best)), **dict(_bandwidth("scheduler/", theirs))}


def _scheduler(found: Mapping[str, Any] | None, goals: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, KnownValue]]:
    if found is None or not goals:
        return
    allocated = found["status"] == _ALLOCATED
    theirs = {str(goal["goal"]): int(goal["value"]) for goal in found["goals"]} if allocated else {}
    ours = {str(goal["goal"]): int(goal["value"]) for goal in goals}
    if found["status"] != "stopped":
        yield "scheduler", _exact(int(allocated and all(ours.get(goal) == value for goal, value in theirs.items())))
    for goal, value in theirs.items():
        yield f"scheduler/{goal}", _exact(value)


def _bandwidth(prefix: str, shares: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, KnownValue]]:
    """Yield the percentages of the worst GPU; nothing where one of them is not known."""
    ends = [(share["low"], share["high"]) for share in shares]
    if not ends or any(low is None or high is None for low, high in ends):
        return
    low, high = min(ends)
    yield f"{prefix}bandwidth/low", _exact(round(100 * low))
    yield f"{prefix}bandwidth/high", _exact(round(100 * high))


def _exact(value: int) -> KnownValue:
    return KnownValue(value=value, bound=value)
