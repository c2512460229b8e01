"""One node state among many of its hardware, as the master asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.exhaust import exhaust
from dra_lab.planner.fleet.pack import Packed, Takes, Values, pack
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.tables import named
from dra_lab.planner.fleet.wide import WideLayout


@dataclass
class WideTable:
    """One state of a layout, as the master asks for it; `packed` holds what was found out exactly since."""

    site: Site
    wide: WideLayout
    number: int
    order: tuple[str, ...]
    solver: str
    packed: dict[Counts, Packed] = field(default_factory=dict)

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        found = dict(self.wide.found[self.number])
        found.update({counts: packed.upper for counts, packed in self.packed.items() if packed.upper is not None})
        return found

    def least(self) -> dict[Counts, Values]:
        """Return all numbers that may be held, with values that no way undercuts."""
        least = dict(self.wide.least[self.number])
        for counts, packed in self.packed.items():
            if packed.lower is None:
                least.pop(counts, None)
            else:
                least[counts] = packed.lower
        return least

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        known = self.packed.get(counts)
        return known.lower if known is not None else self.wide.least[self.number].get(counts)

    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, values each of which no way of a replica undercuts; None where none can stand."""
        return self.wide.floors

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers."""
        known = self.packed.get(counts)
        if known is not None and known.upper is not None:
            return known.takes
        return self.wide.takes(self.number, counts)

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        known = self.packed.get(counts)
        if known is not None:
            return not known.exact
        return self.wide.found[self.number].get(counts) != self.wide.least[self.number].get(counts)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find the best way for some numbers, or what a limit leaves of it; never worse than what was found before."""
        lower = self.lower(counts)
        if lower is None:
            return Packed(None)
        before = self.found().get(counts)
        takes = self.takes(counts) if before is not None else ()
        if budget.reached:
            return Packed(lower, before, takes)
        every = exhaust(
            self.wide.stock, self.wide.stock.left[self.number], counts, before, self.lower, budget.sizes.extended
        )
        if every is not None:
            if every.rows is not None:
                columns = self.wide.stock.columns
                summed = sum(columns[pod].values[column] for pod, column in every.rows)
                before, takes = tuple(int(v) for v in summed), self.wide.told_takes(every.rows)
            self.packed[counts] = Packed(before, before, takes)
            return self.packed[counts]
        problem, parts = self.site.problem, self.site.parts
        found = pack(problem, parts, counts, self.order, budget, solver=self.solver, lower=lower)
        found = replace(found, takes=named(self.site, found.takes))
        if found.lower is None and before is not None:
            raise SolverError("the solver finds no way where one is known; try the solver CBC")
        if before is not None and (found.upper is None or before < found.upper):
            found = Packed(found.lower, before, takes)
        self.packed[counts] = found
        return found
