"""Where a link can hold: levels and attributes, what each is written with, and why others cannot be chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dra_lab.authoring.candidates import attribute_names, reference_candidates
from dra_lab.drivers import level_attributes
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.pools import PoolDevice
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, ClaimSketch, Link
from dra_lab.topology.locality import localities

LEVEL_WORDS: Mapping[str, str] = {
    "switch": "PCIe switch",
    "pcieRoot": "PCIe root",
    "numaNode": "NUMA node",
    "socket": "socket",
}
"""The levels in sentences."""

Ends = Mapping[str, tuple[PoolDevice, ...]]


@dataclass(frozen=True)
class AttributeChoice:
    """The attribute with which a link is written: its full name, or "" and the reason why there is none.

    `sides` maps every end to the attributes that its devices publish for the place; `lacking` counts, per end, the
    matching devices without the chosen attribute (kube-scheduler never chooses them for this link).
    """

    name: str = ""
    reason: str = ""
    sides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacking: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkOption:
    """A place that a link could name.

    `where` is a level or a full attribute name; `enabled` is False where an end does not know it, and `reason` says
    which; `writable` is False where the plan can keep it (the locality is known) but no attribute tells it to
    kube-scheduler, and `reason` says why.
    """

    where: str
    label: str
    enabled: bool
    reason: str = ""
    writable: bool = True


def attribute_for(cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease) -> AttributeChoice:
    """Return the full attribute name with which a link's place is written for a release, or why there is none.

    An attribute that a person named is taken as it is. For a level: a name that the drivers of all ends publish for
    it, with values of one type; names that every matching device publishes come first, then standard names. Lists
    count only with the gate DRAListTypeAttributes. Rules: dra-semantics 3.9, rules 50 and 51, M1, M4, M6.
    """
    return _choose(_ends(cluster, sketch, link, release), link.where, release)


def link_options(
    cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease
) -> tuple[LinkOption, ...]:
    """Return the places that a link could name: levels from near to far, shared attributes, then what is not shared."""
    ends = _ends(cluster, sketch, link, release)
    levels = [_level_option(cluster, ends, level, release) for level in LEVELS]
    written = {choice.name for level in LEVELS if (choice := _choose(ends, level, release)).name}
    names = {end: attribute_names(items) for end, items in ends.items()}
    options = [_attribute_option(names, ends, name, release) for name in sorted(set().union(*names.values()) - written)]
    return (*levels, *(o for o in options if o.enabled), *(o for o in options if not o.enabled))


def known_at(cluster: Cluster, level: str) -> frozenset[DeviceID]:
    """Return the devices of a cluster whose place at a level is known, published or derived."""
    memo: dict[str, frozenset[DeviceID]] = cluster.__dict__.setdefault("_authoring_known_at", {})
    if level not in memo:
        memo[level] = frozenset(
            device
            for node_name in cluster.node_names
            for device, locality in localities(cluster, node_name).items()
            if locality.place(level) is not None
        )
    return memo[level]


def _ends(cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease) -> Ends:
    return {end: reference_candidates(cluster, sketch, end, release) for end in link.requests}


def _choose(ends: Ends, where: str, release: KubernetesRelease) -> AttributeChoice:
    if where not in LEVELS:
        lacking = {end: _count_lacking(items, where, release) for end, items in ends.items()}
        sides = {end: (where,) * (len(items) > lacking[end]) for end, items in ends.items()}
        return AttributeChoice(where, "", sides, {end: n for end, n in lacking.items() if n})
    published_by = {end: _names_at(items, where, release) for end, items in ends.items()}
    sides = {end: tuple(counts) for end, counts in published_by.items()}
    if any(not items for items in ends.values()):
        # nothing matches: the standard name is as good as any, and another finding says what is the matter
        standard = f"resource.kubernetes.io/{where}"
        return AttributeChoice(standard if where in ("pcieRoot", "numaNode") else "", "no device matches", sides)
    common = [name for name in _in_order(published_by.values()) if _one_type(ends.values(), name)]
    if not common:
        return AttributeChoice("", _why_none(ends, sides, where), sides)
    total = {name: sum(len(items) - published_by[end][name] for end, items in ends.items()) for name in common}
    best = min(common, key=lambda name: (total[name], common.index(name)))
    lacking = {end: len(items) - published_by[end][best] for end, items in ends.items()}
    return AttributeChoice(best, "", sides, {end: n for end, n in lacking.items() if n})


def _names_at(items: Iterable[PoolDevice], level: str, release: KubernetesRelease) -> dict[str, int]:
    """Return the attributes that the devices publish for a level, most standard first, with the number of devices."""
    counts: dict[str, int] = {}
    for item in items:
        for name in level_attributes(item.driver, level):
            counts.setdefault(name, 0)
            counts[name] += _has(item, name, release, known_only=True)
    return {name: count for name, count in counts.items() if count}


def _has(item: PoolDevice, name: str, release: KubernetesRelease, *, known_only: bool) -> bool:
    attribute = item.device.lookup(name, item.driver)
    if attribute is None or (attribute.is_list and not _lists_match(release)):
        return False
    if not known_only:
        return True
    value = attribute.value
    # -1 and "" stand for "not known" (drivers/kinds.py): equal for matchAttribute, but no place
    return not (isinstance(value, bool) or (isinstance(value, int) and value < 0) or value == "")


def _lists_match(release: KubernetesRelease) -> bool:
    # M8: the scheduler of 1.36 never passes the gate on to its allocator
    return release.enabled("DRAListTypeAttributes") and release.version not in ("1.34", "1.35", "1.36")


def _count_lacking(items: Iterable[PoolDevice], name: str, release: KubernetesRelease) -> int:
    return sum(1 for item in items if not _has(item, name, release, known_only=False))


def _in_order(sides: Iterable[Mapping[str, int]]) -> list[str]:
    """Return the names that all sides have, standard names first, then in the order of the first side."""
    parts = list(sides)
    shared = [name for name in parts[0] if all(name in part for part in parts)] if parts else []
    return sorted(shared, key=lambda name: not name.startswith("resource.kubernetes.io/"))


def _one_type(ends: Iterable[Iterable[PoolDevice]], name: str) -> bool:
    kinds = set()
    for items in ends:
        for item in items:
            attribute = item.device.lookup(name, item.driver)
            if attribute is not None:
                kinds.add(attribute.kind.rstrip("s"))
    return len(kinds) == 1


def _why_none(ends: Ends, sides: Mapping[str, tuple[str, ...]], level: str) -> str:
    word = LEVEL_WORDS[level]
    without = [end for end in ends if not sides[end]]
    if without:
        rest = [f"{end}: {', '.join(names)}" for end, names in sides.items() if names]
        return _publish_no(without, word) + (f" ({'; '.join(rest)})" if rest else "")
    told = "; ".join(f"{end}: {', '.join(names)}" for end, names in sides.items())
    return f"the {word} is published under different names ({told})"


def listed(names: Iterable[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _publish_no(names: list[str], what: str) -> str:
    return f"{listed(names)} {'publishes' if len(names) == 1 else 'publish'} no {what}"


def _level_option(cluster: Cluster, ends: Ends, level: str, release: KubernetesRelease) -> LinkOption:
    word = LEVEL_WORDS[level]
    empty = [end for end, items in ends.items() if not items]
    if empty:
        return LinkOption(level, word, False, f"no device matches {listed(empty)}", False)
    known = known_at(cluster, level)
    unknown = [end for end, items in ends.items() if not any(item.id in known for item in items)]
    if unknown:
        return LinkOption(level, word, False, _publish_no(unknown, word), False)
    choice = _choose(ends, level, release)
    if not choice.name:
        return LinkOption(level, word, True, f"kube-scheduler cannot be told this: {choice.reason}", False)
    lacking = ", ".join(f"{count} of {len(ends[end])} {end}" for end, count in choice.lacking.items())
    return LinkOption(level, word, True, f"{lacking} do not publish {choice.name}" if lacking else "", True)


def _attribute_option(
    names: Mapping[str, frozenset[str]], ends: Ends, name: str, release: KubernetesRelease
) -> LinkOption:
    without = [end for end, have in names.items() if name not in have]
    if without:
        return LinkOption(name, name, False, _publish_no(without, name), False)
    if any(_count_lacking(items, name, release) for items in ends.values()):
        return LinkOption(name, name, False, f"{name} is a list; the gate DRAListTypeAttributes is off", False)
    if not _one_type(ends.values(), name):
        return LinkOption(name, name, False, f"{name} has values of different types", False)
    return LinkOption(name, name, True)
