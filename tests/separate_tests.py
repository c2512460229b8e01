"""The tests of kube-scheduler for one device, each evaluated by itself on the state that the steps of a trace give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dra_lab.cel.selector import compile_selector
from dra_lab.index.pools import PoolDevice, pools_of
from dra_lab.model.claims import DeviceConstraint, DeviceRequest, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.gates import Gates
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import node_matches
from dra_lab.model.quantity import nano
from dra_lab.model.trace import Check, Step, StepKind
from dra_lab.scheduler.candidates import held_devices
from dra_lab.scheduler.capacity import capacity_use


class Taken(NamedTuple):
    """A device that the steps so far allocated, and the request that has it."""

    claim: str
    request: str
    place: PoolDevice


class SeparateTests:
    """Follows the steps of one search on a node; `fails` evaluates one test for the next device.

    The rules are those of the text (docs/semantics.md 3.5), without the memory that the search keeps.
    """

    def __init__(self, cluster: Cluster, node: str, claims: Sequence[ResourceClaim], gates: Gates) -> None:
        self.cluster, self.node, self.gates = cluster, node, gates
        self.claims = {claim.metadata.name: claim for claim in claims}
        self.pools = pools_of(cluster, node, gates)
        self.places = {place.id: place for pool in self.pools for place in pool.devices}
        self.held = held_devices(cluster, gates)
        self.taken: list[Taken] = []

    def follow(self, step: Step) -> None:
        """Take a step that allocates or gives back a device."""
        if step.kind is StepKind.ALLOCATED:
            self.taken.append(Taken(step.claim, step.request, self.places[step.devices[0]]))
        elif step.kind is StepKind.GIVEN_BACK:
            back = self.taken.pop()
            assert (back.claim, back.request, back.place.id) == (step.claim, step.request, step.devices[0])

    def fails(self, check: Check, step: Step) -> bool:
        """Evaluate one test for the device of a step."""
        tests: dict[Check, Callable[[Step, PoolDevice], bool]] = {
            Check.IN_USE: self._in_use,
            Check.GATE: self._gate,
            Check.CLASS: lambda step, place: self._selected(self._class(step).spec.selectors, place),
            Check.SELECTOR: lambda step, place: self._selected(self._part(step).selectors, place),
            Check.NODE: self._elsewhere,
            Check.CAPACITY: self._capacity,
            Check.COUNTERS: self._counters,
            Check.TAINT: self._taint,
            Check.CONSTRAINT: self._constraint,
        }
        return tests[check](step, self.places[step.devices[0]])

    def _request(self, step: Step) -> DeviceRequest:
        name = step.request.partition("/")[0]
        return next(r for r in self.claims[step.claim].spec.devices.requests if r.name == name)

    def _part(self, step: Step):
        request = self._request(step)
        alternative = step.request.partition("/")[2]
        return request.exactly or next(part for part in request.first_available if part.name == alternative)

    def _admin(self, step: Step) -> bool:
        return bool(getattr(self._part(step), "admin_access", False))

    def _class(self, step: Step):
        return self.cluster.class_by_name[self._part(step).device_class_name]

    def _shares(self, device: Device) -> bool:
        return bool(device.allow_multiple_allocations) and self.gates.consumable_capacity

    def _in_use(self, step: Step, place: PoolDevice) -> bool:
        mine = [one for one in self.taken if one.place.id == place.id and not self._shares(place.device)]
        if self._admin(step):
            return any(one.claim == step.claim for one in mine)
        return bool(mine) or place.id in self.held.exclusive

    def _gate(self, _step: Step, place: PoolDevice) -> bool:
        device = place.device
        groups = any(use.compatibility_groups for use in device.consumes_counters)
        bound = bool(device.binding_conditions) and not self.gates.binding_conditions
        counted = bool(device.consumes_counters) and not self.gates.partitionable_devices
        return bound or counted or (groups and self.gates.skip_groups)

    def _selected(self, selectors, place: PoolDevice) -> bool:
        lists = self.gates.list_selectors
        texts = [compile_selector(one.cel.expression, list_type_attributes=lists) for one in selectors]
        return not all(text.matches(place.id.driver, place.device) for text in texts)

    def _elsewhere(self, _step: Step, place: PoolDevice) -> bool:
        device, node = place.device, self.cluster.node_by_name[self.node]
        if not place.slice.spec.per_device_node_selection or device.all_nodes or device.node_name == self.node:
            return False
        return device.node_selector is None or not node_matches(device.node_selector, node)

    def _uses(self, step: Step, device: Device):
        capacity = self._part(step).capacity
        requests = capacity.requests if capacity else {}
        return capacity_use(device, requests, fractional=self.gates.fractional_range, defects=self.gates.defects)

    def _capacity(self, step: Step, place: PoolDevice) -> bool:
        if not self.gates.consumable_capacity:
            return False
        use = self._uses(step, place.device)
        if use is None:
            return True
        total = Counter(use)
        total.update({key: nano(str(v)) for key, v in self.held.consumed.get(place.id, {}).items()})
        for one in self.taken:
            if one.place.id == place.id and self._shares(place.device):
                total.update(self._uses(Step(0, 0, StepKind.END, one.claim, one.request), place.device))
        return any(total[key] > nano(place.device.capacity[key].value) for key in use)

    def _counters(self, _step: Step, place: PoolDevice) -> bool:
        device = place.device
        paid = place.id in self.held.shares or any(one.place.id == place.id for one in self.taken)
        if not device.consumes_counters or (self._shares(device) and paid):
            return False
        pool = next(p for p in self.pools if (p.driver, p.name) == (place.id.driver, place.id.pool))
        left = {(s.name, name): nano(c.value) for s in pool.counter_sets for name, c in s.counters.items()}
        every = self.cluster.slices_by_pool[pool.driver, pool.name]
        published = [d for s in every if s.spec.pool.generation == pool.generation for d in s.spec.devices or ()]
        named = {d.name: d for d in published}
        drawing = [name for name in named if DeviceID(pool.driver, pool.name, name) in self.held.exclusive]
        drawing += [name for name in named if DeviceID(pool.driver, pool.name, name) in self.held.shares]
        mine = [one.place for one in self.taken if one.place.id[:2] == place.id[:2]]
        once = {one.id.device for one in mine if self._shares(one.device)} - set(drawing)
        drawing += [*once, *(one.id.device for one in mine if not self._shares(one.device)), device.name]
        for name in drawing:
            for use in named[name].consumes_counters:
                for counter, amount in use.counters.items():
                    key = (use.counter_set, counter)
                    left[key] = left.get(key, 0) - nano(amount.value)
        return any(amount < 0 for amount in left.values())

    def _taint(self, step: Step, place: PoolDevice) -> bool:
        if not self.gates.device_taints:
            return False
        tolerations = self._part(step).tolerations
        return any(
            not any(
                (not t.key or t.key == taint.key)
                and (not t.effect or t.effect == taint.effect)
                and (t.operator == "Exists" or (t.operator in ("", "Equal") and t.value == taint.value))
                for t in tolerations
            )
            for taint in self.cluster.taints_of(place.id, place.device, rules=self.gates.taint_rules)
            if taint.effect in ("NoSchedule", "NoExecute")
        )

    def _constraint(self, step: Step, place: PoolDevice) -> bool:
        constraints = self.claims[step.claim].spec.devices.constraints
        return any(self._breaks(one, step, place) for one in constraints if _covers(one, step.request))

    def _breaks(self, constraint: DeviceConstraint, step: Step, place: PoolDevice) -> bool:
        name = constraint.match_attribute or constraint.distinct_attribute or ""
        own = _values(place, name)
        others = [
            _values(one.place, name)
            for one in self.taken
            if one.claim == step.claim and _covers(constraint, one.request)
        ]
        if own is None:
            return True
        lists = self.gates.list_attributes
        if constraint.match_attribute is not None:
            if not lists:
                return any(own[2] or own != other for other in others)
            common = set(own[1]).intersection(*(other[1] for other in others))
            return not common or any(own[0] != other[0] for other in others)
        if own[2] and not lists:
            return bool(others)
        return any(own[0] == o[0] and set(own[1]) & set(o[1]) and (lists or own[2] == o[2]) for o in others)


def _covers(constraint: DeviceConstraint, reference: str) -> bool:
    return not constraint.requests or {reference, reference.partition("/")[0]} & set(constraint.requests) != set()


def _values(place: PoolDevice, name: str):
    attribute = place.device.lookup(name, place.id.driver)
    if attribute is None:
        return None
    if isinstance(attribute.value, tuple):
        return attribute.kind.removesuffix("s"), frozenset(attribute.value), True
    return attribute.kind, frozenset((attribute.value,)), False
