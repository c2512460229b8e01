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
    nodes = plan["nodes"]
    fits = bool(plan["node"])
    total = sum(len(kind["nodes"]) for kind in nodes["classes"])
    found = {"fitting": _exact(len(nodes["fitting"])), "fitting/of": _exact(total)}
    found |= {"placed": _exact(int(fits)), "wanted": _exact(1)}
    for goal in plan["goals"] if fits else ():
        found[str(goal["goal"])] = KnownValue(value=int(goal["value"]), bound=goal.get("bound"))
        if goal.get("of"):
            found["gpus"] = _exact(int(goal["of"]))
    return found | values_of_bandwidth(plan["regrets"]) | dict(_scheduler(plan.get("firstFit"), plan["goals"]))


def values_of_gang(plan: Mapping[str, Any]) -> dict[str, KnownValue]:
    """Return the figures of the JSON of gangs. Raises KeyError, TypeError or ValueError for another value."""
    gangs, pods = plan["gangs"], [pod for placed in plan["placed"] for pod in placed["pods"]]
    wanted = sum(int(gang["replicas"]) * int(gang["size"]) for gang in gangs)
    wanted += sum(int(workload["replicas"]) for workload in plan["workloads"])
    wanted_gangs = sum(int(gang["replicas"]) for gang in gangs)
    least = [goal.get("bound") for goal in plan["goals"] if str(goal["goal"]).partition(" ")[0] == "gangs"]
    most = None if None in least or not least else wanted_gangs - sum(map(int, least))
    found = {"gangs": KnownValue(value=len(plan["placed"]), bound=most), "gangs/of": _exact(wanted_gangs)}
    found["gangs/open"] = _exact(sum(not goal["proven"] for goal in plan["goals"]))
    found |= {"placed": _exact(len(pods) + len(plan["replicas"])), "wanted": _exact(wanted)}
    known = {str(goal["goal"]): KnownValue(value=int(goal["value"]), bound=goal.get("bound")) for goal in plan["goals"]}
    found |= {name: known[name] for name in ("numa", "unpaired", "roots") if name in known and pods}
    return found | {f"gangs/{name}": known[name] for name in ("levels", "nodes") if name in known and pods}


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
