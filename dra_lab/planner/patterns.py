"""Reuse one solve for other nodes: a bound for all nodes of a layout, and allocations that fit there as they are.

Only for claims without a request for all devices: then a node on which less is free can never do better.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.lexicographic import solve_problem
from dra_lab.planner.node.solution import Solution, StageResult, Taken
from dra_lab.planner.scan import EqualNodes, Scan

Pattern = tuple[tuple[int, int], ...]
"""How many devices an allocation takes of which groups of a layout."""


class Patterns(Struct):
    """Bounds and allocations found so far, by layout; `shown` says which ask takes which device of which group.

    A layout is a node's hardware with what is shared there, nothing being held alone: what fits on no such node fits on
    none of its states, and no state has better values. An allocation fits on each state that leaves enough of every
    group.
    """

    scan: Scan
    order: tuple[str, ...]
    budget: Budget
    solver: str
    bounds: dict[int, Solution] = field(default_factory=dict)
    found: dict[int, dict[Pattern, tuple[StageResult, ...]]] = field(default_factory=dict)
    short: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    shown: dict[tuple[int, Pattern], tuple[tuple[int, int, int], ...]] = field(default_factory=dict)

    def prepare(self) -> None:
        """Solve each layout that stands for several classes, as long as that is less work than it saves."""
        quiet = replace(self.budget, report=None)
        uses = Counter(equal.layout for equal in self.scan.classes if equal.layout >= 0)
        for layout in sorted(layout for layout, count in uses.items() if count > 1):
            if quiet.reached:
                return
            problem = self.scan.layouts[layout].problem
            solved = self.bounds[layout] = solve_problem(problem, self.order, quiet, solver=self.solver)
            self.learn(layout, {device: at for at, device in enumerate(problem_devices(self.scan, layout))}, solved)

    def rank(self, equal: EqualNodes) -> tuple[int, ...]:
        """Return the values that the nodes of a class cannot better, () where that is not known."""
        bound = self.bounds.get(equal.layout)
        return bound.values if bound is not None and bound.proven else ()

    def known(self, equal: EqualNodes, bar: tuple[int, ...] | None) -> Solution | None:
        """Return what is already proven of a class, without any allocation for it, or None."""
        bound = self.bounds.get(equal.layout)
        if bound is None:
            return None
        if bound.infeasible:
            return bound
        if not bound.proven:
            return None
        fits = False
        for pattern, stages in self.found.get(equal.layout, {}).items():
            if all(equal.free[group] >= count for group, count in pattern):
                fits = True
                if stages and tuple(stage.value for stage in stages) == bound.values:
                    return Solution((), stages, copied=True)
        if fits and bar is not None and (bound.values > bar or self._is_short(equal)):
            return Solution((), (), worse=True, copied=True)
        return None

    def _is_short(self, equal: EqualNodes) -> bool:
        """Say whether no more is free than on a node of the layout that was proven worse than the best."""
        known = self.short.get(equal.layout, ())
        return any(all(free <= left for free, left in zip(equal.free, more, strict=True)) for more in known)

    def learn_from(self, equal: EqualNodes, name: str, solved: Solution, best: Solution | None) -> None:
        """Remember an allocation that was found on a node; `best` is the best of all so far, this one included."""
        if equal.layout not in self.bounds or name != equal.nodes[0] or solved.copied:
            return
        # What is worse than the best so far stays worse: the best only gets better.
        late = best is not None and best.proven and solved.proven and solved.values > best.values
        if solved.worse or solved.infeasible or late:
            self.short.setdefault(equal.layout, []).append(equal.free)
        if solved.taken is not None:
            devices = self.scan.views.view(name).devices
            self.learn(equal.layout, {item.id: at for at, item in enumerate(devices)}, solved)

    def learn(self, layout: int, positions: dict[object, int], solved: Solution) -> None:
        """Remember an allocation as what it takes from each group of the layout; its values where all are proven."""
        groups = self.scan.layouts[layout].group_of
        devices = list(dict.fromkeys(device for _, device in solved.taken or ()))
        pattern = tuple(sorted(Counter(groups[positions[device]] for device in devices).items()))
        if devices:
            stages = solved.stages if solved.proven and not solved.worse else ()
            known = self.found.setdefault(layout, {})
            if stages or pattern not in known:
                known[pattern] = stages
                seen: Counter[int] = Counter()
                at = {}
                for device in devices:
                    group = groups[positions[device]]
                    at[device] = (group, seen[group])
                    seen[group] += 1
                self.shown[layout, pattern] = tuple((ask, *at[device]) for ask, device in solved.taken or ())

    def placed(self, equal: EqualNodes, name: str, values: tuple[int, ...]) -> Taken | None:
        """Return devices of a node that have these values, as an allocation on equal hardware shows; None: not known.

        Devices of one group are interchangeable, so that the first free ones of each serve as those did.
        """
        held = self.scan.rules.allocated.exclusive
        free: dict[int, list[DeviceID]] = {}
        groups = self.scan.layouts[equal.layout].group_of
        for position, item in enumerate(self.scan.views.view(name).devices):
            if item.id not in held:
                free.setdefault(groups[position], []).append(item.id)
        for pattern, stages in self.found.get(equal.layout, {}).items():
            fits = all(len(free.get(group, ())) >= count for group, count in pattern)
            if fits and tuple(stage.value for stage in stages) == values:
                return tuple((ask, free[group][at]) for ask, group, at in self.shown[equal.layout, pattern])
        return None


def problem_devices(scan: Scan, layout: int) -> tuple[object, ...]:
    """Return the devices of the node that a layout was made from, in kube-scheduler's order."""
    return tuple(item.id for item in scan.views.view(scan.layouts[layout].problem.node).devices)
