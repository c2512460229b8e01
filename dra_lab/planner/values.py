"""What an allocation is worth: every goal of any set of placements, the planner's own or kube-scheduler's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GoalValue, Placement
from dra_lab.model.sketch import Ask, ClaimSketch, How, Link, asks, covers
from dra_lab.planner.places import PlaceValue, Values, place_values, typed
from dra_lab.planner.problem import NUMA_KINDS, ROOT_KINDS, pairwise_share
from dra_lab.topology.locality import Locality


@dataclass(frozen=True)
class Scale:
    """What values are measured with.

    `paired` says whether the claim asks for both GPUs and NICs, `lists` whether lists count in links.
    """

    sketch: ClaimSketch
    places: Mapping[DeviceID, Locality]
    devices: Mapping[DeviceID, Device]
    paired: bool
    lists: bool = False


def value_placements(scale: Scale, placements: Sequence[Placement], order: Sequence[str]) -> tuple[GoalValue, ...]:
    """Return the goals' values of placements in the given order of goals; nothing is proven by it.

    `damage` is left out: it is about other replicas, not about these devices (`replicas.Others`).
    """
    chosen = tuple(dict.fromkeys(placement.device for placement in placements))
    numa = _spanned(scale, chosen, NUMA_KINDS, "numaNode")
    roots = _spanned(scale, chosen, ROOT_KINDS, "pcieRoot")
    found = {
        "alternatives": (_ranks(scale, placements), 0),
        "preferences": (
            sum(_lost(scale, link, placements) for link in scale.sketch.links if not link.must),
            len(
                {
                    device
                    for link in scale.sketch.links
                    if not link.must
                    for device in _placeless(scale, link, placements)
                }
            ),
        ),
        "numa": numa,
        "unpaired": (_unpaired(scale, chosen), roots[1]),
        "roots": roots,
    }
    return tuple(GoalValue(goal, found[goal][0], unknown=found[goal][1]) for goal in order if goal in found)


def broken_links(scale: Scale, placements: Sequence[Placement]) -> tuple[str, ...]:
    """Return the names of the must-links that placements do not keep."""
    return tuple(link.name for link in scale.sketch.links if link.must and _lost(scale, link, placements))


def _ranks(scale: Scale, placements: Sequence[Placement]) -> int:
    used = {placement.request for placement in placements}
    return sum(ask.rank for request in scale.sketch.requests for ask in asks(request) if ask.reference in used)


def _spanned(scale: Scale, chosen: Sequence[DeviceID], kinds: tuple[str, ...], level: str) -> tuple[int, int]:
    """Return (places, devices of unknown place); each of the latter counts as a place of its own."""
    counted = [scale.places[device] for device in chosen if scale.places[device].kind in kinds]
    known = {typed(place.value) for locality in counted if (place := locality.place(level)) is not None}
    unknown = sum(1 for locality in counted if locality.place(level) is None)
    return len(known) + unknown, unknown


def _unpaired(scale: Scale, chosen: Sequence[DeviceID]) -> int:
    if not scale.paired:
        return 0
    at: dict[str, Counter[PlaceValue]] = {"gpu": Counter(), "nic": Counter()}
    alone = 0
    for locality in (scale.places[device] for device in chosen):
        root = typed(locality.pcie_root.value) if locality.pcie_root else None
        if locality.kind in at and root is not None:
            at[locality.kind][root] += 1
        elif locality.kind == "gpu":
            alone += 1
    return alone + sum(max(0, count - at["nic"][root]) for root, count in at["gpu"].items())


def _lost(scale: Scale, link: Link, placements: Sequence[Placement]) -> int:
    """Return what a preferred link loses: 1, or for a pairwise link its groups without a common place."""
    if link.how is How.PAIRWISE:
        return _groups_lost(scale, link, placements)
    tied = [p.device for p in placements if any(covers(reference, _ask(scale, p)) for reference in link.requests)]
    values = [_values(scale, device, link) for device in tied]
    if () in values:
        return 1
    if link.how is How.TOGETHER:
        return int(bool(values) and not frozenset(values[0]).intersection(*values))
    return int(len({value for found in values for value in found}) < sum(map(len, values)))


def _placeless(scale: Scale, link: Link, placements: Sequence[Placement]) -> set[DeviceID]:
    """Return the devices that a link ties and whose place, as far as it is known, has no value for it."""
    tied = {p.device for p in placements if any(covers(reference, _ask(scale, p)) for reference in link.requests)}
    return {device for device in tied if not _values(scale, device, link)}


def _groups_lost(scale: Scale, link: Link, placements: Sequence[Placement]) -> int:
    parts = [[p.device for p in placements if covers(reference, _ask(scale, p))] for reference in link.requests]
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return 0
    share = pairwise_share([len(part) for part in parts])
    if share is None:
        return min(len(part) for part in parts)
    links = (link, *_same_ends(scale.sketch, link))
    found = [[tuple(v for one in links for v in _values(scale, device, one)) for device in part] for part in parts]
    at = [Counter(values for values in part if len(values) == len(links)) for part in found]
    known = {values for counter in at for values in counter}
    kept = sum(min(counter[v] // size for counter, size in zip(at, share[1], strict=True)) for v in known)
    return share[0] - kept


def _same_ends(sketch: ClaimSketch, link: Link) -> tuple[Link, ...]:
    return tuple(
        other
        for other in sketch.links
        if other.must and other.how is How.PAIRWISE and set(other.requests) == set(link.requests)
    )


def _values(scale: Scale, device: DeviceID, link: Link) -> Values:
    return place_values(scale.places[device], link, scale.devices[device], lists=scale.lists)


def _ask(scale: Scale, placement: Placement) -> Ask:
    request = scale.sketch.request(placement.request.partition("/")[0])
    return next(ask for ask in asks(request) if ask.reference == placement.request)
