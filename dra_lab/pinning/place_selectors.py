"""CEL texts that tell planned devices from others on their nodes by what they publish: places first, names never."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import LEVELS
from dra_lab.model.names import DeviceID, full_name
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, node_matches
from dra_lab.sketch.cel_text import is_one_of, read_of, selector_at
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.cluster_candidates import all_devices
from dra_lab.sketch.compile_links import MOST_ALTERNATIVES
from dra_lab.topology.locality import localities

MOST_TEXT = 8_000
"""Longest text of one selector; the API server takes 10 KiB."""

Devices = Mapping[str, Sequence[DeviceID]]
_Value = tuple[str, str | int | bool]
"""Kind and value of an attribute."""


def numa_selectors(cluster: Cluster, planned: Devices, nodes: Sequence[str]) -> dict[str, str]:
    """Return, by request, the text that keeps its devices on the one NUMA node of all planned ones, {} where none is.

    Also for drivers that publish no NUMA node, by the PCIe roots that sit there.
    """
    places = {device: place for node in nodes for device, place in localities(cluster, node).items()}
    values = {
        place.value if (place := places[device].numa_node) is not None else None
        for devices in planned.values()
        for device in devices
        if device in places and places[device].kind in ("gpu", "nic", "cpu", "memory")
    }
    if len(values) != 1 or (value := values.pop()) is None:
        return {}
    found = {}
    for name, devices in planned.items():
        drivers = {device.driver for device in devices}
        same = {item.id: item for item in all_devices(cluster) if item.id.driver in drivers and item.id in places}
        text = selector_at(cluster, same, value, nodes)
        if text is not None:
            found[name] = text[0]
    return found


@dataclass(frozen=True)
class Published:
    """The devices of the planned nodes by driver, and the planned ones by request, each of one driver."""

    there: Mapping[str, Sequence[PoolDevice]]
    chosen: Mapping[str, Sequence[PoolDevice]]


def published_of(cluster: Cluster, planned: Devices, nodes: Sequence[str]) -> Published:
    """Return what the planned devices and the others of their nodes publish."""
    own, there = frozenset(("", *nodes)), defaultdict[str, list[PoolDevice]](list)
    for item in all_devices(cluster):
        if (item.slice.spec.node_name or "") in own:
            there[item.driver].append(item)
    by_id = {item.id: item for items in there.values() for item in items}
    chosen = {name: [by_id[device] for device in devices if device in by_id] for name, devices in planned.items()}
    return Published(there, {n: items for n, items in chosen.items() if len({item.driver for item in items}) == 1})


def attribute_selectors(published: Published, most_values: int) -> Iterator[dict[str, str]]:
    """Yield texts by request: each level for all requests that publish it, then every attribute of each request.

    A text admits the values of all planned devices of its request, and refuses some other device of the same driver on
    a planned node. Attributes of which every device has its own value come last.
    """
    there, chosen = published.there, published.chosen
    for level in LEVELS:
        joint: dict[str, str] = {}
        for name, items in chosen.items():
            attributes = items[0].kind.profile.attributes_at(level)
            texts = (_text(attribute, items, there[items[0].driver], most_values) for attribute in attributes)
            text = next((text for text in texts if text), "")
            if text:
                joint[name] = text
        if joint:
            yield joint
    single: list[tuple[bool, str, str]] = []
    for name, items in chosen.items():
        every = there[items[0].driver]
        for attribute in sorted(_names(every)):
            text = _text(attribute, items, every, most_values)
            if text:
                single.append((_each_its_own(attribute, every), name, text))
    for _, name, text in sorted(single):
        yield {name: text}


def place_alternatives(published: Published) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a request and a text for each of several values that its planned devices have, the most frequent first.

    A planned device passes one of the texts. Only a run can show whether every replica still finds as good ones with
    one text: first fit takes partitions of one profile in turn where a mixture would leave gaps. As
    alternatives they keep all devices of a request at one value and try the values in this order, without a
    constraint: kube-scheduler 1.36 may find nothing behind a constraint where counters ran out
    (docs/semantics.md 3.10).
    """
    for name, items in published.chosen.items():
        every = published.there[items[0].driver]
        for attribute in sorted(_names(every)):
            if _each_its_own(attribute, every) or any(_unfit(item, attribute) for item in every):
                continue
            counted = Counter(value for item in items if (value := _value(item, attribute)) is not None)
            if 1 < len(counted) <= MOST_ALTERNATIVES:
                order = sorted(counted, key=lambda value: (-counted[value], str(value)))
                yield name, tuple(_test(attribute, items[0].driver, (value,)) for value in order)


def exact_selectors(published: Published) -> dict[str, str]:
    """Return, by request, the strongest text: it admits only devices that publish all that some planned device does.

    Attributes that are the same on every device there are left out, and so is a text longer than MOST_TEXT.
    """
    found = {name: _exact(items, published.there[items[0].driver]) for name, items in published.chosen.items()}
    return {name: text for name, text in found.items() if text}


def replica_alternatives(published: Published, replicas: Sequence[Devices]) -> dict[str, tuple[str, ...]]:
    """Return, by request, the strongest text for the devices of each planned replica, in the order of the replicas.

    As alternatives they let replicas have devices of several sorts, each sort by itself. Requests of which a replica
    has no devices, or devices that no text tells from others, are left out.
    """
    there = published.there
    by_id = {item.id: item for items in there.values() for item in items}
    found = {}
    for name in dict.fromkeys(name for replica in replicas for name in replica):
        own = [[by_id[device] for device in replica.get(name, ()) if device in by_id] for replica in replicas]
        if all(len({item.driver for item in items}) == 1 for items in own):
            texts = tuple(_exact(items, there[items[0].driver]) for items in own)
            if all(texts):
                found[name] = texts
    return found


def _exact(items: Sequence[PoolDevice], every: Sequence[PoolDevice]) -> str:
    names = [
        attribute
        for attribute in sorted(_names(every))
        if not any(_unfit(item, attribute) for item in every) and len({_value(i, attribute) for i in every}) > 1
    ]
    rows = sorted({" && ".join(_test(a, item.driver, (_value(item, a),)) for a in names) for item in items})
    text = rows[0] if len(rows) == 1 else " || ".join(f"({row})" for row in rows)
    return text if len(text) <= MOST_TEXT else ""


def _text(attribute: str, items: Sequence[PoolDevice], every: Sequence[PoolDevice], most_values: int) -> str:
    """Return the text that admits the values of some devices and not those of all, "" for none."""
    values = {_value(item, attribute) for item in items}
    if len({kind for kind, _ in filter(None, values)}) > 1 or len(values) > most_values:
        return ""
    if any(_unfit(item, attribute) for item in every) or all(_value(item, attribute) in values for item in every):
        return ""
    return _test(attribute, items[0].driver, tuple(values))


def _test(attribute: str, driver: str, values: Sequence[_Value | None]) -> str:
    """Return the CEL text that an attribute has one of some values, None for absent; it fails on no device."""
    read, there = read_of(attribute, driver)
    known = [value for _, value in filter(None, values)]
    if None not in values:
        return f"{there} && {is_one_of(read, known)}"
    absent = f"!{there}" if there.startswith("has(") else f"!({there})"
    return f"{absent} || {is_one_of(read, known)}" if known else absent


def _value(item: PoolDevice, name: str) -> _Value | None:
    attribute = item.device.lookup(name, item.driver)
    if attribute is None or attribute.kind not in ("int", "string", "bool"):
        return None
    value = attribute.value
    assert isinstance(value, str | int | bool)
    return attribute.kind, value


def _unfit(item: PoolDevice, name: str) -> bool:
    """Say whether a device publishes an attribute in a form that no text is made of: a list, or a version."""
    attribute = item.device.lookup(name, item.driver)
    return attribute is not None and attribute.kind not in ("int", "string", "bool")


def _names(items: Sequence[PoolDevice]) -> set[str]:
    return {full_name(key, item.driver) for item in items for key in item.device.attributes}


def _each_its_own(attribute: str, items: Sequence[PoolDevice]) -> bool:
    values = [_value(item, attribute) for item in items]
    return len(set(values)) == len(values) > 1


HOSTNAME = "kubernetes.io/hostname"
_OF_ONE_NODE = (HOSTNAME, "metadata.name")


def node_requirements(cluster: Cluster, good: Sequence[str], bad: Sequence[str]) -> Affinity:
    """Return requirements that all good nodes meet and no bad one does; () where labels do not tell them apart.

    A label with the fewest values is taken, one that several nodes share before one that names each node. Other nodes
    may be admitted or not: nothing is known about them.
    """
    labels = {name: cluster.node_by_name[name].metadata.labels for name in (*good, *bad)}
    found = []
    for key in set.intersection(*({*labels[name]} for name in good)):
        values = frozenset(labels[name][key] for name in good)
        if not any(labels[name].get(key) in values for name in bad):
            names_nodes = key in _OF_ONE_NODE or len(values) == len(good) > 1
            found.append((names_nodes, len(values), key, values))
    if not found:
        return ()
    _, _, key, values = min(found, key=lambda row: row[:3])
    return ({"key": key, "operator": "In", "values": sorted(values)},)


def admitted_nodes(cluster: Cluster, affinity: Affinity) -> frozenset[str]:
    """Return the nodes on which all requirements hold, without cordoned ones; every node where there are none."""
    if not affinity:
        return cluster.open_nodes
    expressions = tuple(
        NodeSelectorRequirement(key=r["key"], operator=r["operator"], values=tuple(r.get("values", ())))
        for r in affinity
    )
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=expressions),))
    return (
        frozenset(name for name, node in cluster.node_by_name.items() if node_matches(selector, node))
        - cluster.cordoned
    )


def affinity_words(affinity: Affinity) -> str:
    """Return requirements on nodes as a person reads them."""
    return "; ".join(f"{r['key']} {r['operator']} {', '.join(r['values'])}" for r in affinity)
