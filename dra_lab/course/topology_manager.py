"""The kubelet's Topology Manager, which aligns numbers of devices: the baseline that DRA is compared with.

Source: the Kubernetes documentation "Control Topology Management Policies on a node"; pkg/kubelet/cm/topologymanager
and pkg/kubelet/cm/devicemanager of Kubernetes 1.36 (hints of each resource, their merging, and when a pod is admitted).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations, product

from msgspec import Struct

from dra_lab.course.lesson_run import LessonRun
from dra_lab.index.node_index import node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.sketch import Ask
from dra_lab.topology.locality import localities


class Policy(StrEnum):
    """The policies of the Topology Manager (`topologyManagerPolicy` of the kubelet's configuration)."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class NumaSupply(Struct, frozen=True):
    """How many devices of one resource each NUMA node has in all, and how many of them are free."""

    all: Mapping[int, int]
    free: Mapping[int, int]


class Admitted(Struct, frozen=True):
    """Whether the kubelet admits the pod, and the NUMA nodes on which it then looks for devices; () for any."""

    policy: Policy
    admits: bool
    numa_nodes: tuple[int, ...] = ()


_Hint = tuple[frozenset[int], bool]


def admit(policy: Policy, supplies: Sequence[NumaSupply], wanted: Sequence[int], numa_nodes: Sequence[int]) -> Admitted:
    """Return what the kubelet does with a container that asks for a number of devices of each resource.

    Without enough free devices no policy admits it.
    """
    if any(sum(supply.free.values()) < count for supply, count in zip(supplies, wanted, strict=True)):
        return Admitted(policy, admits=False)
    if policy is Policy.NONE:
        return Admitted(policy, admits=True)
    hints = [list(_hints(supply, count, numa_nodes)) for supply, count in zip(supplies, wanted, strict=True) if count]
    if policy is Policy.SINGLE_NUMA_NODE:
        hints = [[hint for hint in own if len(hint[0]) == 1 and hint[1]] for own in hints]
    best = _best(hints, frozenset(numa_nodes))
    admits = policy is Policy.BEST_EFFORT or best[1]
    return Admitted(policy, admits=admits, numa_nodes=tuple(sorted(best[0])) if admits else ())


def _hints(supply: NumaSupply, count: int, numa_nodes: Sequence[int]) -> Iterator[_Hint]:
    """Yield the sets of NUMA nodes with enough free devices; those as small as the machine allows are preferred."""
    sets = [frozenset(some) for size in range(1, len(numa_nodes) + 1) for some in combinations(numa_nodes, size)]
    least = min((len(one) for one in sets if sum(supply.all.get(n, 0) for n in one) >= count), default=0)
    for one in sets:
        if sum(supply.free.get(numa, 0) for numa in one) >= count:
            yield one, len(one) == least


def _best(hints: Sequence[Sequence[_Hint]], everywhere: frozenset[int]) -> _Hint:
    """Return the best merged hint; it is preferred only if all hints are preferred and name the same NUMA nodes.

    Preferred hints come before others, the fewest NUMA nodes first. The best of the others has as many NUMA nodes
    as the resource that needs the most, or the next number below.
    """
    widest = max((min(len(numa) for numa, _ in own) for own in hints if own), default=0)
    best: _Hint = (everywhere, False)
    least: tuple[int, ...] = ()
    for chosen in product(*hints):
        merged = everywhere.intersection(*(numa for numa, _ in chosen))
        if not merged:
            continue
        preferred = all(is_preferred and numa == chosen[0][0] for numa, is_preferred in chosen)
        size = len(merged) if preferred or len(merged) > widest else widest - len(merged)
        order = (not preferred, not preferred and len(merged) > widest, size, sum(1 << one for one in merged))
        if not least or order < least:
            least, best = order, (merged, preferred)
    return best


def supplies_of(cluster: Cluster, node: str, classes: Sequence[str]) -> tuple[NumaSupply, ...]:
    """Return the devices of each class on the NUMA nodes of a node, as a device plugin would report them."""
    index = node_index(cluster, cluster.target_release(None))
    places, held = localities(cluster, node), cluster.allocated
    found = []
    for name in classes:
        ask = Ask(name, 0, name, (), False, 1, (), {}, False)
        accepted = [
            item.id
            for item, stage in zip(index.view(node).devices, index.stages(ask, node), strict=True)
            if stage == "match"
        ]
        numa = {one: int(place.value) for one in accepted if (place := places[one].numa_node) is not None}
        found.append(
            NumaSupply(Counter(numa.values()), Counter(at for one, at in numa.items() if one not in held.exclusive))
        )
    return tuple(found)


def baseline_lines(run: LessonRun) -> tuple[str, ...]:
    """Return what each policy does with the numbers of a lesson, one line a policy; () for a lesson without them."""
    baseline = run.lesson.baseline
    if baseline is None:
        return ()
    supplies = supplies_of(run.cluster, baseline.node, tuple(baseline.devices))
    numa_nodes = sorted({numa for supply in supplies for numa in supply.all})
    numbers = " and ".join(f"{count} of `{name}`" for name, count in baseline.devices.items())
    lines = [f"A pod of device plugins asks for {numbers} on `{baseline.node}`:"]
    for policy in Policy:
        found = admit(policy, supplies, tuple(baseline.devices.values()), numa_nodes)
        numbers = " and ".join(map(str, found.numa_nodes))
        where = f", first on NUMA node{'s' * (len(found.numa_nodes) > 1)} {numbers}" if found.numa_nodes else ""
        lines.append(f"**{policy}**: {'admitted' if found.admits else 'refused'}{where}")
    return tuple(lines)
