"""The values of an attribute, such as rails, of the devices for a workload, and the sets that counting allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from dra_lab.errors import InputError
from dra_lab.index.catalogue import kind_of
from dra_lab.index.pools import PoolDevice, devices_on, pools_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, full_name
from dra_lab.model.release import KubernetesRelease, gates_of
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.model.workload import HOSTS, RAIL, Workload
from dra_lab.planner.arguments import hierarchy_of
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.node.eligible import NodeEligibility, eligibility, rules_of
from dra_lab.topology.hierarchies import hierarchies

Value = str | int | bool
Values = tuple[Value, ...]
AskKey = tuple[str, int, str]
"""Group, number of the claim and reference of an ask."""

MOST_SETS = 20_000
"""More sets of values are not counted."""

_SHARED = 1_000_000
"""A device that several pods may use counts as this many."""


class BoundAsk(NamedTuple):
    """A way to serve a request whose devices publish the attribute: its group, the number of its claim, and the ask.

    `alone` says that the request has no alternative, and `lacking` that some device that matches has no value.
    """

    group: str
    claim: int
    ask: Ask
    alone: bool
    lacking: bool


@dataclass
class Bound:
    """One attribute for one workload: the requests that it binds, and the devices with their values.

    `free` has by node and ask how many devices of each value are free, `by_value` by node how many of all asks.
    `repeated` says that a node has several devices of one value. `whole` is False if pods may do without such devices.
    """

    attribute: str
    inferred: bool
    asks: list[BoundAsk] = field(default_factory=list)
    values_of: dict[DeviceID, Value] = field(default_factory=dict)
    free: dict[str, dict[AskKey, Counter[Value]]] = field(default_factory=dict)
    by_value: dict[str, Counter[Value]] = field(default_factory=dict)
    repeated: bool = False
    whole: bool = True

    def per_pod(self, group: str) -> int:
        """Return how many devices with a value each pod of a group has, at most; 0 if it is not bound."""
        most: dict[tuple[int, str], int] = {}
        for one in self.asks:
            if one.group == group:
                key = one.claim, one.ask.request
                most[key] = max(most.get(key, 0), one.ask.count)
        return sum(most.values())

    def groups(self, workload: Workload) -> dict[str, int]:
        """Return the groups that are bound, with the pods without which a replica does not start."""
        return {group.name: group.least for group in workload.pods if self.per_pod(group.name)}

    def alike(self, nodes: Iterable[str]) -> Counter[str]:
        """Return one node of those that have the same numbers of free devices, with their number."""
        first: dict[Hashable, str] = {}
        found = Counter[str]()
        for node in nodes:
            rows = self.free.get(node, {})
            key = tuple(frozenset(row.items()) for row in (self.by_value.get(node, Counter()), *rows.values()))
            found[first.setdefault((*rows, *key), node)] += 1
        return found

    def slack(self, workload: Workload, chosen: Values, domains: Iterable[Mapping[str, int]]) -> float:
        """Return how many times the pods of a replica have devices of exactly these values, in the best domain.

        A domain is its nodes as `alike` returns them. It is counted from above: below 1 no domain has enough.
        """
        groups = self.groups(workload)
        best = 0.0
        for nodes in domains:
            pods, each = 0, Counter[str]()
            for node, times in nodes.items():
                have = self.by_value.get(node, Counter())
                most = min(have[value] for value in chosen)
                if not most:
                    continue
                pods += times * most
                for group in groups:
                    each[group] += times * min(most, self._pods(node, group, chosen))
            ratios = [each[group] / least for group, least in groups.items() if least]
            best = max(best, min([pods / max(1, sum(groups.values())), *ratios]))
        return best

    def _pods(self, node: str, group: str, chosen: Values) -> int:
        """Return how many pods of a group a node has devices for, at most."""
        free = self.free[node]
        mine = [one for one in self.asks if one.group == group and one.alone and not one.ask.admin_access]
        have = (free[_key(one)] for one in mine)
        return min(
            (sum(row[value] for value in chosen) // one.ask.count for one, row in zip(mine, have, strict=True)),
            default=_SHARED,
        )


def _key(one: BoundAsk) -> AskKey:
    return one.group, one.claim, one.ask.reference


class Seen(NamedTuple):
    """The asks of a workload on one node."""

    group: str
    claim: int
    sketch: ClaimSketch
    found: NodeEligibility


def bounds_of(cluster: Cluster, workload: Workload, release: KubernetesRelease) -> list[Bound]:
    """Return what each attribute of `same` binds. Raises InputError that names it if no device publishes it."""
    seen = _seen(cluster, workload, release)
    kinds = _nics(cluster, release) if RAIL in workload.same else {}
    found = []
    for number, name in enumerate(dict.fromkeys(workload.same)):
        where = f"same[{number}] of {workload.name}"
        attribute, inferred = (name, False) if name != RAIL else _rails(seen, kinds, where)
        if "/" not in attribute:
            raise InputError(f"{where} is {name!r}; give the full name of an attribute, such as 'nvidia.com/rail'")
        found.append(_bound(seen, attribute, kinds if inferred else None, where))
    return found


def _seen(cluster: Cluster, workload: Workload, release: KubernetesRelease) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = {}
    for group in workload.pods:
        for number, claim in enumerate(group.claims):
            rules = rules_of(cluster, claim, release)
            for node in rules.nodes:
                row = Seen(group.name, number, claim, eligibility(rules, node))
                found.setdefault(node, []).append(row)
    return found


def _bound(seen: Mapping[str, list[Seen]], attribute: str, only: Mapping[DeviceID, object] | None, where: str) -> Bound:
    """Return what an attribute binds; `only` are the devices that count, None for all."""
    bound = Bound(attribute, only is not None)
    published: set[AskKey] = set()
    kinds = set()
    for rows in seen.values():
        for row in rows:
            for part in row.found.asks:
                key = row.group, row.claim, part.ask.reference
                for device, stage in part.stages.items():
                    if stage <= Stage.SELECTOR:
                        continue
                    value = row.found.seen[device].lookup(attribute, device.driver)
                    if value is None or (only is not None and device not in only):
                        continue
                    published.add(key)
                    kinds.add(value.kind)
                    bound.values_of[device] = value.value  # type: ignore[assignment]
    if not published:
        raise InputError(f"{where}: no device that matches a request publishes {attribute!r}; give one that they have")
    if len(kinds) > 1 or not kinds <= {"string", "int", "bool"}:
        words = " and ".join(sorted(kinds))
        raise InputError(f"{where}: {attribute!r} is published as {words}; give one with texts, whole numbers or bools")
    _count(bound, seen, published, where)
    return bound


def _count(bound: Bound, seen: Mapping[str, list[Seen]], published: AbstractSet[AskKey], where: str) -> None:
    lacking: set[AskKey] = set()
    for node, rows in seen.items():
        mine = bound.free.setdefault(node, {})
        counted: dict[DeviceID, int] = {}
        here: dict[DeviceID, Value] = {}
        for row in rows:
            for part in row.found.asks:
                key = row.group, row.claim, part.ask.reference
                if key not in published:
                    continue
                matching = [device for device, stage in part.stages.items() if stage > Stage.SELECTOR]
                here |= {device: bound.values_of[device] for device in matching if device in bound.values_of}
                lacking |= {key for device in matching if device not in bound.values_of}
                row_counts = mine.setdefault(key, Counter())
                for device in part.devices if not part.ask.admin_access else matching:
                    if device in bound.values_of:
                        times = _SHARED if device in part.uses or part.ask.admin_access else 1
                        row_counts[bound.values_of[device]] += times
                        counted[device] = max(counted.get(device, 0), times)
        totals = bound.by_value[node] = Counter[Value]()
        for device, times in counted.items():
            totals[bound.values_of[device]] += times
        bound.repeated |= len(set(here.values())) < len(here)
    _keep_asks(bound, next(iter(seen.values()), []), published, lacking, where)


def _keep_asks(
    bound: Bound,
    rows: Iterable[Seen],
    published: AbstractSet[AskKey],
    lacking: AbstractSet[AskKey],
    where: str,
) -> None:
    for row in rows:
        for request in row.sketch.requests:
            every = asks(request)
            mine = [ask for ask in every if (row.group, row.claim, ask.reference) in published]
            bound.whole &= not mine or len(mine) == len(every)
            for ask in mine:
                if ask.all_devices:
                    words = f"request {ask.reference} asks for all devices; give it a count"
                    raise InputError(f"{where} fixes values of {bound.attribute!r}, and {words}")
                key = row.group, row.claim, ask.reference
                bound.asks.append(BoundAsk(row.group, row.claim, ask, len(every) == 1, key in lacking))


# ---------------------------------------------------------------- rails


def _nics(cluster: Cluster, release: KubernetesRelease) -> dict[DeviceID, PoolDevice]:
    gates = gates_of(release)
    every = (item for node in cluster.node_names for item in devices_on(pools_of(cluster, node, gates)))
    return {item.id: item for item in every if kind_of(item) == "nic"}


_NAMES = ("ifName", "interfaceName", "interface", "rdmaDevice", "name")
"""Attributes with the name of an interface, the surest first, after those with its PCI address."""


def _rails(seen: Mapping[str, list[Seen]], nics: Mapping[DeviceID, PoolDevice], where: str) -> tuple[str, bool]:
    """Return the attribute with rails, and whether it is inferred: it tells the NICs of every node apart alike."""
    found = ((node, row.found.seen) for node, rows in seen.items() for row in rows)
    devices = {id_: (node, device) for node, mine in found for id_, device in mine.items()}
    named = {full_name(key, id_.driver) for id_, (_, device) in devices.items() for key in device.attributes}
    rails = sorted(name for name in named if RAIL in name.partition("/")[2].lower())
    if len(rails) > 1:
        raise InputError(f"{where}: several attributes have rails; give one of {', '.join(rails)}")
    if rails:
        return rails[0], False
    own = {id_: row for id_, row in devices.items() if id_ in nics}
    addresses = dict.fromkeys(name for id_ in own for name in nics[id_].kind.profile.attributes_at("pciBusID"))
    names = (f"{driver}/{name}" for name in _NAMES for driver in sorted({id_.driver for id_ in own}))
    for attribute in (*addresses, *names):
        if _same_on_all(own, attribute):
            return attribute, True
    raise InputError(
        f"{where}: no device publishes an attribute with 'rail' in its name, and no address or name of NICs is the "
        "same on all nodes; give the full name of an attribute whose values are the rails"
    )


def _same_on_all(nics: Mapping[DeviceID, tuple[str, object]], attribute: str) -> bool:
    by_node: dict[str, list[object]] = {}
    for id_, (node, device) in nics.items():
        value = device.lookup(attribute, id_.driver)  # type: ignore[attr-defined]
        by_node.setdefault(node, []).append(None if value is None or value.is_list else value.value)
    sets = {frozenset(values) for values in by_node.values()}
    told_apart = all(len(values) == len(set(values)) > 1 and None not in values for values in by_node.values())
    return len(sets) == 1 and told_apart


# ---------------------------------------------------------------- sets


def domains_of(cluster: Cluster, workload: Workload) -> list[Sequence[str]]:
    """Return the nodes of each domain of the level of a workload."""
    if not workload.level:
        return [cluster.node_names]
    if workload.level in HOSTS:
        return [(node,) for node in cluster.node_names]
    tree = hierarchy_of(workload, hierarchies(cluster))
    assert tree is not None, "a level that is named has its hierarchy"
    return [domain.nodes for domain in tree.at(workload.level)]


def sets_of(workload: Workload, bound: Bound, domains: Sequence[Sequence[str]]) -> tuple[list[Values], bool]:
    """Return the sets of values that a replica may use, those with the most devices first, and whether these are all.

    If counting excludes every set, the one that comes closest is returned.
    """
    groups = bound.groups(workload)
    most = min(bound.per_pod(group) for group in groups if groups[group] or not any(groups.values()))
    values = sorted({value for row in bound.by_value.values() for value in row}) or sorted({*bound.values_of.values()})
    rows: list[tuple[float, int, Values]] = []
    closest: tuple[float, Values] = (-1.0, (values[0],))
    complete, alike = bound.whole, [*map(bound.alike, domains)]
    for number, chosen in enumerate(_combinations(values, most)):
        if number == MOST_SETS:
            complete = False
            break
        slack = bound.slack(workload, chosen, alike)
        closest = max(closest, (slack, chosen), key=lambda row: row[0])
        if slack >= 1:
            rows.append((-slack, len(chosen), chosen))
    rows.sort(key=lambda row: row[:2])
    return [chosen for *_, chosen in rows] or [closest[1]], complete


def _combinations(values: Sequence[Value], most: int) -> Iterator[Values]:
    for size in range(1, min(most, len(values)) + 1):
        yield from combinations(values, size)
