"""Where a link can hold: levels and attributes, what each is written with, and why others cannot be chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.index.catalogue import Shape
from dra_lab.model.claims import DeviceConstraint, DeviceDerivedAttribute, DeviceRequest, RequestPart
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, LINK_KINDS, ClaimSketch, How, Link, asks, covers
from dra_lab.sketch.cel_text import literal, read_of
from dra_lab.sketch.cluster_candidates import Candidates, reference_candidates
from dra_lab.topology.locality import localities, places_known
from dra_lab.topology.places import level_value, shared_value

LEVEL_WORDS: Mapping[str, str] = {
    "switch": "PCIe switch",
    "pcieRoot": "PCIe root",
    "numaNode": "NUMA node",
    "socket": "socket",
}
"""The levels in sentences."""


Ends = Mapping[str, Candidates]


class AttributeChoice(Struct, frozen=True):
    """The attribute with which a link is written: its full name, or "" and the reason why there is none.

    `sides` maps every end to the attributes that its devices publish for the place; `lacking` counts, per end, the
    matching devices without the chosen attribute (kube-scheduler never chooses them for this link).
    """

    name: str = ""
    reason: str = ""
    sides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacking: Mapping[str, int] = field(default_factory=dict)


class LinkOption(Struct, frozen=True, omit_defaults=True):
    """A place that a link could name.

    `where` is a level or a full attribute name. `enabled` is False if an end does not know it, and `reason` says which
    end. `writable` is False if the plan can keep the link (the locality is known) but no attribute expresses it for
    kube-scheduler, and `reason` says why.
    """

    where: str
    label: str
    enabled: bool = True
    reason: str = ""
    writable: bool = True


def attribute_for(cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease) -> AttributeChoice:
    """Return the full attribute name with which a link's place is written for a release, or why there is none.

    An attribute that a person named is taken as it is. For a level: a name that the drivers of all ends publish for
    it, with values of one type; names that every matching device publishes come first, then standard names. Lists
    count only with the gate DRAListTypeAttributes. Rules: docs/semantics.md 3.9.3, 3.9.4, 3.9.5, 3.9.8, 3.9.10.
    """
    return _choose(_ends(cluster, sketch, link, release), link.where, release)


def link_options(
    cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease
) -> tuple[LinkOption, ...]:
    """Return the places that a link could name: levels from near to far, shared attributes, then what is not shared."""
    ends = _ends(cluster, sketch, link, release)
    levels = [_level_option(cluster, ends, level, link.how, release) for level in LEVELS]
    written = {choice.name for level in LEVELS if (choice := _choose(ends, level, release)).name}
    names = {end: found.attributes for end, found in ends.items()}
    options = [_attribute_option(names, ends, name, release) for name in sorted(set().union(*names.values()) - written)]
    return (*levels, *(o for o in options if o.enabled), *(o for o in options if not o.enabled))


def _knows_any(cluster: Cluster, level: str, how: How, found: Candidates) -> bool:
    """Say whether any of the devices has a value at a level, as the planner reads a link there."""
    value = shared_value if LINK_KINDS[how].near else level_value
    if not any((shape.driver, level) in places_known(cluster) for shape in found.shapes):
        return False
    own = ((item, item.slice.spec.node_name) for item in found.devices if item.slice.spec.node_name)
    if any(value(localities(cluster, node)[item.id], level, item.device) is not None for item, node in own):
        return True
    network = {item.id: item.device for item in found.devices if not item.slice.spec.node_name}
    return bool(network) and any(
        value(place, level, network[device]) is not None
        for node in cluster.node_names
        for device, place in localities(cluster, node).items()
        if device in network
    )


def _ends(cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease) -> Ends:
    return {end: reference_candidates(cluster, sketch, end, release) for end in link.requests}


def _choose(ends: Ends, where: str, release: KubernetesRelease) -> AttributeChoice:
    if where not in LEVELS:
        have = {end: _count(found, where, release) for end, found in ends.items()}
        sides = {end: (where,) * bool(count) for end, count in have.items()}
        return AttributeChoice(where, _as_lists(ends, where, release, where), sides, _missing(ends, have))
    published_by = {end: _names_at(found, where, release) for end, found in ends.items()}
    sides = {end: tuple(counts) for end, counts in published_by.items()}
    if any(not found.devices for found in ends.values()):
        # nothing matches: the standard name is as good as any, and another finding says what is the matter
        standard = f"resource.kubernetes.io/{where}"
        return AttributeChoice(standard if where in ("pcieRoot", "numaNode") else "", "no device matches", sides)
    common = [name for name in _in_order(published_by.values()) if _one_type(ends.values(), name)]
    if not common:
        return AttributeChoice("", _as_lists(ends, where, release) or _why_none(ends, sides, where), sides)
    missing = {name: _missing(ends, {e: counts[name] for e, counts in published_by.items()}) for name in common}
    best = min(common, key=lambda name: (sum(missing[name].values()), common.index(name)))
    return AttributeChoice(best, "", sides, missing[best])


def _missing(ends: Ends, have: Mapping[str, int]) -> dict[str, int]:
    return {end: len(found.devices) - have[end] for end, found in ends.items() if len(found.devices) > have[end]}


def _names_at(found: Candidates, level: str, release: KubernetesRelease) -> dict[str, int]:
    """Return the attributes that the devices publish for a level, most standard first, with the number of devices."""
    counts: dict[str, int] = {}
    for shape, count in found.shapes.items():
        for name in shape.profile.attributes_at(level):
            counts.setdefault(name, 0)
            # -1 and "" stand for "not known": equal for matchAttribute, but no place
            counts[name] += count if _usable(shape, name, release) and shape.attributes[name][1] else 0
    return {name: count for name, count in counts.items() if count}


def _usable(shape: Shape, name: str, release: KubernetesRelease) -> bool:
    kind = shape.attributes.get(name, ("", False))[0]
    return bool(kind) and (not kind.endswith("s") or release.matches_lists)


def _count(found: Candidates, name: str, release: KubernetesRelease) -> int:
    return sum(count for shape, count in found.shapes.items() if _usable(shape, name, release))


def _in_order(sides: Iterable[Mapping[str, int]]) -> list[str]:
    """Return the names that all sides have, standard names first, then in the order of the first side."""
    parts = list(sides)
    shared = [name for name in parts[0] if all(name in part for part in parts)] if parts else []
    return sorted(shared, key=lambda name: not name.startswith("resource.kubernetes.io/"))


def _one_type(ends: Iterable[Candidates], name: str) -> bool:
    shapes = [shape for found in ends for shape in found.shapes if name in shape.attributes]
    return len({shape.attributes[name][0].rstrip("s") for shape in shapes}) == 1


def _as_lists(ends: Ends, level: str, release: KubernetesRelease, name: str = "it") -> str:
    """Return which ends publish a level as a list that the release's kube-scheduler does not compare; "" for none."""
    if release.matches_lists:
        return ""
    lists = [end for end, found in ends.items() if any(_is_list(shape, level) for shape in found.shapes)]
    if not lists:
        return ""
    verb = "publishes" if len(lists) == 1 else "publish"
    return f"{listed(lists)} {verb} {name} as a list, and kube-scheduler {release.version} does not compare lists"


def _is_list(shape: Shape, level: str) -> bool:
    names = shape.profile.attributes_at(level) or (level,)
    return any(shape.attributes.get(name, ("", 0))[0].endswith("s") for name in names)


def _why_none(ends: Ends, sides: Mapping[str, tuple[str, ...]], level: str) -> str:
    word = LEVEL_WORDS[level]
    without = [end for end in ends if not sides[end]]
    if without:
        rest = [f"{end}: {', '.join(names)}" for end, names in sides.items() if names]
        return _publish_no(without, word) + (f" ({'; '.join(rest)})" if rest else "")
    listed = "; ".join(f"{end}: {', '.join(names)}" for end, names in sides.items())
    return f"the drivers publish the {word} under different names ({listed})"


def link_words(link: Link) -> str:
    """Return a link by what it connects, as a person sees it: `the PCIe root link of gpu and nic`."""
    return f"the {LEVEL_WORDS.get(link.where, link.where)} link of {listed(link.requests)}"


def listed(names: Iterable[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _publish_no(names: list[str], what: str) -> str:
    return f"{listed(names)} {'publishes' if len(names) == 1 else 'publish'} no {what}"


def _level_option(cluster: Cluster, ends: Ends, level: str, how: How, release: KubernetesRelease) -> LinkOption:
    word = LEVEL_WORDS[level]
    empty = [end for end, found in ends.items() if not found.devices]
    if empty:
        return LinkOption(level, word, False, f"no device matches {listed(empty)}", False)
    unknown = [end for end, found in ends.items() if not _knows_any(cluster, level, how, found)]
    if unknown:
        return LinkOption(level, word, False, _publish_no(unknown, word), False)
    choice = _choose(ends, level, release)
    if not choice.name:
        return LinkOption(level, word, True, f"Kubernetes cannot express this: {choice.reason}", False)
    lacking = ", ".join(f"{count} of {len(ends[end].devices)} {end}" for end, count in choice.lacking.items())
    return LinkOption(level, word, True, f"{lacking} do not publish {choice.name}" if lacking else "", True)


def _attribute_option(
    names: Mapping[str, frozenset[str]], ends: Ends, name: str, release: KubernetesRelease
) -> LinkOption:
    without = [end for end, have in names.items() if name not in have]
    if without:
        return LinkOption(name, name, False, _publish_no(without, name), False)
    if any(_count(found, name, release) < len(found.devices) for found in ends.values()):
        return LinkOption(name, name, False, f"{name} is a list; the gate DRAListTypeAttributes is off", False)
    if not _one_type(ends.values(), name):
        return LinkOption(name, name, False, f"{name} has values of different types", False)
    return LinkOption(name, name, True)


GATE = "DRADerivedAttributes"
DOMAIN = "derived"
"""Domain of the names that are made here; no driver owns it, so that nothing that is published is hidden by them."""


Expressions = Mapping[tuple[str, str], str]
"""The CEL text by (end of a link, name of the derived attribute)."""


def derive_for(
    cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease
) -> tuple[AttributeChoice, Expressions] | None:
    """Return a derived attribute with which a link at a level can be written, and its text for every end, or None.

    This needs the gate DRADerivedAttributes, which a person must turn on (alpha in 1.37). It also needs every device
    that an end may match to publish the level as one scalar. kube-scheduler runs the text on each device that passes
    the selectors, and one failure ends the pod's attempt. Names of different types are compared as text. Source:
    docs/semantics.md 1.12.
    """
    if not release.enabled(GATE) or not link.is_level:
        return None
    names: dict[str, dict[str, str]] = {}
    kinds: set[str] = set()
    for end in link.requests:
        shapes = reference_candidates(cluster, sketch, end, release).shapes
        found = _names(shapes, link.where)
        if not found:
            return None
        names[end] = found
        kinds |= {shape.attributes[found[shape.driver]][0] for shape in shapes}
    name = f"{DOMAIN}/{link.where}"
    texts = {(end, name): _expression(found, as_text=len(kinds) > 1) for end, found in names.items()}
    return AttributeChoice(name, "", {end: tuple(found.values()) for end, found in names.items()}), texts


def is_derived(sketch: ClaimSketch, link: Link) -> bool:
    """Say whether a link names an attribute that the requests which it ties derive themselves."""
    parts = [
        part
        for end in link.requests
        for request in sketch.requests
        for ask, part in zip(asks(request), request.parts, strict=True)
        if covers(end, ask)
    ]
    return bool(parts) and all(any(d.name == link.where for d in part.derived_attributes) for part in parts)


def with_derived(
    request: DeviceRequest, constraints: Iterable[DeviceConstraint], texts: Expressions, of: str
) -> DeviceRequest:
    """Return a written request with the derived attributes that constraints on it name; `of` is the drawn request.

    The API server refuses one that no constraint names (docs/semantics.md 1.12).
    """
    used: dict[str, set[str]] = defaultdict(set)
    for constraint in constraints:
        for reference in constraint.requests:
            used[reference].add(constraint.match_attribute or constraint.distinct_attribute or "")
    expression = {name: text for (end, name), text in texts.items() if split_request(end)[0] == of}

    def derived(reference: str, part: RequestPart) -> RequestPart:
        wanted = used[request.name] | used[reference]
        found = {one.name: one for one in part.derived_attributes}
        found |= {n: DeviceDerivedAttribute(name=n, expression=e) for n, e in expression.items() if n in wanted}
        return replace(part, derived_attributes=tuple(found.values()))

    return request.with_parts(derived)


def _names(shapes: Iterable[Shape], level: str) -> dict[str, str]:
    """Return the attribute of each driver that all its devices publish for a level, {} where a driver has none."""
    by_driver: dict[str, list[Shape]] = defaultdict(list)
    for shape in shapes:
        by_driver[shape.driver].append(shape)
    found = {}
    for driver, own in by_driver.items():
        names = [n for n in own[0].profile.attributes_at(level) if all(_scalar(shape, n) for shape in own)]
        if not names:
            return {}
        found[driver] = names[0]
    return found


def _scalar(shape: Shape, name: str) -> bool:
    kind, known = shape.attributes.get(name, ("", False))
    return known and kind in ("int", "string")


def _expression(names: Mapping[str, str], *, as_text: bool) -> str:
    reads = {driver: _read(driver, name, as_text=as_text) for driver, name in names.items()}
    *others, last = reads.items()
    text = last[1]
    for driver, read in reversed(others):
        text = f"device.driver == {literal(driver)} ? {read} : {text}"
    return text


def _read(driver: str, name: str, *, as_text: bool) -> str:
    read, _ = read_of(name, driver)
    return f"string({read})" if as_text else read
