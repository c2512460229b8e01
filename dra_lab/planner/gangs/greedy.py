"""A first solution: gang after gang in the domain where it leaves least, pods node after node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, combinations
from operator import add, sub

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.gangs.goal_values import values_of
from dra_lab.planner.gangs.needs import GangNeed, Path, priorities
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance, fewest, plus

Slices = tuple[tuple[int, int], ...]


def greedy(problem: GangProblem, budget: Budget, *, by_value: bool = True) -> GangSolution:
    """Return a solution in which gangs of a high priority are placed first, large ones before small ones.

    They are placed where they leave least. Then, with `by_value`, each is placed again where its pods have the best
    values, as long as that is better for the whole; without it, only how much has a place matters.
    """
    found = _Greedy(problem, budget)
    found.run()
    if by_value:
        found.by_value = True
        found.place_again()
    return found.solution


class _Greedy:
    def __init__(self, problem: GangProblem, budget: Budget) -> None:
        self.problem, self.budget = problem, budget
        self.solution = GangSolution(ordinary=[{} for _ in problem.needs.ordinary])
        self.within: list[list[list[int]]] = []
        """For each placed gang and group, the regions where its pods may be."""
        self.nodes: list[list[str]] = [[] for _ in problem.keys]
        for (region, _), nodes in problem.cells.items():
            self.nodes[region].extend(nodes)
        self.zero = (0,) * problem.kinds
        self.by_value = False
        self.pods: list[dict[str, Counts]] = []
        """For each placed gang, its pods on each node."""
        self._more: dict[tuple[int, Counts, int], int] = {}
        self._added: dict[tuple[int, Counts, int], Values] = {}
        self._free: dict[tuple[int, int], int] = {}
        self._added_in: dict[tuple[int, int], list[Values]] = {}
        self._changed: list[tuple[str, Counts]] = []

    def run(self) -> None:
        """Place all gangs and ordinary pods."""
        needs = self.problem.needs
        for priority in priorities(needs):
            mine = [(at, need) for at, need in enumerate(needs.gangs) if need.priority == priority]
            for at, need in sorted(mine, key=lambda row: -sum(group.least for group in row[1].groups)):
                for _ in range(need.copies):
                    if self.budget.reached or not self._place(at, need):
                        break
            for number, one in enumerate(self.solution.instances):
                if needs.gangs[one.need].priority == priority:
                    self._add_more(number)
            if priority == 0:
                self.place_ordinary()

    def place_again(self) -> None:
        """Place each gang again where its pods have the best values, until no such change makes the whole better."""
        values = values_of(self.problem, self.solution)
        same = 0
        while same < len(self.solution.instances) and not self.budget.reached:
            same += 1
            kept = self._taken_away(0)
            need = kept[0].need
            if self._are_known(kept[2]) and self._place(need, self.problem.needs.gangs[need]):
                self._add_more(len(self.solution.instances) - 1)
                found = values_of(self.problem, self.solution)
                if found < values:
                    values, same = found, 0
                    continue
                self._taken_away(len(self.solution.instances) - 1)
            self._given_back(kept)

    def _are_known(self, nodes: Iterable[str]) -> bool:
        """Say whether a way was found for what is left on nodes."""
        profiles, on = self.problem.profiles, self.problem.on
        return all(self.solution.nodes.get(node, self.zero) in profiles[on[node][1]].found for node in nodes)

    def _taken_away(self, number: int) -> tuple[Instance, list[list[int]], dict[str, Counts]]:
        """Take a gang out of the solution; return it, with where its pods may be and are."""
        one, within, pods = self.solution.instances.pop(number), self.within.pop(number), self.pods.pop(number)
        for node, counts in pods.items():
            self._write(node, tuple(map(sub, self.solution.nodes[node], counts)))
        return one, within, pods

    def _given_back(self, kept: tuple[Instance, list[list[int]], dict[str, Counts]]) -> None:
        one, within, pods = kept
        self.solution.instances.append(one)
        self.within.append(within)
        self.pods.append(pods)
        for node, counts in pods.items():
            self._write(node, tuple(map(add, self.solution.nodes.get(node, self.zero), counts)))

    def _note_pods(self, number: int) -> None:
        """Note what the latest changes gave to a gang."""
        first: dict[str, Counts] = {}
        for node, counts in self._changed:
            first.setdefault(node, counts)
        self._changed.clear()
        mine = self.pods[number]
        for node, before in first.items():
            more = tuple(map(sub, self.solution.nodes.get(node, self.zero), before))
            mine[node] = tuple(map(add, mine.get(node, self.zero), more))

    # ------------------------------------------------------------------ what nodes have

    def more(self, node: str, kind: int) -> int:
        """Return how many more pods of a kind a node takes."""
        _, profile, _ = self.problem.on[node]
        counts = self.solution.nodes.get(node, self.zero)
        key = profile, counts, kind
        if key not in self._more:
            self._more[key] = self.problem.more(profile, counts, kind)
        return self._more[key]

    def free(self, region: int, kind: int) -> int:
        """Return how many more pods of a kind the nodes of a region take."""
        key = region, kind
        if key not in self._free:
            self._free[key] = sum(self.more(node, kind) for node in self.nodes[region])
        return self._free[key]

    def added(self, node: str, kind: int) -> Values:
        """Return what one more pod of a kind adds to the goals on a node that takes it."""
        _, profile, _ = self.problem.on[node]
        counts = self.solution.nodes.get(node, self.zero)
        key = profile, counts, kind
        if key not in self._added:
            found = self.problem.profiles[profile].found
            self._added[key] = tuple(map(sub, found[plus(counts, kind, 1)], found[counts]))
        return self._added[key]

    def added_in(self, region: int, kind: int) -> list[Values]:
        """Return what pods of a kind add one after the other on the nodes of a region, the best values first."""
        key = region, kind
        if key not in self._added_in:
            mark, found = len(self._changed), []
            for *_, node in self._in_order([region], kind, 1_000_000):
                found.append(self.added(node, kind))
                self._set(node, plus(self.solution.nodes.get(node, self.zero), kind, 1))
            self._undo(mark)
            self._added_in[key] = found
        return self._added_in[key]

    def added_by(self, regions: Iterable[int], kind: int, pods: int) -> Values:
        """Return about what a number of pods of a kind adds to the goals in regions."""
        every = [self.added_in(region, kind)[:pods] for region in regions]
        cheapest = sorted(every[0] if len(every) == 1 else chain.from_iterable(every))[:pods]
        return tuple(map(sum, zip(*cheapest, strict=True)))

    def _in_order(self, regions: Iterable[int], kind: int, pods: int) -> Iterator[tuple[Values, bool, int, str]]:
        """Yield the node of each pod of a kind, last in a row; the caller places it there before the next."""
        used = self.solution.nodes
        able = [node for region in regions for node in self.nodes[region] if self.more(node, kind)]
        queue = [(self.added(node, kind), node not in used, -self.more(node, kind), node) for node in able]
        heapify(queue)
        for _ in range(pods):
            if not queue:
                return
            first = heappop(queue)
            yield first
            node = first[-1]
            if more := self.more(node, kind):
                heappush(queue, (self.added(node, kind), node not in used, -more, node))

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
            self._added_in.pop((region, kind), None)

    def _undo(self, mark: int) -> None:
        while len(self._changed) > mark:
            self._write(*self._changed.pop())

    # ------------------------------------------------------------------ pods

    def put(
        self, kind: int, pods: int, regions: Iterable[int], slices: Slices, prefer: int = -1
    ) -> dict[int, int] | None:
        """Place pods of a kind in some regions, in few domains of a tier if one is preferred.

        None, and nothing is changed, if they do not fit.
        """
        mark = len(self._changed)
        placed: dict[int, int] = {}
        for more in self._parts(kind, pods, regions, slices, prefer):
            for region, count in more.items():
                placed[region] = placed.get(region, 0) + count
        if sum(placed.values()) < pods:
            self._undo(mark)
            return None
        return placed

    def _parts(
        self, kind: int, pods: int, regions: Iterable[int], slices: Slices, prefer: int
    ) -> Iterator[dict[int, int]]:
        if not slices and prefer < 0:
            yield from self._on_nodes(kind, pods, regions)
            return
        if not slices:
            left = list(regions)
            pair = self._pair(kind, pods, left, prefer) if self.by_value else left
            if len(pair) < len(left):
                yield from self._on_nodes(kind, pods, pair)
                return
            while pods and left:
                part = next(iter(self._domains(kind, pods, left, prefer)), left)
                for more in self._on_nodes(kind, pods, part):
                    pods -= sum(more.values())
                    yield more
                left = [region for region in left if region not in part]
            return
        (size, tier), *finer = slices
        regions = list(regions)
        while pods:
            found = None
            for inside in self._domains(kind, size if self.by_value else pods, regions, tier):
                found = self.put(kind, size, inside, tuple(finer))
                if found is not None:
                    break
            if found is None:
                return
            pods -= size
            yield found

    def _on_nodes(self, kind: int, pods: int, regions: Iterable[int]) -> Iterator[dict[int, int]]:
        if self.by_value:
            for *_, node in self._in_order(regions, kind, pods):
                self._set(node, plus(self.solution.nodes.get(node, self.zero), kind, 1))
                yield {self.problem.on[node][0]: 1}
            return
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
        found = self._parted(regions, tier)
        free = {path: sum(self.free(region, kind) for region in mine) for path, mine in found.items()}
        if self.by_value:
            values = {path: self.added_by(mine, kind, pods) for path, mine in found.items() if free[path] >= pods}
            order = sorted(values, key=lambda path: (values[path], free[path]))
            order += sorted(found.keys() - values.keys(), key=lambda path: (-free[path], path))
        else:
            full = [path for path in found if free[path] < pods]
            order = sorted(found.keys() - set(full), key=lambda path: (free[path], path))
            order += sorted(full, key=lambda path: (-free[path], path))
        return [found[path] for path in order]

    def _pair(self, kind: int, pods: int, regions: Iterable[int], tier: int) -> list[int]:
        """Return the regions of the two domains of a tier with the best values, if two hold the pods and one cannot."""
        found = self._parted(regions, tier)
        free = {path: sum(self.free(region, kind) for region in mine) for path, mine in found.items()}
        both = [pair for pair in combinations(found, 2) if sum(free[path] for path in pair) >= pods]
        if not both or max(free.values()) >= pods:
            return list(regions)
        best = min(both, key=lambda pair: (self.added_by([r for path in pair for r in found[path]], kind, pods), pair))
        return [region for path in best for region in found[path]]

    # ------------------------------------------------------------------ gangs

    def _place(self, at: int, need: GangNeed) -> bool:
        inside = self.problem.inside[need.required]
        free = {
            path: tuple(sum(self.free(region, group.kind) for region in mine) for group in need.groups)
            for path, mine in inside.items()
        }
        able = [path for path in inside if all(f >= g.least for f, g in zip(free[path], need.groups, strict=True))]
        values: dict[Path, tuple[int, ...]] = dict.fromkeys(able, ())
        if self.by_value:
            values = {path: self._about(need, inside[path]) for path in able}
        for path in sorted(able, key=lambda path: (values[path], sum(free[path]), path)):
            if self.budget.reached:
                return False
            found = self._in_domain(need, inside[path])
            if found is not None:
                groups, within = found
                self.solution.instances.append(Instance(at, path, groups))
                self.within.append(within)
                self.pods.append({})
                self._note_pods(len(self.pods) - 1)
                return True
        return False

    def _about(self, need: GangNeed, regions: Sequence[int]) -> tuple[int, ...]:
        """Return about what a gang adds to the goals in regions, preferred domains first."""
        spread, rows = 0, [(0,) * len(self.problem.device)]
        for group in need.groups:
            tier, parts = group.preferred if group.preferred >= 0 else need.preferred, [list(regions)]
            if tier >= 0:
                inside = list(self._parted(regions, tier).values())
                free = [sum(self.free(region, group.kind) for region in part) for part in inside]
                spread += fewest(free, group.least)
                fitting = [part for part, pods in zip(inside, free, strict=True) if pods >= group.least]
                parts = fitting or [self._pair(group.kind, group.least, regions, tier)]
            if group.least:
                rows.append(min(self.added_by(part, group.kind, group.least) for part in parts))
        return (spread, *map(sum, zip(*rows, strict=True)))

    def _parted(self, regions: Iterable[int], tier: int) -> dict[Path, list[int]]:
        found: dict[Path, list[int]] = {}
        for region in regions:
            path = self.problem.domain(tier, region)
            if path is not None:
                found.setdefault(path, []).append(region)
        return found

    def _in_domain(self, need: GangNeed, regions: Sequence[int]) -> tuple[list[dict[int, int]], list[list[int]]] | None:
        mark = len(self._changed)
        groups: dict[int, dict[int, int]] = {}
        within: dict[int, list[int]] = {}
        alone = [row for row in enumerate(need.groups) if row[1].same_as < 0]
        for at, group in sorted(alone, key=lambda row: -row[1].least):
            prefer = group.preferred if group.preferred >= 0 else need.preferred
            sets = [list(regions)]
            if group.required >= 0:
                sets = self._domains(group.kind, group.least, regions, group.required)
            shared = [(other, one) for other, one in enumerate(need.groups) if one.same_as == at]
            for mine in sets:
                before = len(self._changed)
                found = self.put(group.kind, group.least, mine, group.slices, prefer)
                each = {at: found}
                for other, one in shared if found is not None else ():
                    each[other] = self.put(one.kind, one.least, mine, ())
                placed = {other: row for other, row in each.items() if row is not None}
                if len(placed) == 1 + len(shared):
                    groups |= placed
                    within |= dict.fromkeys(placed, mine)
                    break
                self._undo(before)
            else:
                self._undo(mark)
                return None
        return [groups[at] for at in range(len(groups))], [within[at] for at in range(len(groups))]

    def _add_more(self, number: int) -> None:
        """Place what a gang wants beyond its minimum."""
        one, need = self.solution.instances[number], self.problem.needs.gangs[self.solution.instances[number].need]
        self._changed.clear()
        for row, group, regions in zip(one.groups, need.groups, self.within[number], strict=True):
            size = group.slices[0][0] if group.slices else 1
            for _ in range((group.most - group.least) // size):
                found = None if self.budget.reached else self.put(group.kind, size, regions, group.slices)
                if found is None:
                    break
                for region, count in found.items():
                    row[region] = row.get(region, 0) + count
        self._note_pods(number)

    def place_ordinary(self) -> None:
        for row, (kind, wanted) in zip(self.solution.ordinary, self.problem.needs.ordinary, strict=True):
            for found in self._on_nodes(kind, wanted, range(len(self.problem.keys))):
                for region, count in found.items():
                    row[region] = row.get(region, 0) + count
        self._changed.clear()
