"""Shared counters of one kind of hardware: what is left of them on each node, in the units of its devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dra_lab.index.counter_draws import Counter, consumption, counted_pools
from dra_lab.planner.counters import left_of
from dra_lab.planner.eligible import is_shareable
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.scan import Scan
from dra_lab.planner.states.node_state import NodeState

_LARGE = 2**50
"""More units of a counter than this do not go into the words in which amounts are compared."""


@dataclass(frozen=True)
class Counted:
    """The counters of a layout, in the order of its problem: their `units`, in the amounts that devices publish.

    `draws` is what a device of each group takes of them, `pools` the pools (by position) that a device of each group
    has to pay.
    """

    counters: tuple[Counter, ...]
    units: tuple[int, ...]
    draws: tuple[tuple[tuple[int, int], ...], ...]
    pools: tuple[frozenset[int], ...]

    def on(self, scan: Scan, name: str, state: NodeState) -> NodeState:
        """Return a state with what is left of the counters on a node, less the devices that these keep away.

        One that takes more than is left does not fit, and none of a pool of which a counter is overdrawn does
        (docs/semantics.md 3.10.4).
        """
        left = left_of(scan.cluster, scan.views.view(name).counted, scan.rules.allocated)
        overdrawn = {position for (position, _, _), amount in left.items() if amount < 0}
        have = [max(0, left[counter]) // unit for counter, unit in zip(self.counters, self.units, strict=True)]
        free = tuple(
            0 if size and self._is_barred(group, have, overdrawn) else size for group, size in enumerate(state.free)
        )
        return replace(state, free=free, counters=tuple(have))

    def _is_barred(self, group: int, have: Sequence[int], overdrawn: set[int]) -> bool:
        return bool(self.pools[group] & overdrawn) or any(amount > have[at] for at, amount in self.draws[group])


def counted_layout(scan: Scan, layout: Layout, name: str) -> Counted | None:
    """Return the counters of a layout, which is a node's; None where more than amounts counts, or these are large."""
    view, problem = scan.views.view(name), layout.problem
    number = {(pool.driver, pool.name): position for position, pool in enumerate(counted_pools(view.counted))}
    at = {counter: position for position, (counter, _) in enumerate(problem.counters)}
    drawn = {counter: amount for group in problem.groups for counter, amount in group.draws}
    units = dict.fromkeys(at, 1)
    first: dict[int, frozenset[int]] = {}
    draws = {group: tuple((at[c], amount) for c, amount in found.draws) for group, found in enumerate(problem.groups)}
    for item, group in zip(view.devices, layout.group_of, strict=True):
        if not item.device.consumes_counters:
            continue
        if is_shareable(item.device, scan.rules):
            # it pays once for all its shares: whether it has to pay is not told by what is left
            return None
        if group < 0:
            continue
        mine = consumption(item.device, number[item.driver, item.id.pool])
        if not mine:
            # it takes nothing, and yet it has to pay: other devices of its group may not have to
            return None
        first.setdefault(group, frozenset(position for (position, _, _), _ in mine))
        for counter, amount in mine:
            drawn_in_units = dict(problem.groups[group].draws).get(counter)
            if drawn_in_units:
                units[counter] = amount // drawn_in_units
    if any(amount > _LARGE for amount in [*drawn.values(), *(left for _, left in problem.counters)]):
        return None
    return Counted(
        tuple(at),
        tuple(units.values()),
        tuple(draws[group] for group in range(len(problem.groups))),
        tuple(first.get(group, frozenset()) for group in range(len(problem.groups))),
    )
