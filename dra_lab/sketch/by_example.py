"""A claim by example: devices chosen on the picture of a node, and the claims that ask for such devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.index.catalogue import catalogue
from dra_lab.index.documented_classes import known_classes
from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest, cel_selectors
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, ClaimSketch, How, Link, claims_of, pod_drawing
from dra_lab.sketch.cel_text import fewest, joined_text, tests_for
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.sketch.object_names import ObjectNames
from dra_lab.sketch.palette import PaletteEntry, ask_for, palette, request_of
from dra_lab.sketch.request_status import PLURALS
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Locality

_PAIRED = ("gpu", "nic")
_SINGULAR: Mapping[str, str] = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "memory": "memory device", "other": "device"}


@dataclass(frozen=True)
class Example:
    """One claim that asks for devices like those chosen.

    `title` says how general it is. `matching` counts, by request, the devices of the whole cluster that match it.
    `exact` is True if it matches no other device of the node in place of a chosen one.
    """

    title: str
    sketch: ClaimSketch
    matching: Mapping[str, int]
    exact: bool


def added_to(sketch: ClaimSketch, example: ClaimSketch) -> ClaimSketch:
    """Return a drawing with the requests and links of an example added, under names that are not taken yet.

    A pod's first claim gets them.
    """
    if sketch.claims:
        first, *others = claims_of(sketch)
        return pod_drawing(sketch.name, (added_to(first, example), *others))
    names = ObjectNames(request.name for request in sketch.requests)
    new = {request.name: names.one(request.name) for request in example.requests}
    links = ObjectNames(link.name for link in sketch.links)
    return replace(
        sketch,
        requests=(*sketch.requests, *(replace(r, name=new[r.name]) for r in example.requests)),
        links=(
            *sketch.links,
            *(replace(k, name=links.one(k.name), requests=tuple(new[r] for r in k.requests)) for k in example.links),
        ),
    )


@dataclass(frozen=True)
class _Group:
    """Chosen devices of one class: they become one request; `others` are the class's other devices on the node."""

    name: str
    device_class: str
    kind: str
    chosen: tuple[PoolDevice, ...]
    others: tuple[PoolDevice, ...]
    every: tuple[PoolDevice, ...]
    guessed: bool = False


def by_example(
    cluster: Cluster, node: str, devices: Collection[DeviceID], release: KubernetesRelease, name: str = "claim"
) -> tuple[Example, ...]:
    """Return claims that ask for devices like those chosen on a node, the most general one first.

    The first has the classes and counts alone. The second adds the shortest selectors that match only the chosen kinds
    of devices on the node. Then each link follows that the chosen devices satisfy, from the farthest level to the
    nearest. The last has selectors that match only the chosen devices of the node, if attributes allow it. Every one
    was checked: all chosen devices match their request. Raises InputError when nothing was chosen, or a device is not
    one that the node sees, or is of no class.
    """
    groups = _groups(cluster, node, devices, release)
    places = localities(cluster, node)
    plain = ClaimSketch(name=name, requests=tuple(_request(cluster, group, release) for group in groups))
    sorts = _with_selectors(plain, [_sort_selector(group) for group in groups])
    found = [("classes and counts", plain), ("same model and settings", sorts)]
    for level, links in _link_steps(groups, places):
        found.append((f"together on one {LEVEL_WORDS[level]}", replace(sorts, links=links)))
    exact = [_exact_selector(group) for group in groups]
    if all(text is not None for text in exact):
        links = found[-1][1].links
        pinned = _with_selectors(plain, [text or "" for text in exact])
        found.append(("exactly these devices of the node", replace(pinned, links=links)))
    kept: list[tuple[str, ClaimSketch]] = []
    for title, sketch in found:
        if all(sketch != known for _, known in kept):
            kept.append((title, sketch))
    return tuple(_example(cluster, groups, title, sketch, release) for title, sketch in kept)


def _groups(
    cluster: Cluster, node: str, devices: Collection[DeviceID], release: KubernetesRelease
) -> tuple[_Group, ...]:
    if not devices:
        raise InputError("select one or more devices in the picture first")
    cluster.node_named(node)
    here = localities(cluster, node)
    every = catalogue(cluster)
    known = {item.id: item for item in every.devices if item.id in here}
    by_class: dict[str, list[PoolDevice]] = defaultdict(list)
    for device in here:
        if device in devices:
            by_class[_class_of(cluster, known, device, release)].append(known[device])
    missing = [str(device) for device in devices if device not in here]
    if missing:
        raise InputError(
            f"node {node} does not see {', '.join(missing[:3])}; select devices in the picture of this node"
        )
    names = ObjectNames()
    groups = []
    for device_class, chosen in by_class.items():
        whole = candidates(cluster, ask_for(device_class, ()), release).devices
        taken = {item.id for item in chosen}
        others = tuple(item for item in whole if item.id in here and item.id not in taken)
        kinds = Counter(every.shape(item).kind for item in chosen)
        kind = kinds.most_common(1)[0][0]
        base = kind if kind != "other" else "device"
        guessed = all(every.shape(item).guessed for item in chosen if every.shape(item).kind == kind)
        groups.append(_Group(names.one(base), device_class, kind, tuple(chosen), others, whole, guessed))
    return tuple(sorted(groups, key=lambda group: [*_SINGULAR].index(group.kind)))


def _class_of(
    cluster: Cluster, known: Mapping[DeviceID, PoolDevice], device: DeviceID, release: KubernetesRelease
) -> str:
    """Return the narrowest class that has a device; of equally narrow ones the first by name."""
    if device not in known:
        raise InputError(f"{device} is published, but kube-scheduler ignores it because its pool is not complete")
    found = []
    for name in sorted(known_classes(cluster)):
        members = candidates(cluster, ask_for(name, ()), release)
        if device in members.ids:
            found.append((len(members.devices), name))
    if not found:
        raise InputError(
            f"{device} belongs to no DeviceClass; create a DeviceClass for the driver {device.driver} first"
        )
    return min(found)[1]


def _request(cluster: Cluster, group: _Group, release: KubernetesRelease) -> DeviceRequest:
    """Return the request of a group: its class and count, and the share that the palette asks of shareable devices."""
    offers = [entry for entry in palette(cluster, release) if entry.device_class == group.device_class]
    shared = all(item.device.allow_multiple_allocations for item in group.chosen)
    entry: PaletteEntry | None = next((e for e in offers if e.capacity_key), None) if shared else None
    if entry is not None:
        request = request_of(entry, group.name)
        exactly = request.exactly
        if exactly is not None:
            return replace(request, exactly=replace(exactly, selectors=(), count=len(group.chosen)))
    exactly = ExactDeviceRequest(
        device_class_name=group.device_class, allocation_mode="ExactCount", count=len(group.chosen)
    )
    return DeviceRequest(name=group.name, exactly=exactly)


def _sort_selector(group: _Group) -> str:
    """Return the shortest selector that leaves out the other sorts of devices, "" where there are none."""
    tests = [test for test in tests_for(group.chosen, group.others, group.every) if not test.of_one]
    refusable = frozenset().union(*(test.refuses for test in tests))
    found = fewest(tests, refusable)
    return joined_text(found) if found else ""


def _exact_selector(group: _Group) -> str | None:
    """Return the shortest selector that leaves out every other device of the node, None where none can."""
    found = fewest(tests_for(group.chosen, group.others, group.every), range(len(group.others)))
    return None if found is None else joined_text(found) if found else ""


def _with_selectors(sketch: ClaimSketch, texts: Sequence[str]) -> ClaimSketch:
    requests = []
    for request, text in zip(sketch.requests, texts, strict=True):
        if text and request.exactly is not None:
            exactly = replace(request.exactly, selectors=cel_selectors((text,)))
            requests.append(replace(request, exactly=exactly))
        else:
            requests.append(request)
    return replace(sketch, requests=tuple(requests))


def _link_steps(
    groups: Sequence[_Group], places: Mapping[DeviceID, Locality]
) -> Iterator[tuple[str, tuple[Link, ...]]]:
    """Yield (level, links) for every level at which something holds, from the farthest to the nearest."""
    base: tuple[Link, ...] = ()
    everything = tuple(group.name for group in groups)
    several = sum(len(group.chosen) for group in groups) > 1
    for level in reversed(LEVELS):
        if several and _together([i for g in groups for i in g.chosen], places, level):
            base = (Link(name=f"{level.lower()}-together", requests=everything, where=level),)
            yield level, base
            continue
        paired = [group for group in groups if group.kind in _PAIRED]
        if {group.kind for group in paired} == set(_PAIRED) and len(paired) == 2 and _pairs(paired, places, level):
            link = Link(
                name=f"{level.lower()}-pairs", requests=(paired[0].name, paired[1].name), where=level, how=How.PAIRWISE
            )
            yield level, (*base, link)


def _together(items: Sequence[PoolDevice], places: Mapping[DeviceID, Locality], level: str) -> bool:
    found = {place.value if (place := places[item.id].place(level)) is not None else None for item in items}
    return len(found) == 1 and None not in found


def _pairs(groups: Sequence[_Group], places: Mapping[DeviceID, Locality], level: str) -> bool:
    """Say whether every place of the level has its share of both groups; one of each is no pairing, but together."""
    few = min(len(group.chosen) for group in groups)
    if few < 2 or any(len(group.chosen) % few for group in groups):
        return False
    counted = []
    for group in groups:
        found = Counter(p.value if (p := places[item.id].place(level)) is not None else None for item in group.chosen)
        if None in found:
            return False
        counted.append({value: number / (len(group.chosen) / few) for value, number in found.items()})
    return counted[0] == counted[1]


def _example(
    cluster: Cluster, groups: Sequence[_Group], title: str, sketch: ClaimSketch, release: KubernetesRelease
) -> Example:
    matching, exact = {}, True
    for group, request in zip(groups, sketch.requests, strict=True):
        texts = tuple(s.cel.expression for s in request.exactly.selectors if s.cel) if request.exactly else ()
        found = candidates(cluster, ask_for(group.device_class, texts), release)
        if not {item.id for item in group.chosen} <= found.ids:
            raise InputError(f"dra-lab found no selector that keeps the devices chosen for {request.name!r}")
        matching[request.name] = len(found.devices)
        exact = exact and not any(item.id in found.ids for item in group.others)
    counts = ", ".join(f"{len(g.chosen)} {_kind_name(g)}" for g in groups)
    return Example(f"{counts}: {title}", sketch, matching, exact)


def _kind_name(group: _Group) -> str:
    name = PLURALS[group.kind] if len(group.chosen) > 1 else _SINGULAR[group.kind]
    return kind_words(name, guessed=group.guessed)
