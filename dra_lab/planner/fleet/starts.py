"""Good solutions of the master to begin with: filled greedily, or lying next to the relaxation's.

Benchmark rows that need it: 2,500 claims on 500 mixed nodes (`bench_fleet`) take 1.6 s to the proof, and are not proven
in 10 s without what lies next to the relaxation. Shares of GPU memory on 200 nodes (`bench_crowded`) take 0.3 s, and
12 s without solutions on few nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import floor
from operator import le

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.master import Master
from dra_lab.planner.fleet.relaxation import LinearRelaxation
from dra_lab.planner.fleet.site_classes import Chosen, Taken, few_home_nodes, fewer_home_nodes
from dra_lab.planner.node.solver_outcome import ROUNDING


def best_start(master: Master, known: Chosen | None, budget: Budget, *, all_placed: bool = False) -> Chosen:
    """Return the best of a solution, what lies next to the relaxation, and what uses few nodes.

    The solution is `known` with more pods, greedily; nothing else is tried with nodes that share devices.
    """
    known = greedy(master, budget, known)
    kept = [(UNPLACED, 0)] if all_placed else []
    relaxed = None
    for goal in master.order:
        if budget.reached:
            return known
        bound, relaxed = master.relaxed_bound(goal, kept, budget)
        kept.append((goal, bound))
    if budget.reached:
        return known
    if relaxed is None or all(master.value(goal, known) <= bound for goal, bound in kept):
        return known
    best = min(known, _rounded(master, relaxed, budget), key=master.values)
    for chosen in _on_few_nodes(master, relaxed, best, budget) if master.home_nodes and NODES in master.order else ():
        best = min(best, chosen, key=master.values)
    return best


def greedy(master: Master, budget: Budget, known: Chosen | None = None) -> Chosen:
    """Return a solution found by taking the patterns with most replicas first, site class by site class.

    What is `known` stays, and what it leaves is taken.
    """
    before = [dict[Counts, int]() for _ in master.classes] if known is None else known.patterns
    left, chosen = list(master.demand), []
    for taken in before:
        left = _less(left, taken)
    for one in () if known is None else known.shared:
        left = [have - one.pods.get(pod, 0) for pod, have in enumerate(left)]
    for site_class, taken in zip(master.classes, before, strict=True):
        mine, rest = dict(taken), site_class.without(taken) if taken and any(left) else site_class
        able = [row for row in site_class.patterns.items() if all(map(le, row[0], left))] if any(left) else []
        for counts, _ in sorted(able, key=lambda row: (-sum(row[0]), row[1])):
            if rest.count < 1:
                break
            wanted = [have // count for have, count in zip(left, counts, strict=True) if count]
            times = min([rest.most(counts), *wanted]) if any(counts) else 0
            if times:
                mine[counts] = mine.get(counts, 0) + times
                rest = rest.without({counts: times})
                left = _less(left, {counts: times})
        chosen.append(mine)
    if known is not None and chosen == known.patterns:
        return known
    used = few_home_nodes(master.classes, master.home_nodes, chosen)
    if known is not None:
        return Chosen(chosen, used, known.shared)
    shared = []
    for nodes in master.shared:
        shared.append(nodes.start(left, master.worth, budget))
        left = [have - shared[-1].pods.get(pod, 0) for pod, have in enumerate(left)]
    return Chosen(chosen, used, tuple(shared))


def _rounded(master: Master, relaxed: LinearRelaxation, budget: Budget) -> Chosen:
    """Keep the whole part of a relaxed solution and decide the rest exactly: few site classes are not whole.

    On which nodes the rest is does not count there.
    """
    chosen, broken = relaxed.whole()
    mine = broken[: budget.sizes.classes]
    left: Sequence[int] = master.demand
    for taken in chosen:
        left = _less(left, taken)
    classes = [master.classes[at].without(chosen[at]) for at in mine]
    rest = master.apart(classes, left)
    for at, taken in zip(mine, rest.filled(budget).patterns, strict=True):
        for counts, times in taken.items():
            chosen[at][counts] = chosen[at].get(counts, 0) + times
    return Chosen(chosen, few_home_nodes(master.classes, master.home_nodes, chosen))


def _on_few_nodes(master: Master, relaxed: LinearRelaxation, known: Chosen, budget: Budget) -> Iterator[Chosen]:
    """Yield a solution on about as many nodes as the relaxation needs, as good in the goals before, if one is found.

    The nodes are chosen first, as the relaxation uses them; without that choice the rest is the model of a fleet whose
    nodes are not of several parts.
    """
    at = master.order.index(NODES)
    before = list(zip(master.order[:at], master.values(known), strict=False))
    for more in (0, *(2**power for power in range(budget.sizes.more_nodes.bit_length()))):
        used = _whole_nodes(master, relaxed.nodes, more)
        if budget.reached or sum(used) >= sum(known.home_nodes):
            return
        members = [0] * len(master.classes)
        for home, count in zip(master.home_nodes, used, strict=True):
            for site_class, each in home.classes.items():
                members[site_class] += each * count
        inside = {site_class for home in master.home_nodes for site_class in home.classes}
        classes = [replace(r, count=members[n]) if n in inside else r for n, r in enumerate(master.classes)]
        part = master.apart(classes, master.demand)
        if any(part.relaxed_bound(goal, before[:n], budget)[0] > value for n, (goal, value) in enumerate(before)):
            continue
        last = budget.part(budget.shares.last)
        patterns = part.run(best_start(part, None, last), last).chosen
        if patterns is not None and part.values(patterns)[:at] <= tuple(value for _, value in before):
            fewer = fewer_home_nodes(master.classes, master.home_nodes, patterns.patterns, used)
            yield Chosen(patterns.patterns, fewer)
            return


def _whole_nodes(master: Master, relaxed: Sequence[float], more: int) -> list[int]:
    """Return whole numbers of nodes near relaxed ones, those of which most is used rounded up, plus `more`."""
    used = [min(home.count, floor(n + ROUNDING)) for home, n in zip(master.home_nodes, relaxed, strict=True)]
    wanted = -floor(ROUNDING - sum(relaxed)) + more
    holds = [sum(home.classes.values()) for home in master.home_nodes]
    rest = sorted(range(len(used)), key=lambda n: (used[n] - relaxed[n], -holds[n], n))
    for first in (True, False):
        for n in rest:
            free = master.home_nodes[n].count - used[n]
            used[n] += max(0, min(free, 1 if first else free, wanted - sum(used)))
    return used


def _less(left: Sequence[int], taken: Taken) -> list[int]:
    rest = list(left)
    for counts, times in taken.items():
        rest = [have - times * count for have, count in zip(rest, counts, strict=True)]
    return rest
