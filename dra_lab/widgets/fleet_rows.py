"""The rows of the Fleet mode: bars of nodes, racks and hardware types, scenarios, and the card of what is chosen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_labels
from dra_lab.model.sketch import Kept, KnownValue, PodDrawing
from dra_lab.pictures.charts.amounts import Amounts, amount_names
from dra_lab.pictures.racks import NO_RACK, grade_words, heat, racks
from dra_lab.session.fleet_answer import FleetAnswer
from dra_lab.session.fleet_files import admitted
from dra_lab.topology.locality import localities
from dra_lab.topology.node_tree import natural_order
from dra_lab.widgets.device_rows import HeatCell, HeatMap
from dra_lab.widgets.wire import Row
from dra_lab.words.facts import KINDS, counted
from dra_lab.words.workload_words import claim_words


class ScenarioRow(Row, frozen=True):
    """One row of the scenarios: `cells` are the figures; `kept` if it can be restored and removed."""

    name: str
    cells: tuple[str, ...] = ()
    now: bool = False
    kept: bool = False
    title: str = ""


BarRow = tuple[str, str, str, int, float, float, float, float, float, str]
"""id, name, state, nodes; in use, planned, free, stranded, not available; pods in words. A tuple, as there are many."""


FEW_NODES = 64
"""Nodes up to which each has a bar of its own at first."""

_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_STRANDED = 3
_ROUND = 2


@once_per_labels
def hardware_types(cluster: Cluster) -> Mapping[str, str]:
    """Return what each node is, by its name: the label of its instance type, else its GPUs (`8 × NVIDIA H100`)."""
    words: dict[object, str] = {}
    found: dict[str, str] = {}
    for name, node in cluster.node_by_name.items():
        slices = cluster.slices_by_node.get(name, ())
        label = next(filter(None, map(node.metadata.labels.get, _TYPE_LABELS)), "")
        firsts = tuple(
            (s.spec.driver, len(s.spec.devices or ()), "".join(map(_product, (s.spec.devices or ())[:1])))
            for s in slices
        )
        key = label or tuple(sorted(firsts))
        if key not in words:
            words[key] = label or _hardware_words(cluster, name)
        found[name] = words[key]
    return found


def _product(device: Device) -> str:
    found = device.attributes.items()
    return "\n".join(f"{key}={value.string}" for key, value in found if key.endswith(("productName", "model")))


def _hardware_words(cluster: Cluster, node: str) -> str:
    """Return the devices of the first kind that a node has: GPUs, else NICs, else CPUs."""
    places = localities(cluster, node)
    for kind in KINDS:
        labels = Counter(place.label for place in places.values() if place.kind == kind)
        if labels:
            return " + ".join(f"{number:,} × {label}" for label, number in labels.most_common(2))
    return "no devices"


class Bars:
    """The amounts of an answer by kind and node, with the words for its pods; `only` are the nodes to show."""

    def __init__(self, cluster: Cluster, amounts: Iterable[Amounts], answer: FleetAnswer | None) -> None:
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
        for replica in answer.plan.pods if answer is not None else ():
            self._pods[replica.node][replica.workload] += 1

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
        wanted = filter(self._is_shown, known) if only is None else (name for name in only if name in known)
        names = sorted(wanted, key=natural_order)
        return tuple(self._row(name, "", [name], known[name], self.pods_on(name)) for name in names)

    def groups(self, kind: str, by: str) -> tuple[BarRow, ...]:
        """Return a bar for each rack, or for each hardware type and state, the most stranded first."""
        rows = [
            self._row(key, state, nodes, self._sum(kind, nodes), self._pods_on(nodes), name)
            for key, (name, state, nodes) in self.members(kind, by).items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row[7], -row[6], natural_order(row[1]), row[2])))

    def members(self, kind: str, by: str) -> Mapping[str, tuple[str, str, list[str]]]:
        """Return name, state and nodes of each group by its id."""
        found: dict[str, tuple[str, str, list[str]]] = {}
        names = self._rack_of if by == "racks" else hardware_types(self.cluster)
        for node, values in self.by_kind.get(kind, {}).items():
            if not self._is_shown(node):
                continue
            name = names.get(node, "") or (NO_RACK if by == "racks" else "devices that several nodes see")
            state = "" if by == "racks" else state_of(values)
            found.setdefault(_group_id(by, name, state), (name, state, []))[2].append(node)
        return found

    def heat(self, kind: str) -> HeatMap:
        """Return the racks by their stranded devices; nothing if neither labels nor names say where nodes are."""
        if self.racks is None:
            return HeatMap()
        known, word = self.by_kind.get(kind, {}), self.racks.word
        label = amount_names(self.cluster)[kind]
        rows = heat(self.racks, {node: (values[_STRANDED], sum(values)) for node, values in known.items()})
        cells = tuple(
            HeatCell(
                rack=row.rack,
                grade=row.grade,
                words=f"{row.rack}: {row.value:,} of {row.total:,} {label} stranded",
                id=_group_id("racks", row.rack),
            )
            for row in rows
            if row.total
        )
        grades = grade_words(max((row.value for row in rows), default=0))
        title = f"Stranded {label} by {word}"
        return HeatMap(title=title, source=self.racks.source, grades=grades, cells=cells)

    def _is_shown(self, node: str) -> bool:
        return self.only is None or node in self.only

    def _sum(self, kind: str, nodes: Sequence[str]) -> tuple[float, ...]:
        known = self.by_kind[kind]
        return tuple(map(sum, zip(*(known[node] for node in nodes), strict=True)))

    def _pods_on(self, nodes: Sequence[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        for node in nodes:
            if node in self._pods:
                found.update(self._pods[node])
        return found

    @staticmethod
    def _row(
        key: str, state: str, nodes: Sequence[str], values: Sequence[float], pods: Mapping[str, int], name: str = ""
    ) -> BarRow:
        used, planned, free, stranded, blocked = map(_number, values)
        words = ", ".join(f"{count:,} × {workload}" for workload, count in sorted(pods.items()))
        return key, name or key, state, len(nodes), used, planned, free, stranded, blocked, words


def _group_id(by: str, name: str, state: str = "") -> str:
    return f"{by}/{name}/{state}"


def state_of(values: Sequence[float]) -> str:
    """Return the state of a node: idle, partly in use, full, or not available."""
    used, planned, free, stranded, blocked = values
    if not used:
        return "not available" if blocked and not planned + free + stranded else "idle"
    return "partly in use" if planned + free + stranded else "full"


def workload_words(cluster: Cluster, pod: PodDrawing) -> str:
    """Return what a pod of a workload requests, then the nodes and DeviceClasses that its file says."""
    nodes, every = len(admitted(cluster, pod)), len(cluster.node_names)
    words = [claim_words(pod.claims)]
    words += [f"on {nodes:,} of {counted(every, 'node')}"] if nodes < every else []
    words += [f"with DeviceClass {', '.join(one.name for one in pod.classes)}"] if pod.classes else []
    return ", ".join(words)


def _number(value: float) -> float:
    return int(value) if value == int(value) else round(value, _ROUND)


def scenario_row(
    name: str, figures: Mapping[str, KnownValue], keys: Sequence[str], *, now: bool = False, kept: Kept | None = None
) -> ScenarioRow:
    """Return the figures of one answer in the order of `keys`; `placed` comes with the number wanted."""
    cells = []
    for key in keys:
        found = figures.get(key)
        if found is None:
            cells.append("–")
            continue
        of = f" of {figures['wanted'].value:,}" if key == "placed" and "wanted" in figures else ""
        cells.append(f"{found.value:,}{of}")
    title = "" if kept is None else f"{kept.cluster}: {kept.sentence}"
    return ScenarioRow(name=name, cells=tuple(cells), now=now, kept=kept is not None, title=title)


def scenario_columns(figures: Iterable[Mapping[str, KnownValue]]) -> Mapping[str, str]:
    """Return the figures that are compared with their headings: pods placed, more of each workload, stranded."""
    columns = {"placed": "placed"}
    every = list(dict.fromkeys(key for found in figures for key in found))
    more = [key for key in every if key.startswith("more/")]
    columns |= {key: "more fit" if len(more) == 1 else f"more {key.partition('/')[2]}" for key in more}
    for key in every:
        kind = key.partition("/")[2]
        if key.startswith("stranded/") and kind in ("gpu", "nic"):
            columns[key] = f"stranded {KINDS.get(kind, kind)}"
    return columns


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
