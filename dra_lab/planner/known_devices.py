"""Hardware put together from devices that were looked at on another node.

On large clusters nodes differ in how their devices are mixed, and hardly in the devices. What an ask may take of a
device, and where that lies, follows from what the device publishes. It is worked out once for each kind of device, on
the first node that has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from dra_lab.index.node_binding import Tie
from dra_lab.index.node_index import NodeIndex
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.node.link_places import LIST
from dra_lab.planner.node_classes import Layout
from dra_lab.topology.locality import localities, numa_and_root

_LEVELS = ("pcieRoot", "numaNode")
_NOBODY, _EACH_NODE = -1, -2
"""No ask may take such a device; and: what it is has to be looked at on each node."""

_Key = tuple[object, ...]


@dataclass
class KnownDevices:
    """The groups that devices belong to, by what they publish and which asks match them.

    A look at 5,000 nodes of which no two are identical takes twice as long without them (`bench_pairs`).
    """

    rules: Rules
    views: NodeIndex
    _groups: dict[_Key, int] = field(default_factory=dict)
    _templates: list[DeviceGroup] = field(default_factory=list)
    _numbers: dict[DeviceGroup, int] = field(default_factory=dict)
    _published: dict[int, bool] = field(default_factory=dict)
    _first: AllocationProblem | None = None

    def __post_init__(self) -> None:
        """Note whether the rules look at each device by itself."""
        rules = self.rules
        links = rules.sketch.links
        self._apart = not any(ask.all_devices or ask.admin_access for ask in rules.asks) and all(
            not link.is_level or link.where in _LEVELS for link in links
        )

    def layout(self, name: str) -> Layout | None:
        """Return a node's hardware with nothing in use; None if it has to be looked at device by device."""
        if self._first is None or not self._is_simple(name):
            return None
        view = self.views.view(name)
        if not self._published.keys() >= {*view.numbers}:
            return None
        numbers = [self._groups.get(key, _EACH_NODE) for key in self._keys(name)]
        if _EACH_NODE in numbers:
            return None
        found: dict[int, list[int]] = {}
        for at, number in enumerate(numbers):
            if number >= 0:
                # Shared devices are told apart; negative numbers are those of single devices.
                found.setdefault(~at if self._templates[number].shareable else number, []).append(at)
        groups: list[DeviceGroup] = []
        kinds = tuple([numbers[members[0]] for members in found.values()])
        group_of = [_NOBODY] * len(numbers)
        for kind, members in zip(kinds, found.values(), strict=True):
            for at in members:
                group_of[at] = len(groups)
            devices = tuple([view.devices[at].id for at in members])
            groups.append(replace(self._templates[kind], devices=devices))
        return Layout(replace(self._first, node=name, groups=tuple(groups)), tuple(group_of), kinds)

    def learn(self, name: str, layout: Layout) -> None:
        """Keep what was found out about the devices of a node."""
        if not self._is_simple(name) or layout.problem.counters:
            return
        places, view = localities(self.rules.cluster, name), self.views.view(name)
        for number, item in zip(view.numbers, view.devices, strict=True):
            where = (places[item.id].numa_node, places[item.id].pcie_root)
            self._published[number] = all(place is not None and not place.derived for place in where)
        for at, key in enumerate(self._keys(name)):
            number = layout.group_of[at]
            if number < 0:
                self._groups[key] = _NOBODY
                continue
            group = layout.problem.groups[number]
            listed = any(kind == LIST for values in group.places for kind, _ in values)
            if group.tie is Tie.TERMS or group.draws or listed:
                self._groups[key] = _EACH_NODE
                continue
            template = replace(group, devices=())
            self._groups[key] = self._numbers.setdefault(template, len(self._templates))
            if self._groups[key] == len(self._templates):
                self._templates.append(template)
        self._first = layout.problem

    def _is_simple(self, name: str) -> bool:
        return self._apart and not self.views.view(name).counted and name not in self.rules.cluster.file_places

    def _keys(self, name: str) -> Iterable[_Key]:
        view = self.views.view(name)
        published = [self._published[number] for number in view.numbers]
        places: list[object] = [()] * len(published)
        if False in published:
            # What a device does not publish, others on the same node may tell.
            found = numa_and_root(self.rules.cluster, name)
            places = [() if known else found[item.id] for known, item in zip(published, view.devices, strict=True)]
        stages = [self.views.stages(ask, name) for ask in self.rules.selecting]
        values = [[item.device.lookup(where, item.driver) for item in view.devices] for where in self.rules.attributes]
        return zip(view.numbers, places, *stages, *values, strict=True)
