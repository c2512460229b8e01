"""What a session knows of its cluster, as the values that `ClusterBar` and the findings list show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from dra_lab.findings import Finding
from dra_lab.index.catalogue import Shape, catalogue
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.cluster_candidates import all_devices, is_free
from dra_lab.sketch.kind_counts import free_words, kind_counts, kind_name, partition_words, use_words
from dra_lab.sources.live.connection import Context
from dra_lab.sources.samples import PREFIX, samples
from dra_lab.topology.locality import localities
from dra_lab.widgets.session_view import Row
from dra_lab.words.cluster_document import hierarchy_line
from dra_lab.words.facts import KINDS
from dra_lab.words.rule_catalogue import rule_catalogue


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


class UseRow(Row, frozen=True):
    """The devices of one kind in use: on all nodes, on one, or on `nodes` of one hardware type, `node`.

    `text` says what is free.
    """

    kind: str
    used: int
    total: int
    text: str
    node: str = ""
    nodes: int = 1


def source_rows(cluster: Cluster, known: Sequence[Context] = ()) -> tuple[SourceRow, ...]:
    """Return what can be picked: the contexts of the kubeconfig, the shipped samples, and the present cluster."""
    rows = []
    for one in known:
        parts = (one.server, f"as {one.who}" if one.who else "", "current context" if one.current else "")
        detail = " · ".join(filter(None, parts))
        rows.append(SourceRow(value=one.source, label=one.name, group="Running clusters", detail=detail))
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


def detail_rows(cluster: Cluster, summary: str) -> tuple[tuple[str, str], ...]:
    """Return what was read, when and as whom, line by line: all of what the bar may have no room for, and `summary`."""
    devices = sum(len(item.spec.devices or ()) for item in cluster.slices)
    kinds = (
        ("node", "nodes", len(cluster.node_names)),
        ("ResourceSlice", "ResourceSlices", len(cluster.slices)),
        ("device", "devices", devices),
        ("DeviceClass", "DeviceClasses", len(cluster.classes)),
        ("ResourceClaim", "ResourceClaims", len(cluster.claims)),
        ("DeviceTaintRule", "DeviceTaintRules", len(cluster.taint_rules)),
        ("pod with claims", "pods with claims", sum(pod.uses_claims for pod in cluster.pods)),
    )
    rows = [
        ("Cluster", cluster.name),
        ("In short", summary),
        ("Read", ", ".join(f"{count:,} {one if count == 1 else many}" for one, many, count in kinds if count)),
        ("Topology", hierarchy_line(cluster, known=True)),
        ("At", datetime.fromisoformat(cluster.read_at).strftime("%Y-%m-%d %H:%M") if cluster.read_at else ""),
        ("As", cluster.read_as),
    ]
    return tuple((label, value) for label, value in rows if value)


METERS = ("gpu", "nic")
"""The kinds of devices with a meter in the bar."""

MOST_NODES = 64
"""Nodes up to which each has a row of its own; above, nodes of the same hardware type share one."""


def meter_rows(cluster: Cluster, release: KubernetesRelease) -> tuple[UseRow, ...]:
    """Return how many physical devices of each kind are free: `18 of 32 free`, of partitions how many are possible."""
    found, counts = [], kind_counts(cluster, release)
    for kind in (kind for kind in METERS if kind in counts):
        count, label = counts[kind], kind_name(kind, counts[kind])
        if count.whole:
            text = free_words(cluster, count.whole_free, count.whole)
            found.append(UseRow(kind=label, text=text, used=count.whole - count.whole_free, total=count.whole))
        if count.split:
            model = f" {count.model}" if count.model else ""
            text = f"{count.split:,}{model}, {partition_words(cluster, count.possible, count.partitions)}"
            used = count.partitions - count.possible
            found.append(UseRow(kind=label, text=text, used=used, total=count.partitions))
    return tuple(found)


@once_per_snapshot
def node_use_rows(cluster: Cluster, release: KubernetesRelease) -> tuple[UseRow, ...]:
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
        UseRow(
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
    """Return the time of day at which a cluster was read, with the date if it was not today, and as whom."""
    if not cluster.read_at:
        return ""
    moment = datetime.fromisoformat(cluster.read_at)
    is_today = moment.date() == datetime.now(moment.tzinfo).date()
    words = moment.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
    return f"{words} as {cluster.read_as}" if cluster.read_as else words


class FindingRow(Row, frozen=True):
    """One finding in words; `severity` is error, warning or note; `origin` is the place of the text, or "".

    `help` has the lines of the catalogue about its rule, () for a rule that this dra_lab does not have.
    """

    severity: str
    message: str
    subject: str = ""
    advice: str = ""
    origin: str = ""
    rule: str = ""
    help: tuple[str, ...] = ()


class CountsRow(Row, frozen=True):
    """How many findings there are of each severity; `checking` where a large cluster is still being looked at."""

    error: int = 0
    warning: int = 0
    note: int = 0
    checking: bool = False


MAX_FINDINGS = 300
"""Findings that the browser gets, errors first; a last row says how many more there are (`lab.findings` has all)."""


def finding_rows(findings: Sequence[Finding]) -> tuple[FindingRow, ...]:
    """Return findings in words, at most MAX_FINDINGS of them and a row that counts the others."""
    rows, rules = [], rule_catalogue()
    for one in findings[:MAX_FINDINGS]:
        about = rules.get(one.rule)
        row = FindingRow(
            severity=one.severity.value,
            message=one.message,
            subject=one.subject,
            advice=one.advice,
            origin=str(one.origin) if one.origin else "",
            rule=one.rule,
            help=(about.means, about.cause, about.remedy, about.page) if about else (),
        )
        rows.append(row)
    if (more := len(findings) - MAX_FINDINGS) > 0:
        note = f"{more:,} more findings"
        rows.append(FindingRow(severity="note", message=note, advice="lab.findings has all of them."))
    return tuple(rows)


def counts(findings: Iterable[Finding], *, checking: bool = False) -> CountsRow:
    """Return how many findings there are of each severity, and whether more may come."""
    found = Counter(finding.severity.value for finding in findings)
    return CountsRow(error=found["error"], warning=found["warning"], note=found["note"], checking=checking)


_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


@once_per_snapshot
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
