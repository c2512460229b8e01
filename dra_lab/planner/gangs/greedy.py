"""A first solution: gang after gang in the domain where it leaves least, pods node after node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.needs import GangNeed, GroupNeed, Path, priorities
from dra_lab.planner.gangs.problem import GangProblem, Instance, Solution

Slices = tuple[tuple[int, int], ...]


def greedy(problem: GangProblem, budget: Budget) -> Solution:
    """Return a solution in which gangs of a high priority are placed first, large ones before small ones."""
    return _Greedy(problem, budget).run()


class _Greedy:
    def __init__(self, problem: GangProblem, budget: Budget) -> None:
        self.problem, self.budget = problem, budget
        self.solution = Solution(ordinary=[{} for _ in problem.needs.ordinary])
        self.within: list[list[list[int]]] = []
        """For each placed gang and group, the regions where its pods may be."""
        self.nodes: list[list[str]] = [[] for _ in problem.keys]
        for (region, _), nodes in problem.cells.items():
            self.nodes[region].extend(nodes)
        self.zero = (0,) * problem.kinds
        self._more: dict[tuple[int, Counts, int], int] = {}
        self._free: dict[tuple[int, int], int] = {}
        self._changed: list[tuple[str, Counts]] = []

    def run(self) -> Solution:
        needs = self.problem.needs
        for priority in priorities(needs):
            mine = [(at, need) for at, need in enumerate(needs.gangs) if need.priority == priority]
            for at, need in sorted(mine, key=lambda row: -sum(group.least for group in row[1].groups)):
                for _ in range(need.copies):
                    if self.budget.reached or not self._place(at, need):
                        break
            for one, within in zip(self.solution.instances, self.within, strict=True):
                if needs.gangs[one.need].priority == priority:
                    self._add_more(one, needs.gangs[one.need], within)
            if priority == 0:
                self._place_ordinary()
        return self.solution

    # ------------------------------------------------------------------ what nodes have

    def more(self, node: str, kind: int) -> int:
        """Return how many more pods of a kind a node takes."""
        _, profile, _ = self.problem.on[node]
        counts = self.solution.nodes.get(node, self.zero)
        key = profile, counts, kind
        if key not in self._more:
            found, more = self.problem.profiles[profile].found, 0
            while plus(counts, kind, more + 1) in found:
                more += 1
            self._more[key] = more
        return self._more[key]

    def free(self, region: int, kind: int) -> int:
        """Return how many more pods of a kind the nodes of a region take."""
        key = region, kind
        if key not in self._free:
            self._free[key] = sum(self.more(node, kind) for node in self.nodes[region])
        return self._free[key]

    def _set(self, node: str, counts: Counts) -> None:
        self._changed.append((node, self.solution.nodes.get(node, self.zero)))
        self._write(node, counts)

    def _write(self, node: str, counts: Counts) -> None:
        if any(counts):
            self.solution.nodes[node] = counts
        else:
            self.solution.nodes.pop(node, None)
        region = self.problem.on[node][0]
        for kind in range(self.problem.kinds):
            self._free.pop((region, kind), None)

    def _undo(self, mark: int) -> None:
        while len(self._changed) > mark:
            self._write(*self._changed.pop())

    # ------------------------------------------------------------------ pods

    def put(self, kind: int, pods: int, regions: Iterable[int], slices: Slices) -> dict[int, int] | None:
        """Place pods of a kind in some regions; None, and nothing is changed, if they do not fit."""
        mark = len(self._changed)
        placed: dict[int, int] = {}
        for more in self._parts(kind, pods, regions, slices):
            for region, count in more.items():
                placed[region] = placed.get(region, 0) + count
        if sum(placed.values()) < pods:
            self._undo(mark)
            return None
        return placed

    def _parts(self, kind: int, pods: int, regions: Iterable[int], slices: Slices) -> Iterator[dict[int, int]]:
        if not slices:
            yield from self._on_nodes(kind, pods, regions)
            return
        (size, tier), *finer = slices
        for inside in self._domains(kind, pods, regions, tier):
            while pods:
                found = self.put(kind, size, inside, tuple(finer))
                if found is None:
                    break
                pods -= size
                yield found

    def _on_nodes(self, kind: int, pods: int, regions: Iterable[int]) -> Iterator[dict[int, int]]:
        for region in regions:
            for node in sorted(self.nodes[region], key=lambda node: (-self.more(node, kind), node)):
                count = min(pods, self.more(node, kind))
                if not count:
                    break
                self._set(node, plus(self.solution.nodes.get(node, self.zero), kind, count))
                pods -= count
                yield {region: count}

    def _domains(self, kind: int, pods: int, regions: Iterable[int], tier: int) -> list[list[int]]:
        """Return the domains of a tier among regions: the smallest in which all pods fit first, then the largest."""
        found: dict[Path, list[int]] = {}
        for region in regions:
            path = self.problem.domain(tier, region)
            if path is not None:
                found.setdefault(path, []).append(region)
        free = {path: sum(self.free(region, kind) for region in mine) for path, mine in found.items()}
        order = sorted(found, key=lambda path: (free[path] < pods, free[path] if free[path] >= pods else -free[path]))
        return [found[path] for path in order]

    # ------------------------------------------------------------------ gangs

    def _place(self, at: int, need: GangNeed) -> bool:
        inside = self.problem.inside[need.required]
        free = {
            path: tuple(sum(self.free(region, group.kind) for region in mine) for group in need.groups)
            for path, mine in inside.items()
        }
        able = [path for path in inside if all(f >= g.least for f, g in zip(free[path], need.groups, strict=True))]
        for path in sorted(able, key=lambda path: (sum(free[path]), path)):
            if self.budget.reached:
                return False
            found = self._in_domain(need, inside[path])
            if found is not None:
                groups, within = found
                self.solution.instances.append(Instance(at, path, groups))
                self.within.append(within)
                self._changed.clear()
                return True
        return False

    def _in_domain(self, need: GangNeed, regions: Sequence[int]) -> tuple[list[dict[int, int]], list[list[int]]] | None:
        mark = len(self._changed)
        groups: dict[int, dict[int, int]] = {}
        within: dict[int, list[int]] = {}
        for at, group in sorted(enumerate(need.groups), key=lambda row: -row[1].least):
            for mine in self._choices(need, group, regions):
                found = self.put(group.kind, group.least, mine, group.slices)
                if found is not None:
                    groups[at], within[at] = found, mine
                    break
            else:
                self._undo(mark)
                return None
        return [groups[at] for at in range(len(groups))], [within[at] for at in range(len(groups))]

    def _choices(self, need: GangNeed, group: GroupNeed, regions: Sequence[int]) -> Iterator[list[int]]:
        """Yield the sets of regions of which one is to have a group, best first."""
        prefer = group.preferred if group.preferred >= 0 else need.preferred
        able = [r for r in regions if self.problem.domain(need.required, r) is not None]
        sets = self._domains(group.kind, group.least, able, group.required) if group.required >= 0 else [able]
        for mine in sets:
            if prefer < 0:
                yield mine
                continue
            parts = self._domains(group.kind, group.least, mine, prefer)
            others = [region for region in mine if self.problem.domain(prefer, region) is None]
            yield [*(region for part in parts for region in part), *others]

    def _add_more(self, one: Instance, need: GangNeed, within: Sequence[list[int]]) -> None:
        for row, group, regions in zip(one.groups, need.groups, within, strict=True):
            size = group.slices[0][0] if group.slices else 1
            for _ in range((group.most - group.least) // size):
                found = None if self.budget.reached else self.put(group.kind, size, regions, group.slices)
                if found is None:
                    break
                for region, count in found.items():
                    row[region] = row.get(region, 0) + count

    def _place_ordinary(self) -> None:
        for row, (kind, wanted) in zip(self.solution.ordinary, self.problem.needs.ordinary, strict=True):
            for found in self._on_nodes(kind, wanted, range(len(self.problem.keys))):
                for region, count in found.items():
                    row[region] = row.get(region, 0) + count


def plus(counts: Counts, kind: int, more: int) -> Counts:
    """Return numbers of pods with more of one kind."""
    return (*counts[:kind], counts[kind] + more, *counts[kind + 1 :])
