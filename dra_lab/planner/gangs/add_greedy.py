"""A first answer to which nodes to add: those that hold each gang without a place by itself, where that is cheapest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.add_problem import AddQuestion
from dra_lab.planner.gangs.greedy import greedy
from dra_lab.planner.gangs.needs import WHOLE, Needs, Path
from dra_lab.planner.gangs.new_spots import Spot, spots_of
from dra_lab.planner.gangs.problem import GangProblem, GangSolution


def missing(problem: GangProblem, solution: GangSolution) -> Counter[int]:
    """Return how many gangs of each need have no place, and behind them the pods of each workload."""
    placed = Counter(one.need for one in solution.instances)
    gangs = problem.needs.gangs
    found = Counter({at: need.copies - placed[at] for at, need in enumerate(gangs) if need.copies > placed[at]})
    for at, (_, wanted) in enumerate(problem.needs.ordinary):
        if (short := wanted - sum(solution.ordinary[at].values())) > 0:
            found[len(gangs) + at] = short
    return found


class FirstAnswer:
    """Nodes for the gangs that greedy does not place on the nodes of the cluster."""

    def __init__(
        self, question: AddQuestion, base: GangProblem, profiles: Sequence[int], first: GangSolution, budget: Budget
    ) -> None:
        """Take the nodes of the cluster, the profile of each node type, and what greedy places without new nodes."""
        self.question, self.base, self.profiles, self.budget = question, base, profiles, budget
        self.lacking = missing(base, first)
        domains = min(sum(self.lacking.values()), budget.sizes.add_domains)
        self.spots = spots_of(question.cluster, question.types, question.trees, base.needs, domains)
        names = {f"+{at}": spot.place.paths for at, spot in enumerate(self.spots.found)}
        self.needs: Needs = question.needs(names)
        self.free = dict(enumerate(self.spots.limits))
        self.opened: Counter[int] = Counter()

    def find(self) -> list[tuple[Spot, int]] | None:
        """Return nodes with which greedy places everything, None if it does not find any."""
        if any(self.profiles[spot.type] < 0 for spot in self.spots.found):
            return None
        for need, count in self.lacking.items():
            for _ in range(count):
                self._open(need)
        for _ in range(self.budget.sizes.add_rounds):
            if not self.opened or self.budget.reached:
                return None
            problem, spot_of = self._with_opened()
            found = greedy(problem, self.budget.part(self.budget.shares.step))
            if not missing(problem, found):
                used = Counter(spot_of[node] for node in found.nodes if node in spot_of)
                chosen = [(self.spots.found[at], count) for at, count in sorted(used.items())]
                return chosen if self.spots.allow(used) else None
            for at, count in list(self.opened.items()):
                self._take({at: count})
        return None

    def _take(self, nodes: Mapping[int, int]) -> None:
        """Open nodes in spots, as far as there are places."""
        for at, wanted in nodes.items():
            group = self.spots.found[at].group
            limit = self.free[group]
            count = wanted if limit is None else min(wanted, limit)
            self.opened[at] += count
            if limit is not None:
                self.free[group] = limit - count

    def _open(self, need: int) -> None:
        """Open nodes that hold one gang, or one pod of a workload, in the domain where they cost least."""
        needs, pods = self.needs, Counter[int]()
        tier = needs.tiers[WHOLE]
        if need < len(needs.gangs):
            tier = needs.tiers[needs.gangs[need].required]
            for group in needs.gangs[need].groups:
                pods[group.kind] += group.least
        else:
            pods[needs.ordinary[need - len(needs.gangs)][0]] = 1
        inside: dict[Path, list[int]] = {}
        for at in range(len(self.spots.found)):
            inside.setdefault(tier.paths.get(f"+{at}", ()), []).append(at)
        found = [chosen for mine in inside.values() if (chosen := self._cheapest(mine, pods)) is not None]
        if found:
            self._take(min(found, key=self._cost))

    def _cost(self, nodes: Mapping[int, int]) -> int:
        return sum(self.question.costs[self.spots.found[at].type] * count for at, count in nodes.items())

    def _cheapest(self, spots: Sequence[int], pods: Mapping[int, int]) -> dict[int, int] | None:
        """Return the cheapest nodes of one type for the pods of each kind, None if no spot has places for them."""
        found: Counter[int] = Counter()
        for kind, count in pods.items():
            able = []
            for at in spots:
                spot = self.spots.found[at]
                each, limit = self.base.profiles[self.profiles[spot.type]].most[kind], self.free[spot.group]
                if each and (limit is None or limit * each >= count):
                    nodes = -(-count // each)
                    able.append((self.question.costs[spot.type] * nodes, nodes, at))
            if not able:
                return None
            _, nodes, at = min(able)
            found[at] += nodes
        return dict(found)

    def _with_opened(self) -> tuple[GangProblem, dict[str, int]]:
        """Return the problem with the nodes that are opened, and the spot of each of these."""
        base, spots = self.base, self.spots.found
        spot_of = {f"+{at}.{number}": at for at, count in sorted(self.opened.items()) for number in range(count)}
        needs = self.question.needs({name: spots[at].place.paths for name, at in spot_of.items()})
        keys, cells, on = list(base.keys), {key: list(nodes) for key, nodes in base.cells.items()}, dict(base.on)
        known = {key: number for number, key in enumerate(keys)}
        for name, at in spot_of.items():
            key = tuple(tier.paths.get(name) for tier in needs.tiers)
            if key not in known:
                known[key] = len(keys)
                keys.append(key)
            profile = self.profiles[spots[at].type]
            cells.setdefault((known[key], profile), []).append(name)
            on[name] = known[key], profile, base.on[f"+{spots[at].type}"][2]
        return replace(base, needs=needs, cells=cells, keys=keys, on=on), spot_of
