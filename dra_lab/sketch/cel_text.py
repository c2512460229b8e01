"""CEL texts that select devices: how one reads and writes values, and the fewest tests that do it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.names import PCIE_ROOT, DeviceID, full_name, split_qualified
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.sketch import LEVELS
from dra_lab.topology.locality import localities

_SELECTABLE = re.compile(r"(?!(?:true|false|null|in)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
"""A name that may follow a dot: an identifier that is not a reserved word of the grammar."""


def literal(value: object) -> str:
    """Return a string, whole number or bool as CEL writes it."""
    # CEL has no pairs of surrogates, which JSON in ASCII writes beyond U+FFFF
    return json.dumps(value, ensure_ascii=False)


def is_one_of(read: str, values: Iterable[object]) -> str:
    """Return the text that what `read` reads is one of some values, in the order of their texts."""
    texts = sorted(literal(value) for value in values)
    return f"{read} == {texts[0]}" if len(texts) == 1 else f"{read} in [{', '.join(texts)}]"


def read_of(name: str, driver: str, member: str = "attributes") -> tuple[str, str]:
    """Return (text that reads a value, text that says whether there is one); reading what is not there is an error.

    `name` is an attribute, of which a bare key belongs to the driver's domain, or a capacity with `member` "capacity".
    """
    domain, identifier = split_qualified(name, driver)
    values = f"device.{member}[{literal(domain)}]"
    if _SELECTABLE.match(identifier):
        return f"{values}.{identifier}", f"has({values}.{identifier})"
    return f"{values}[{literal(identifier)}]", f"{literal(identifier)} in {values}"


MOST_TESTS = 3
"""More tests than this in one selector are not looked for one combination after the other."""

_MOST_VALUES = 4
_ALL_DIFFERENT = 4
_OF_ONE_DEVICE = re.compile(
    r"(parent)?uuid|serial(number)?|mac(address)?|pci(busid|address)|busid|index|minor|ifname|ip(v[46])?|(node)?guid"
    r"|rdmadevice|device(name|index)|id|name"
)
"""Identifiers, in lower case, of attributes that name one device and say nothing about its sort."""


class Condition(Struct, frozen=True):
    """One condition on a device: its CEL text, never failing, and the attribute or capacity it looks at.

    `refuses` are the indices of the other devices that do not pass; `of_one` says that the attribute names a device
    rather than a sort of devices.
    """

    text: str
    name: str
    refuses: frozenset[int]
    of_one: bool


def tests_for(
    chosen: Sequence[PoolDevice], others: Sequence[PoolDevice], every: Sequence[PoolDevice]
) -> tuple[Condition, ...]:
    """Return the tests that all chosen devices pass and some of the others do not.

    All devices are of one driver. `every` are the devices that a test may meet in the cluster: where one of them lacks
    the attribute, the text asks for it first. Attributes that say where a device sits are left out: a link says that.
    """
    found: list[Condition] = []
    places = {name for level in LEVELS for name in chosen[0].kind.profile.attributes_at(level)}
    for name in sorted(_shared_names(chosen)):
        if name not in places:
            found += _attribute_tests(name, chosen, others, every)
    found += [test for key in _shared_keys(chosen) for test in _capacity_tests(key, chosen, others, every)]
    return tuple(test for test in found if test.refuses)


def fewest(tests: Sequence[Condition], refuse: Collection[int]) -> tuple[Condition, ...] | None:
    """Return the fewest tests that together refuse every index in `refuse`, None where no choice of tests does.

    Among equal numbers, it prefers those that do not name single devices, then the shortest text. Beyond MOST_TESTS the
    choice is greedy: it then may be longer than needed.
    """
    wanted = frozenset(refuse)
    if not wanted:
        return ()
    useful = [test for test in tests if test.refuses & wanted]
    if not wanted <= frozenset().union(*(test.refuses for test in useful)):
        return None
    for size in range(1, min(MOST_TESTS, len(useful)) + 1):
        right = [c for c in combinations(useful, size) if wanted <= frozenset().union(*(t.refuses for t in c))]
        if right:
            return min(right, key=lambda c: (sum(t.of_one for t in c), sum(len(t.text) for t in c)))
    return _greedy(useful, wanted)


def names_one_device(name: str) -> bool:
    """Say whether an attribute of this name is an identifier of single devices: a UUID, an address, an index."""
    return _OF_ONE_DEVICE.fullmatch(name.rpartition("/")[2].lower()) is not None


def joined_text(tests: Iterable[Condition]) -> str:
    """Return the tests as one CEL text."""
    parts = [test.text for test in tests]
    return parts[0] if len(parts) == 1 else " && ".join(f"({text})" if "||" in text else text for text in parts)


def _greedy(useful: Sequence[Condition], wanted: frozenset[int]) -> tuple[Condition, ...]:
    left, taken = set(wanted), []
    while left:
        best = max(useful, key=lambda test: (len(test.refuses & left), not test.of_one, -len(test.text)))
        taken.append(best)
        left -= best.refuses
    return tuple(taken)


def _shared_names(chosen: Sequence[PoolDevice]) -> set[str]:
    names = [{full_name(key, item.driver) for key in item.device.attributes} for item in chosen]
    return set.intersection(*names)


def _shared_keys(chosen: Sequence[PoolDevice]) -> list[str]:
    return sorted(set.intersection(*({*item.device.capacity} for item in chosen)))


def _value(item: PoolDevice, name: str) -> tuple[str, object] | None:
    attribute: DeviceAttribute | None = item.device.lookup(name, item.driver)
    return None if attribute is None or attribute.is_list else (attribute.kind, attribute.value)


def _attribute_tests(
    name: str, chosen: Sequence[PoolDevice], others: Sequence[PoolDevice], every: Sequence[PoolDevice]
) -> Iterator[Condition]:
    found = [_value(item, name) for item in chosen]
    values = {value for value in found if value is not None}
    kinds = {kind for kind, _ in values}
    if None in found or len(kinds) != 1 or len(values) > (1 if kinds & {"bool", "version"} else _MOST_VALUES):
        return
    kind = kinds.pop()
    read, there = read_of(name, chosen[0].driver)
    guard = "" if all(_value(item, name) is not None for item in every) else f"{there} && "
    refuses = frozenset(i for i, item in enumerate(others) if _value(item, name) not in values)
    text = guard + _test(read, kind, [value for _, value in values])
    yield Condition(text, name, refuses, _names_one(name, (*chosen, *others)))


def _test(read: str, kind: str, values: list[object]) -> str:
    if kind == "bool":
        return read if values[0] else f"!{read}"
    if kind == "version":
        return f"{read}.compareTo(semver({literal(str(values[0]))})) == 0"
    return is_one_of(read, values)


def _capacity_tests(
    key: str, chosen: Sequence[PoolDevice], others: Sequence[PoolDevice], every: Sequence[PoolDevice]
) -> Iterator[Condition]:
    amounts = [parse_quantity(item.device.capacity[key].value) for item in chosen]
    read, there = read_of(key, chosen[0].driver, "capacity")
    guard = "" if all(key in item.device.capacity for item in every) else f"{there} && "
    for sign, amount in ((">=", min(amounts)), ("<=", max(amounts))):
        text = f'{guard}{read}.compareTo(quantity("{format_quantity(amount)}")) {sign} 0'
        refuses = frozenset(i for i, item in enumerate(others) if not _passes(item, key, sign, amount))
        yield Condition(text, key, refuses, of_one=False)


def _passes(item: PoolDevice, key: str, sign: str, amount: object) -> bool:
    if key not in item.device.capacity:
        return False
    have = parse_quantity(item.device.capacity[key].value)
    return have >= amount if sign == ">=" else have <= amount  # type: ignore[operator]


def _names_one(name: str, items: Sequence[PoolDevice]) -> bool:
    """Say whether an attribute names single devices: by its name, or because no two devices here have the same."""
    if names_one_device(name):
        return True
    return len(items) >= _ALL_DIFFERENT and len({_value(item, name) for item in items}) == len(items)


def selector_at(
    cluster: Cluster, devices: Mapping[DeviceID, PoolDevice], value: int | str, nodes: Sequence[str]
) -> tuple[str, str] | None:
    """Return (CEL text, source of the locality) that selects those of the devices that sit on a NUMA node, or None.

    By the NUMA node where all of them publish it, else by the PCIe roots that sit there on every one of the nodes. The
    text is guarded: it never fails on a device that lacks the attribute. None where the devices are of several
    drivers, or where a root's name means different NUMA nodes on different machines.
    """
    items = devices.values()
    profiles = {item.driver: item.kind.profile for item in items}
    if len(profiles) != 1:
        return None
    driver, profile = profiles.popitem()
    for name in profile.attributes_at("numaNode"):
        kinds = {a.kind if (a := item.device.lookup(name, driver)) else "" for item in items}
        if kinds <= {"int"} or kinds <= {"string"}:
            wanted = literal(str(value)) if kinds == {"string"} else str(value)
            return _guarded(name, driver, f"== {wanted}"), name
    numa_of: dict[str | int, set[int | str | None]] = defaultdict(set)
    sources: dict[str, None] = {}
    for node in nodes:
        for device, locality in localities(cluster, node).items():
            if device in devices and locality.pcie_root is not None:
                place = locality.numa_node
                numa_of[locality.pcie_root.value].add(place.value if place else None)
                if place is not None and place.value == value:
                    sources[place.source] = None
    roots = sorted(str(root) for root, values in numa_of.items() if values == {value})
    if not roots or any(value in values and len(values) > 1 for values in numa_of.values()):
        # one root's name on different NUMA nodes of different machines: no selector can tell them apart
        return None
    return _guarded(PCIE_ROOT, driver, f"in {literal(roots)}"), ", ".join(sources)


def _guarded(name: str, driver: str, test: str) -> str:
    read, there = read_of(name, driver)
    return f"{there} && {read} {test}"
