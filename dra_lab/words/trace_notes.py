"""What the planner knows of the places of devices, and kube-scheduler's search does not compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dra_lab.index.node_index import node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link, asks, covers
from dra_lab.model.trace import Held, Trace
from dra_lab.planner.node.allocation_problem import Values, place_values
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.topology.locality import localities
from dra_lab.words.facts import counted
from dra_lab.words.trace_words import Names


class Places:
    """The places of the devices of one node for the links of a drawing."""

    def __init__(
        self, cluster: Cluster, sketch: ClaimSketch, node: str, release: KubernetesRelease, names: Names
    ) -> None:
        """Look at the devices of the node once."""
        index = node_index(cluster, release)
        seen = index.view(node).devices
        self._sketch = sketch
        self._localities, self._names = localities(cluster, node), names
        self._devices: dict[DeviceID, Device] = {item.id: item.device for item in seen}
        self._in_use = cluster.allocated.exclusive
        self._matching = {
            ask.reference: [item.id for item, s in zip(seen, index.stages(ask, node), strict=True) if s == "match"]
            for request in sketch.requests
            for ask in asks(request)
        }

    def notes(self, trace: Trace[FirstFit], held: Sequence[Held]) -> Iterator[str]:
        """Yield what is known of the device that was allocated last, link by link: its place and its partners there."""
        if not held:
            return
        last, taken = held[-1], {one.device for one in held}
        drawn = trace.drawn(last.claim, last.request).partition("/")[0]
        for link in self._sketch.links:
            ends = list(dict.fromkeys(reference.partition("/")[0] for reference in link.requests))
            if drawn not in ends or not link.kind.near:
                continue
            for other in (end for end in ends if end != drawn):
                yield self._note(link, last.device, other, taken)
            if not trace.links or not link.must:
                yield "kube-scheduler does not compare it: the claim has no constraint for this link."

    def _note(self, link: Link, device: DeviceID, other: str, taken: set[DeviceID]) -> str:
        level = LEVEL_WORDS.get(link.where, link.where)
        here = self._at(link, device)
        if not here:
            return f"The {level} of {self._names.device(device)} is not known."
        there = [one for one in self._partners(other) if set(self._at(link, one)) & set(here)]
        free = [one for one in there if one not in self._in_use and one not in taken]
        mine = [one for one in there if one in taken]
        value = str(here[0][1])
        begin = f"{self._names.device(device)} is on {level} {value}"
        if mine:
            return f"{begin}, as is {', '.join(map(self._names.device, mine))} of {other}."
        if free:
            return f"{begin}, with {counted(len(free), 'free device')} for {other}."
        if there:
            names = ", ".join(map(self._names.device, there))
            return f"{begin}. {names} for {other} is in use there, so it has no partner."
        return f"{begin}. No device for {other} is there, so it has no partner."

    def _partners(self, request: str) -> list[DeviceID]:
        found: dict[DeviceID, None] = {}
        for sketched in self._sketch.requests:
            for ask in asks(sketched):
                if covers(request, ask):
                    found |= dict.fromkeys(self._matching.get(ask.reference, ()))
        return list(found)

    def _at(self, link: Link, device: DeviceID) -> Values:
        place = self._localities.get(device)
        return () if place is None else place_values(place, link, self._devices[device], lists=False)
