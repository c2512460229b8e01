"""Nodes that share devices, by copy: a pod for each that may be placed there, under all rules, present or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from msgspec.structs import replace as changed

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts, pod_limits
from dra_lab.planner.fleet.pack import CopiesModel
from dra_lab.planner.fleet.shared_devices import PodsOnNode, SharedModel, SharedNodes, SharedTaken
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.copies import replicated
from dra_lab.planner.node.milp import is_enough, overbooked
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression, total


@dataclass(frozen=True)
class ByCopy(SharedNodes):
    """Nodes that share devices with up to `counts` pods on each part of `site`."""

    site: Site
    counts: Counts
    order: tuple[str, ...]

    @property
    def variables(self) -> int:
        """Return about how many variables their model has: what each pod may take."""
        return _variables(self.site, self.counts)

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> CopyModel:  # noqa: ARG002 - `counts` is less
        """Add the nodes to a model, under a number of their own."""
        return CopyModel(lp, number, self)

    def placed(self, taken: SharedTaken) -> list[PodsOnNode]:
        """Return where the pods of a solution are: all of them on one site."""
        return [PodsOnNode(self.site, self.site.members[0], taken.counts or self.site.zero, taken.takes)]


def by_copy(site: Site, demand: Sequence[int], order: Sequence[str], budget: Budget) -> ByCopy | None:
    """Return nodes that share devices with all pods that may be placed there; None if too many, or time is over.

    `order` names the goals of devices.
    """
    if budget.reached:
        return None
    problem = site.problem
    # A pod that is absent takes nothing; one that is present takes something for each request.
    never = {ask for ask in range(len(problem.asks)) if not is_enough(problem, ask)}
    problem = changed(problem, impossible=problem.impossible | never)
    rows = [problem.requests[slice(*part.requests)] for part in site.parts]
    able = tuple([int(all(set(row) - problem.impossible for row in mine)) for mine in rows])
    if _variables(site, able) > budget.sizes.copies:
        return None
    site = replace(site, make=lambda: problem)
    caps = pod_limits(site, demand).caps
    if _variables(site, caps) > budget.sizes.copies:
        return None
    return ByCopy(site.nodes[0], site, caps, tuple(order))


def _variables(site: Site, counts: Counts) -> int:
    groups_of = Counter(ask for group in site.problem.groups for ask in group.asks)
    each = [sum(groups_of[ask] for ask in range(*part.asks)) for part in site.parts]
    return sum(count * size for count, size in zip(counts, each, strict=True))


class CopyModel(SharedModel):
    """Which pods are present, and what each takes."""

    def __init__(self, lp: Expression, number: int, shared: ByCopy) -> None:
        """Add every rule for every pod that may be present."""
        super().__init__(lp)
        self.site = shared.site
        before = set(lp.variables())
        copies = replicated(self.site.problem, self.site.parts, shared.counts)
        self.whole = CopiesModel(copies, shared.order, lp, f"c{number}_")
        self.values = [dict(pulp.LpAffineExpression(goal).items()) for goal in self.whole.goals]
        self._present = self.whole.model.present
        self._part = [self.site.parts[copy.part] for copy in copies.copies]
        self.used = {node: self.whole.model.integer("node", 1) for node in shared.nodes}
        self.placed = [(part.pod, self._present[at]) for at, part in enumerate(self._part)]
        for at, (one, other) in enumerate(pairwise(self._part)):
            # Pods of one part are interchangeable: those that are present come first.
            if one is other:
                self.whole.model.require(self._present[at + 1] <= self._present[at])
        self.variables = [variable for variable in lp.variables() if variable not in before]

    def count_nodes(self) -> None:
        """Allow pods only on nodes that are counted as used."""
        for at, part in enumerate(self._part):
            self.whole.model.require(self._present[at] <= self.used[part.node])

    def cut(self) -> bool:
        """Forbid a solution that only the solver's rounding allowed; say whether there was anything to forbid."""
        excess = overbooked(self.whole.model)
        for taken in excess:
            self.whole.model.require(total(taken) <= len(taken) - 1)
        return bool(excess)

    def read(self) -> SharedTaken:
        """Return what the variables take."""
        present = [at for at in range(len(self._part)) if self._present[at].varValue]
        takes, times = self.whole.takes(), Counter(self._part[at] for at in present)
        return SharedTaken(
            Counter(self._part[at].pod for at in present),
            len({self._part[at].node for at in present}),
            self.whole.values(self.whole.order, present),
            tuple(int(variable.varValue or 0) for variable in self.variables),
            tuple(times[part] for part in self.site.parts),
            tuple(takes[at] for at in present),
        )
