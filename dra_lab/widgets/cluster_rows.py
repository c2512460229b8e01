"""What a session knows of its cluster, as the values that `ClusterBar` and the findings list show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime

from dra_lab.index.catalogue import Shape, catalogue
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.cluster_candidates import all_devices, is_free
from dra_lab.sketch.kind_counts import free_words, kind_counts, kind_name, partition_words, use_words
from dra_lab.sources import PREFIX, samples
from dra_lab.sources.live import Context
from dra_lab.widgets.fleet_rows import hardware_types
from dra_lab.widgets.wire import Row
from dra_lab.words.cluster_document import hierarchy_line


class FollowRow(Row, frozen=True):
    """Whether a running cluster is followed (off, connecting, live, lost, stopped), and why not; "" for others."""

    state: str = ""
    reason: str = ""


class ModeRow(Row, frozen=True):
    """One mode of the planner screen: its name and what the bar calls it."""

    name: str
    label: str


class AskRow(Row, frozen=True):
    """A question to the person and its answers as (id, label); without text there is no question."""

    text: str = ""
    options: tuple[tuple[str, str], ...] = ()


class SourceRow(Row, frozen=True):
    """A cluster that can be picked: `value` for `load_cluster`, its label, its heading, one line more.

    With `example` it is a drawing of the sample above it, which opens with that cluster.
    """

    value: str
    label: str
    group: str = ""
    detail: str = ""
    example: bool = False


class DetailRow(Row, frozen=True):
    """One line about the present cluster: what, and how much, when or who."""

    label: str
    value: str


class MeterRow(Row, frozen=True):
    """One kind of devices: how many are in use of how many; `text` says how many are free."""

    label: str
    text: str
    used: int
    total: int


class NodeUseRow(Row, frozen=True):
    """A node, or `nodes` of one hardware type, with the devices of one kind in use there; `text` says what is free."""

    node: str
    kind: str
    used: int
    total: int
    text: str
    nodes: int = 1


def source_rows(cluster: Cluster, known: Sequence[Context] = ()) -> tuple[SourceRow, ...]:
    """Return what can be picked: the contexts of the kubeconfig, the shipped samples, and the present cluster."""
    rows = [
        SourceRow(value=context.source, label=context.name, group="Running clusters", detail=_context_detail(context))
        for context in known
    ]
    for sample in samples():
        value = f"{PREFIX}{sample.name}"
        rows.append(SourceRow(value=value, label=sample.title, group="Samples", detail=sample.teaches))
        rows += [
            SourceRow(value=f"{value}/{example}", label=example, group="Samples", example=True)
            for example in sample.examples
        ]
    if cluster.name and cluster.name not in {row.value for row in rows}:
        rows.insert(0, SourceRow(value=cluster.name, label=cluster.name, group="Open now"))
    return tuple(rows)


def _context_detail(context: Context) -> str:
    parts = (context.server, f"as {context.who}" if context.who else "", "current context" if context.current else "")
    return " · ".join(part for part in parts if part)


def detail_rows(cluster: Cluster, summary: str) -> tuple[DetailRow, ...]:
    """Return what was read, when and as whom, line by line: all of what the bar may have no room for, and `summary`."""
    devices = sum(len(item.spec.devices or ()) for item in cluster.slices)
    kinds = (
        ("node", len(cluster.node_names)),
        ("ResourceSlice", len(cluster.slices)),
        ("device", devices),
        ("DeviceClass", len(cluster.classes)),
        ("ResourceClaim", len(cluster.claims)),
        ("DeviceTaintRule", len(cluster.taint_rules)),
        ("pod with claims", sum(pod.uses_claims for pod in cluster.pods)),
    )
    rows = [
        ("Cluster", cluster.name),
        ("In short", summary),
        ("Read", ", ".join(f"{count:,} {_plural(word, count)}" for word, count in kinds if count)),
        ("Topology", hierarchy_line(cluster, known=True)),
        ("At", _read_on(cluster)),
        ("As", cluster.read_as),
    ]
    return tuple(DetailRow(label=label, value=value) for label, value in rows if value)


def _plural(word: str, count: int) -> str:
    if count == 1:
        return word
    head, space, rest = word.partition(" ")
    return f"{head}{'es' if head.endswith('s') else 's'}{space}{rest}"


def _read_on(cluster: Cluster) -> str:
    return datetime.fromisoformat(cluster.read_at).strftime("%Y-%m-%d %H:%M") if cluster.read_at else ""


def read_at(cluster: Cluster) -> str:
    """Return the time of day at which a cluster was read, with the date when it was not today; "" for samples."""
    if not cluster.read_at:
        return ""
    moment = datetime.fromisoformat(cluster.read_at)
    today = datetime.now(moment.tzinfo).date()
    return moment.strftime("%H:%M" if moment.date() == today else "%Y-%m-%d %H:%M")


METERS = ("gpu", "nic")
"""The kinds of devices with a meter in the bar."""

MOST_NODES = 64
"""Nodes up to which each has a row of its own; above, nodes of the same hardware type share one."""


def meter_rows(cluster: Cluster, release: KubernetesRelease) -> tuple[MeterRow, ...]:
    """Return how many physical devices of each kind are free: `18 of 32 free`, of partitions how many are possible."""
    found, counts = [], kind_counts(cluster, release)
    for kind in (kind for kind in METERS if kind in counts):
        count, label = counts[kind], kind_name(kind, counts[kind])
        if count.whole:
            text = free_words(cluster, count.whole_free, count.whole)
            found.append(MeterRow(label=label, text=text, used=count.whole - count.whole_free, total=count.whole))
        if count.split:
            model = f" {count.model}" if count.model else ""
            text = f"{count.split:,}{model}, {partition_words(cluster, count.possible, count.partitions)}"
            used = count.partitions - count.possible
            found.append(MeterRow(label=label, text=text, used=used, total=count.partitions))
    return tuple(found)


@once_per_snapshot
def node_use_rows(cluster: Cluster, release: KubernetesRelease) -> tuple[NodeUseRow, ...]:
    """Return how many GPUs and NICs are in use on each node or hardware type; nothing without claims."""
    if not cluster.claims_known:
        return ()
    names = hardware_types(cluster) if len(cluster.node_names) > MOST_NODES else {}
    used: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    nodes: dict[tuple[str, str], set[str]] = defaultdict(set)
    shapes: dict[tuple[str, str], set[Shape]] = defaultdict(set)
    known, of_kind = catalogue(cluster), kind_counts(cluster, release)
    for item in all_devices(cluster):
        node, kind = item.slice.spec.node_name, known.shape(item).kind
        if node and kind in METERS:
            key = names.get(node, node), kind
            nodes[key].add(node)
            shapes[key].add(known.shape(item))
            total[key] += 1
            used[key] += not is_free(cluster, item, release)
    return tuple(
        NodeUseRow(
            node=key[0],
            kind=kind_name(key[1], of_kind[key[1]]),
            used=used[key],
            total=count,
            text=use_words(cluster, count - used[key], count, shapes[key]),
            nodes=len(nodes[key]),
        )
        for key, count in sorted(total.items(), key=lambda pair: (METERS.index(pair[0][1]), pair[0]))
    )


def read_words(cluster: Cluster) -> str:
    """Return when a cluster was read, and as whom."""
    moment = read_at(cluster)
    return f"{moment} as {cluster.read_as}" if moment and cluster.read_as else moment
