"""The bars of the Fleet mode: what of one kind of device is in use on nodes, racks or types; the card of one bar."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import traitlets
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.pictures.charts.amounts import Amounts, amount_names
from dra_lab.pictures.racks import NO_RACK, racks
from dra_lab.session.answers import Answer
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.topology.node_tree import natural_order
from dra_lab.widgets.cluster_rows import hardware_types
from dra_lab.widgets.device_rows import HeatMap, heat_map
from dra_lab.widgets.fleet_mode import letters_of
from dra_lab.widgets.session_view import Pane, Row
from dra_lab.widgets.why_not import WhyNotRow
from dra_lab.words.facts import KINDS, counted

BarRow = tuple[str, str, str, int, float, float, float, float, float, str]
"""id, name, state, nodes; in use, planned, free, stranded, not available; pods in words. A tuple, as there are many."""

FEW_NODES = 64
"""Nodes up to which each has a bar of its own at first."""

_STRANDED = 3

_ROUND = 2


class Bars:
    """The amounts of an answer by kind and node, with the words for its pods; `only` are the nodes to show."""

    def __init__(self, cluster: Cluster, amounts: Iterable[Amounts], answer: Answer | None) -> None:
        """Sort the amounts by kind."""
        self.cluster = cluster
        self.only: frozenset[str] | None = None
        self.racks = racks(cluster)
        self._rack_of = {node: rack for rack, nodes in self.racks.nodes.items() for node in nodes} if self.racks else {}
        self.by_kind: dict[str, dict[str, tuple[float, ...]]] = defaultdict(dict)
        for amount in amounts:
            if amount.total:
                self.by_kind[amount.kind][amount.node] = amount.values
        self._pods: dict[str, Counter[str]] = defaultdict(Counter)
        if answer is not None:
            names = {planned: answer.drawn(planned).pod for planned in answer.plan.placed}
            for replica in answer.plan.pods:
                self._pods[replica.node][names[replica.workload]] += 1

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Return the kinds of devices with their labels."""
        return tuple((kind, words) for kind, words in amount_names(self.cluster).items() if kind in self.by_kind)

    def pods_on(self, node: str) -> Mapping[str, int]:
        """Return how many pods of each workload the plan has on a node."""
        return self._pods.get(node, Counter())

    def nodes(self, kind: str, only: Iterable[str] | None = None) -> tuple[BarRow, ...]:
        """Return a bar for each node to show, or of `only`, that has devices of a kind, by name."""
        known = self.by_kind.get(kind, {})
        wanted = self.only if only is None else only
        names = sorted(known if wanted is None else known.keys() & set(wanted), key=natural_order)
        return tuple(self._row(kind, name, name, "", [name]) for name in names)

    def groups(self, kind: str, by: str) -> tuple[BarRow, ...]:
        """Return a bar for each rack, or each hardware type and state: the most stranded first, then the least free."""
        rows = [self._row(kind, key, *group) for key, group in self.members(kind, by).items()]
        return tuple(sorted(rows, key=lambda row: (-row[7], row[6], natural_order(row[1]), row[2])))

    def members(self, kind: str, by: str) -> Mapping[str, tuple[str, str, list[str]]]:
        """Return name, state and nodes of each group by its id."""
        found: dict[str, tuple[str, str, list[str]]] = {}
        names = self._rack_of if by == "racks" else hardware_types(self.cluster)
        for node, values in self.by_kind.get(kind, {}).items():
            if self.only is not None and node not in self.only:
                continue
            name = names.get(node, "") or (NO_RACK if by == "racks" else "devices that several nodes see")
            state = "" if by == "racks" else _state_of(values)
            found.setdefault(f"{by}/{name}/{state}", (name, state, []))[2].append(node)
        return found

    def heat(self, kind: str) -> HeatMap:
        """Return the racks by their stranded devices; nothing if neither labels nor names say where nodes are."""
        if self.racks is None:
            return HeatMap()
        label = amount_names(self.cluster)[kind]
        return heat_map(
            self.racks,
            f"Stranded {label} by {self.racks.word}",
            {node: (values[_STRANDED], sum(values)) for node, values in self.by_kind.get(kind, {}).items()},
            lambda row: f"{row.rack}: {row.value:,} of {row.total:,} {label} stranded" if row.total else "",
            lambda row: f"racks/{row.rack}/",
        )

    def _row(self, kind: str, key: str, name: str, state: str, nodes: Sequence[str]) -> BarRow:
        known, pods = self.by_kind[kind], Counter[str]()
        sums = map(sum, zip(*(known[node] for node in nodes), strict=True))
        used, planned, free, stranded, blocked = (int(v) if v == int(v) else round(v, _ROUND) for v in sums)
        for node in nodes:
            pods.update(self.pods_on(node))
        words = ", ".join(f"{count:,} × {workload}" for workload, count in sorted(pods.items()))
        return key, name, state, len(nodes), used, planned, free, stranded, blocked, words


def _state_of(values: Sequence[float]) -> str:
    """Return the state of a node: idle, partly in use, full, or not available."""
    used, planned, free, stranded, blocked = values
    if not used:
        return "not available" if blocked and not planned + free + stranded else "idle"
    return "partly in use" if planned + free + stranded else "full"


def free_lines(kind: str, row: BarRow) -> tuple[str, ...]:
    """Return what is stranded and what is free on a node or in a group, in words."""
    name = KINDS.get(kind, kind)
    _, _, _, nodes, used, planned, free, stranded, blocked, _ = row
    amounts = {"in use": used, "planned": planned, "free and usable": free, "stranded": stranded}
    parts = ", ".join(f"{_words(amount)} {words}" for words, amount in amounts.items() if amount)
    lines = [f"{_words(used + planned + free + stranded + blocked)} {name}: {parts or 'none available'}."]
    if stranded:
        where = "here" if nodes == 1 else f"on these {counted(nodes, 'node')}"
        lines.append(f"Stranded means free, but no more pod of these workloads can use it {where}.")
    if blocked:
        lines.append(f"Not available (tainted, cordoned, or in an incomplete pool): {_words(blocked)} {name}.")
    return tuple(lines)


def _words(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


MOST_NAMES = 300
"""Nodes up to which fields offer their names."""

_NOTHING = "No devices here. Load a cluster."


class FilterRow(Row, frozen=True):
    """One filter of the bars: its name, and its values with the number of nodes of each."""

    name: str
    values: tuple[tuple[str, int], ...] = ()


class BarTable(Row, frozen=True):
    """The bars: one kind of device by nodes, racks or hardware types, and the amounts of all of them.

    `kinds` and `groupings` are what can be chosen, with labels. `many` is True if there are too many nodes for a bar
    each at first. `names` are the nodes of a small cluster. `filters` are what nodes can be chosen by.
    """

    kind: str = ""
    by: Literal["nodes", "racks", "types"] = "nodes"
    kinds: tuple[tuple[str, str], ...] = ()
    groupings: tuple[tuple[str, str], ...] = ()
    rows: tuple[BarRow, ...] = ()
    names: tuple[str, ...] = ()
    filters: tuple[FilterRow, ...] = ()
    note: str = ""
    many: bool = False


class PodsRow(Row, frozen=True):
    """Pods of one workload on a node: how many the plan has there, and how many are pinned."""

    workload: str
    count: int
    pinned: int = 0
    letter: str = ""


class CardRow(Row, frozen=True):
    """What is chosen: a node with its pods and its picture, or the nodes of a group.

    `lines` say what is free, and `cordoned` that no pod starts on the node. `rows` are the nodes of a group. `svg` is
    the picture of a node. `why` is the reason why devices of the node, or of the node of the group with most of them,
    are stranded.
    """

    id: str = ""
    title: str = ""
    node: bool = False
    cordoned: bool = False
    lines: tuple[str, ...] = ()
    pods: tuple[PodsRow, ...] = ()
    rows: tuple[BarRow, ...] = ()
    svg: str = ""
    why: WhyNotRow = WhyNotRow()


class FleetBars(Pane):
    """The bars and the card of the chosen one.

    Both sides write `fleet_kind`, `fleet_by`, `fleet_filters` (`driver:dra.net`), `fleet_chosen` (the id of a bar) and
    `fleet_picture` (whether the card shows the picture of its node).
    """

    fleet_bars = traitlets.Dict().tag(sync=True, value=BarTable)
    fleet_heat = traitlets.Dict().tag(sync=True, value=HeatMap)
    fleet_card = traitlets.Dict().tag(sync=True, value=CardRow)
    fleet_kind = traitlets.Unicode("").tag(sync=True)
    fleet_by = traitlets.Unicode("").tag(sync=True)
    fleet_filters: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    fleet_chosen = traitlets.Unicode("").tag(sync=True)
    fleet_picture = traitlets.Bool(False).tag(sync=True)

    only_in = "fleet"

    def _begin(self) -> None:
        self._bars: Bars | None = None
        self._bars_of: Answer | None = None
        self.when(self._show_bars, "fleet", "mode")
        self.when(self._show_card, "fleet-why")
        self.watch(self._show_bars, "fleet_kind", "fleet_by", "fleet_filters")
        self.watch(self._show_card, "fleet_chosen", "fleet_picture")

    def _show_bars(self) -> None:
        session = self.session
        answer = session.fleet.answer
        if answer is None:
            self.assign(fleet_bars=BarTable(note="" if session.cluster.slices else _NOTHING))
            return
        if answer is not self._bars_of:
            self._bars_of, self._bars = answer, Bars(answer.question.cluster, answer.amounts, answer)
        bars = self._bars
        if bars is None or not bars.kinds:
            self.assign(fleet_bars=BarTable(note=_NOTHING), fleet_card=CardRow(), fleet_heat=HeatMap())
            return
        names = answer.question.cluster.node_names
        many = len(names) > FEW_NODES
        word = bars.racks.word if bars.racks is not None else ""
        groupings = {"nodes": "nodes", **({"racks": plural(word)} if word else {}), "types": "hardware types"}
        kinds = dict(bars.kinds)
        kind = self.view.fleet_kind if self.view.fleet_kind in kinds else next(iter(kinds))
        bars.only = matching(bars.cluster, self.view.fleet_filters)
        by: Any = self.view.fleet_by if self.view.fleet_by in groupings else ("types" if many else "nodes")
        rows = bars.nodes(kind) if by == "nodes" else bars.groups(kind, by)
        with self.view.hold_trait_notifications():
            self.view.fleet_kind, self.view.fleet_by = kind, by
        table = BarTable(
            kind=kind,
            by=by,
            kinds=bars.kinds,
            groupings=tuple(groupings.items()),
            rows=rows,
            many=many,
            filters=filter_rows(bars.cluster),
            names=names if len(names) <= MOST_NAMES else (),
        )
        self.assign(fleet_bars=table, fleet_heat=bars.heat(kind) if many else HeatMap())
        self._show_card()

    def _show_card(self) -> None:
        bars, chosen, kind = self._bars, self.view.fleet_chosen, self.view.fleet_kind
        if bars is None or not chosen or kind not in bars.by_kind:
            self.assign(fleet_card=CardRow())
            return
        group = bars.members(kind, chosen.partition("/")[0]).get(chosen) if "/" in chosen else None
        if group is not None:
            name, state, nodes = group
            whole = next(row for row in bars.groups(kind, chosen.partition("/")[0]) if row[0] == chosen)
            title = f"{name}, {state}" if state else name
            rows = tuple(sorted(bars.nodes(kind, nodes), key=lambda row: (-row[7], row[6])))
            why = self._why(rows[0])
            self.assign(fleet_card=CardRow(id=chosen, title=title, lines=free_lines(kind, whole), rows=rows, why=why))
        elif chosen in bars.by_kind[kind]:
            (row,) = bars.nodes(kind, [chosen])
            card = self._node_card(bars, chosen, free_lines(kind, row))
            self.assign(fleet_card=replace(card, why=self._why(row)))
        else:
            self.assign(fleet_card=CardRow())

    def _node_card(self, bars: Bars, node: str, lines: tuple[str, ...]) -> CardRow:
        workloads = self.session.fleet.workloads
        letters = letters_of(workloads)
        here = bars.pods_on(node)
        pods = tuple(
            PodsRow(workload=pod.pod, count=here.get(pod.pod, 0), pinned=pod.pins.get(node, 0), letter=letters[pod.pod])
            for pod in workloads
            if here.get(pod.pod, 0) or pod.pins.get(node, 0)
        )
        is_node = node in bars.cluster.node_by_name
        svg = self._node_picture(bars, node) if self.view.fleet_picture and is_node else ""
        closed = node in bars.cluster.cordoned
        lines = ("Cordoned: kube-scheduler starts no new pod here.", *lines) if closed else lines
        return CardRow(id=node, title=node, node=is_node, cordoned=closed, lines=lines, pods=pods, svg=svg)

    def _why(self, row: BarRow) -> WhyNotRow:
        """Return why devices of the node of a bar are stranded, with the title alone while that is worked out."""
        from dra_lab.words.why_not_document import stranded_bars, stranded_lines

        node, stranded, answer = row[0], row[7], self.session.fleet.answer
        if answer is None or not stranded or node not in answer.question.cluster.node_by_name:
            return WhyNotRow()
        title, found = f"Why not more on {node}?", self.session.fleet.why_stranded(node)
        if found is None:
            return WhyNotRow(title=title, lines=("Finding out …",))
        requests = tuple(stranded_bars(found, answer.question.cluster, answer.question.release))
        return WhyNotRow(title=title, requests=requests, lines=tuple(stranded_lines(found)))

    def _node_picture(self, bars: Bars, node: str) -> str:
        """Return the picture of a node with all its pods, the letter of each workload on its devices."""
        from dra_lab.pictures.hardware import hardware_svg

        answer, workloads = self.session.fleet.answer, self.session.fleet.workloads
        pods = {}
        if answer is not None:
            here = answer.plan.on_node.get(node, ())
            pods = {one.device: answer.drawn(pod.workload).pod for pod in here for one in pod.devices}
        return hardware_svg(bars.cluster, node, pods=pods, workloads=[pod.pod for pod in workloads])


MOST_VALUES = 40
"""Values up to which a label is offered; one with more, or one for each node, says little about any node."""


@once_per_snapshot
def _values(cluster: Cluster) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the nodes of each value of each filter."""
    labels: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    drivers: dict[str, set[str]] = defaultdict(set)
    types: dict[str, set[str]] = defaultdict(set)
    for name, node in cluster.node_by_name.items():
        for key, value in node.metadata.labels.items():
            labels[key][value].add(name)
        for slice_ in cluster.slices_by_node.get(name, ()):
            drivers[slice_.spec.driver].add(name)
    for name, words in hardware_types(cluster).items():
        types[words].add(name)
    label_values = {
        f"{key}={value}": nodes
        for key, found in labels.items()
        if len(found) <= min(MOST_VALUES, len(cluster.node_names) - 1)
        for value, nodes in found.items()
    }
    every = len(cluster.node_names)
    return {
        name: {value: frozenset(nodes) for value, nodes in found.items() if len(nodes) < every}
        for name, found in (("label", label_values), ("driver", drivers), ("hardware type", types))
    }


def filter_rows(cluster: Cluster) -> tuple[FilterRow, ...]:
    """Return the filters with their values and how many nodes each keeps; values of all nodes are left out."""
    return tuple(
        FilterRow(name=name, values=tuple((value, len(found[value])) for value in sorted(found, key=natural_order)))
        for name, found in _values(cluster).items()
        if found
    )


def matching(cluster: Cluster, chosen: Sequence[str]) -> frozenset[str] | None:
    """Return the nodes with one of the chosen values of each filter (`driver:dra.net`), None if none is chosen."""
    known, wanted = _values(cluster), defaultdict[str, list[str]](list)
    for text in chosen:
        name, _, value = text.partition(":")
        if value in known.get(name, {}):
            wanted[name].append(value)
    if not wanted:
        return None
    return frozenset.intersection(
        *(frozenset[str]().union(*(known[name][value] for value in values)) for name, values in wanted.items())
    )
