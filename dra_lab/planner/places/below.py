"""Limits from below of the goals of pods on a state, by counting: no way to put them there undercuts these."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dra_lab.planner.places.counting import ENDLESS, Array, CountedPod, Counting, by_slot, places_at, served
from dra_lab.planner.places.levels import PLACES_OF_GOAL
from dra_lab.planner.places.shapes import PlaceLink, PodShape
from dra_lab.planner.places.trees import State


@dataclass
class Below:
    """Limits from below on the states of a fleet.

    Row that needs them: 2 pairs on 100 nodes x 8 are proven in 0.2 s, in 2.4 s by models without them.
    """

    counting: Counting

    _alone: dict[int, CountedPod] = field(default_factory=dict)

    def limits(self, goal: str, pod: int, state: State, most: int) -> list[int]:
        """Return limits of a goal of 0 to `most` pods of a workload on a node, none of others being there."""
        counted = [one for one in self.counting.pods if one.pod == pod]
        if goal == "preferences":
            return self._lost(pod, counted, state, most)
        if len(counted) == 1 and goal in PLACES_OF_GOAL:
            return self._fewest(counted[0], state, goal, most)
        if len(counted) == 1 and goal == "alternatives":
            return self._lowest_ranks(counted[0], state, most)
        return [0] * (most + 1)

    def _fewest(self, pod: CountedPod, state: State, goal: str, pods: int) -> list[int]:
        """Return limits from below of the places of a level that 0 to `pods` pods use on one node.

        A place that has c devices of a slot gives at most min(c, n x need) to n pods, so the cheapest cover takes the
        largest pieces first. Slots that no place serves together need places of their own.
        """
        where, kinds = PLACES_OF_GOAL[goal]
        trees = self.counting.trees
        slots = [at for at, slot in enumerate(pod.shape.slots) if slot.kind in kinds]
        if not slots or not state or where not in trees.levels.where:
            return [0] * (pods + 1)
        depth = trees.levels.where.index(where) + 1
        rows = [self.counting.units(pod, depth, place) for place in places_at(state, depth)]
        units = np.array(rows, np.int64).reshape(-1, len(pod.need))
        limits, groups = {}, [{slot} for slot in slots]
        for slot in slots:
            need, have = pod.need[slot], np.minimum(units[:, slot], ENDLESS)
            pieces = np.concatenate([np.repeat(need, np.minimum(have // need, pods).sum()), have % need])
            reach = np.concatenate([[0], np.cumsum(np.sort(pieces)[::-1])])
            limits[slot] = np.searchsorted(reach, need * np.arange(pods + 1))
            beside = np.flatnonzero((units[units[:, slot] > 0] > 0).any(axis=0)).tolist()
            together = {slot, *(other for other in beside if other in slots)}
            joined = together.union(*(group for group in groups if group & together))
            groups = [group for group in groups if not group & together] + [joined]
        found = sum(np.max([limits[slot] for slot in group], axis=0) for group in groups)
        return [int(limit) for limit in found]

    def _lost(self, pod: int, counted: list[CountedPod], state: State, pods: int) -> list[int]:
        """Return limits from below of the preferred links that 0 to `pods` pods of a workload lose on one node.

        No more pods keep all of them than fit with all of them required, and no more groups of a preferred link one to
        one are kept than places have devices for.
        """
        counting, numbers = self.counting, np.arange(pods + 1)
        ask, starts = counting.trees.asks[pod], counting.trees.starts[pod]
        kept = [(shape, start) for shape, start in zip(ask.shapes, starts, strict=True) if not shape.preferences]
        whole = sum(counting.most_of(self._single(shape, start), state) for shape, start in kept)
        found = np.maximum(0, numbers - whole)
        if len(counted) == 1:
            every = {link for link in ask.shapes[0].links if all(link in shape.links for shape in ask.shapes)}
            for link in every:
                if not link.must and all(len(slots) == 1 for slots, _ in link.ends):
                    found = found + self._lost_groups(counted[0], link, state, numbers)
        return [int(limit) for limit in found]

    def _single(self, shape: PodShape, start: int) -> CountedPod:
        """Return one shape as counting sees it, with all its required links."""
        if start not in self._alone:
            streams = tuple((start + slot,) for slot in range(len(shape.slots)))
            links = tuple(by_slot(shape, link) for link in shape.links if link.must)
            self._alone[start] = CountedPod(-1, shape.need, streams, links, shape)
        return self._alone[start]

    def _lost_groups(self, pod: CountedPod, link: PlaceLink, state: State, numbers: Array) -> Array:
        ends = [(slots[0], per) for slots, per in link.ends]
        groups = min(pod.need[slot] // per for slot, per in ends)
        places = (self.counting.units(pod, link.level + 1, place) for place in places_at(state, link.level + 1))
        able = sum(min(units[slot] // per for slot, per in ends) for units in places)
        return np.maximum(0, groups * numbers - able)

    def _lowest_ranks(self, pod: CountedPod, state: State, pods: int) -> list[int]:
        """Return limits from below of the ranks of alternatives of 0 to `pods` pods on one node.

        Each slot takes the devices of lowest rank, from a leaf only as many as whole groups of its links need.
        """
        trees = self.counting.trees
        depth = trees.depth
        found = np.zeros(pods + 1, np.int64)
        for slot, need in enumerate(pod.need):
            ranks: list[int] = []
            for leaf in places_at(state, depth):
                kind, mine = trees.types[leaf[1]], []
                for at, move in enumerate(kind.moves):
                    able = [move.ranks[one] for one in pod.streams[slot] if move.ranks[one] >= 0]
                    count = leaf[2][at] if leaf[1] == 0 else served(kind, pod.streams[slot], leaf[2])
                    mine += [min(able)] * min(count, need * pods) if able else []
                ranks += sorted(mine)[: self.counting.units(pod, depth, leaf)[slot]]
            sums = np.cumsum([0, *sorted(ranks)])
            found += sums[np.minimum(need * np.arange(pods + 1), len(ranks))]
        return [int(limit) for limit in found]
