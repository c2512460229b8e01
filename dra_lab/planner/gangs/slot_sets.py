"""The largest slot in the model of sets: which domain has it, and how many pods of it each set takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dra_lab.model.gang import SLOT
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.gang_sets import Chosen, GangSets
from dra_lab.planner.gangs.largest_slot import largest_slot, slot_before, slot_left
from dra_lab.planner.gangs.needs import Path, SlotNeed
from dra_lab.planner.gangs.problem import GangSolution
from dra_lab.planner.gangs.region_values import NEVER
from dra_lab.planner.gangs.set_items import Extra
from dra_lab.planner.states.columns import Array


class SlotSets:
    """The row of the slot for each class, -1 for none, and in `lost` by how many pods each set makes a slot smaller.

    Only the pods of its own kind are counted, until `learn` finds out what the others take. An extra column for each
    domain says whether it has the slot, and one how many pods the slot loses.
    """

    def __init__(self, sets: GangSets, slot: SlotNeed, most: int) -> None:
        """Give the sets the rows and columns of the domains in which the slot may lose no more than `most` pods."""
        self.sets, self.slot, self.first = sets, slot, len(sets.extras)
        before, _ = slot_before(sets.problem)
        choice, row_of = len(sets.rows), dict[Path | None, int]()
        left = slot_left(sets.problem, {}, least=True)
        sets.rows.append((int(bool(left)), True))
        for path, pods in left.items():
            if before - pods <= most:
                row_of[path] = len(sets.rows)
                sets.extras.append(Extra(-1, (slot.tier, path), (), 1, {choice: 1, row_of[path]: before}, {}))
                sets.rows.append((pods, False))
        sets.extras.append(Extra(-1, (-1, ()), (), before, dict.fromkeys(row_of.values(), -1), {SLOT: 1}))
        wide = slot.tier in sets.layout.wide
        alone = [regions[0] if wide or len(regions) == 1 else None for regions in sets.classes.values()]
        paths = [None if region is None else sets.problem.domain(slot.tier, region) for region in alone]
        self.rows: Array = np.array([row_of.get(path, -1) for path in paths], np.int64)
        self.lost: Array = np.broadcast_to(sets.at_least[:, slot.kind], sets.packed.shape).copy()
        self._known: set[int] = set()

    def start(self, plan: GangSolution) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield the columns of a plan with their values."""
        path, lost = largest_slot(self.sets.problem, plan.nodes)
        for at, extra in enumerate(self.sets.extras[self.first :], self.first):
            yield (-1, at), lost if extra.costs else int(extra.domain[1] == path)

    def learn(self, chosen: Chosen, budget: Budget) -> list[int]:
        """Find out what all pods take of the slot that was chosen; return the classes of which it was not known."""
        mine = [self.sets.extras[at] for number, at in chosen if number < 0 and at >= self.first]
        rows = {row for extra in mine for row, factor in extra.entries.items() if factor > 0}
        able = {number for number, at in chosen if number >= 0 and at and int(self.rows[number]) in rows}
        wrong = sorted(able - self._known) if self.sets.problem.kinds > 1 else []
        return [number for number in wrong if not budget.reached and self._learn(number, budget)]

    def _learn(self, number: int, budget: Budget) -> bool:
        """Find it out for a class; False if the table would be too large."""
        self._known.add(number)
        sets, kind = self.sets, self.slot.kind
        (cells, *_), regions = list(sets.classes.items())[number]
        limits = sets.limits[number].copy()
        limits[kind] = sets.problem.capacity[regions[0]][kind]
        if np.prod(limits + 1.0) > budget.sizes.domain_pods:
            return False
        fits = np.moveaxis(sets.values.table(cells, tuple(limits.tolist())) < NEVER, kind, -1)
        most = limits[kind] - fits[..., ::-1].argmax(axis=-1)
        able = (sets.at_least <= limits).all(axis=1)
        pods = sets.at_least[able]
        self.lost[number, able] = most.flat[0] - most[tuple(np.delete(pods, kind, axis=1).T)] + pods[:, kind]
        return True
