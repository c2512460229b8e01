"""How many replicas fit beside one another, found by trying every allocation of each after the other: no solver."""

from __future__ import annotations

from dataclasses import replace as changed

from exhaustive_plans import CPU, Best, Exhaustive
from msgspec.structs import replace

from dra_lab.model.quantity import parse_quantity


class ExhaustiveDamage(Exhaustive):
    """Every allocation with the goal `damage` as well; what each replica takes is gone for the next."""

    def __init__(self, cluster, sketch, node="n1"):
        super().__init__(cluster, sketch, node)
        self.gone: dict[object, int] = {}
        self.drawn = sketch
        self.strict = replace(sketch, links=tuple(replace(link, must=True) for link in sketch.links))
        self.counted: dict[frozenset, int] = {}
        self.listed = {ask.reference: self._list(ask) for ask in self.ways}

    def _list(self, ask):
        # A request for all devices is about every device that matches and has the capacity with nobody on it.
        return [d for d in self.devices if self.matches(ask, d)]

    def usable(self, device) -> bool:
        return super().usable(device) and not (device.driver != CPU and self.gone.get(device))

    def left(self, device):
        return super().left(device) - self.gone.get(device, 0)

    def most(self) -> int:
        """Return how many replicas fit after what is gone."""
        key = frozenset(item for item in self.gone.items() if item[1])
        if key not in self.counted:
            before, self.sketch = self.sketch, self.strict
            found = 0
            seen = set()
            for picked in list(self.allocations()):
                taken = self.taken(picked)
                mark = frozenset(taken.items())
                if mark in seen:
                    continue
                seen.add(mark)
                found = max(found, 1 + self.after(taken))
            self.sketch = before
            self.counted[key] = found
        return self.counted[key]

    def taken(self, picked) -> dict[object, int]:
        taken: dict[object, int] = {}
        for ask, devices in picked:
            for device in devices:
                amount = parse_quantity(ask.capacity["dra.cpu/cpu"]) if device.driver == CPU else 1
                taken[device] = taken.get(device, 0) + amount
        return taken

    def after(self, taken: dict[object, int]) -> int:
        kept = dict(self.gone)
        for device, amount in taken.items():
            self.gone[device] = self.gone.get(device, 0) + amount
        found = self.most()
        self.gone = kept
        return found

    def damage(self, picked) -> int:
        return self.most() - self.after(self.taken(picked))

    def best(self, order) -> Best:
        found = []
        head = order[: order.index("damage")]
        every = list(self.allocations())
        least = min((tuple(self.goals(p)[goal] for goal in head) for p in every), default=None)
        for picked in every:
            values = self.goals(picked)
            if tuple(values[goal] for goal in head) == least:
                values["damage"] = self.damage(picked)
                found.append(tuple(values[goal] for goal in order))
        return Best(min(found, default=None))


def idle(cluster):
    """Return the cluster with nothing in use."""
    return changed(cluster, claims=())
