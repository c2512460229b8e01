"""What a session knows of its cluster, as the values that `ClusterBar` and the findings list show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import full_name
from dra_lab.model.pools import PoolDevice
from dra_lab.model.release import KubernetesRelease
from dra_lab.sources import PREFIX, samples
from dra_lab.widgets.bar_values import CountsRow, FindingRow, SourceRow

_RDMA = full_name("rdma", "dra.net")
_NAMES = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices", "other": "other devices"}


def source_rows(cluster: Cluster) -> tuple[SourceRow, ...]:
    """Return what can be picked: the shipped samples, and the present cluster where it is none of them."""
    rows = [
        SourceRow(value=f"{PREFIX}{sample.name}", label=sample.title, group="Samples", detail=sample.teaches)
        for sample in samples()
    ]
    if cluster.name and cluster.name not in {row.value for row in rows}:
        rows.insert(0, SourceRow(value=cluster.name, label=cluster.name, group="Open now"))
    return tuple(rows)


def summary(cluster: Cluster, release: KubernetesRelease) -> str:
    """Return `4 nodes · 2 drivers · 32 GPUs, 27 free · 28 NICs, 16 with RDMA`: what is in a cluster, in one line."""
    from dra_lab.authoring.candidates import all_devices, is_free, kind_of

    by_kind: dict[str, list[PoolDevice]] = {kind: [] for kind in _NAMES}
    for item in all_devices(cluster):
        by_kind[kind_of(item)].append(item)
    parts = [_counted(len(cluster.node_names), "node"), _counted(len(cluster.drivers), "driver")]
    for kind, items in by_kind.items():
        if not items:
            continue
        told = _NAMES[kind] if len(items) > 1 else _NAMES[kind].removesuffix("s")
        free = sum(1 for item in items if is_free(cluster, item, release))
        use = f", {free:,} free" if cluster.claims_known else ", use unknown"
        parts.append(f"{len(items):,} {told}{use}{_with_rdma(items) if kind == 'nic' else ''}")
    return " · ".join(parts)


def read_at(cluster: Cluster) -> str:
    """Return the time of day at which a cluster was read, with the date when it was not today; "" for samples."""
    if not cluster.read_at:
        return ""
    moment = datetime.fromisoformat(cluster.read_at)
    today = datetime.now(moment.tzinfo).date()
    return moment.strftime("%H:%M" if moment.date() == today else "%Y-%m-%d %H:%M")


MAX_FINDINGS = 300
"""Findings that the browser gets, errors first; a last row says how many more there are (`lab.findings` has all)."""


def finding_rows(findings: Sequence[Finding]) -> tuple[FindingRow, ...]:
    """Return findings in words, at most MAX_FINDINGS of them and a row that counts the others."""
    more = len(findings) - MAX_FINDINGS
    rest = (FindingRow(severity="note", message=f"{more:,} more findings", advice="lab.findings has all of them."),)
    return _finding_rows(findings[:MAX_FINDINGS]) + (rest if more > 0 else ())


def _finding_rows(findings: Iterable[Finding]) -> tuple[FindingRow, ...]:
    return tuple(
        FindingRow(
            severity=finding.severity.value,
            message=finding.message,
            subject=finding.subject,
            advice=finding.advice,
            origin=str(finding.origin) if finding.origin else "",
            rule=finding.rule,
        )
        for finding in findings
    )


def counts(findings: Iterable[Finding]) -> CountsRow:
    """Return how many findings there are of each severity."""
    found = Counter(finding.severity.value for finding in findings)
    return CountsRow(error=found["error"], warning=found["warning"], note=found["note"])


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _with_rdma(items: Iterable[PoolDevice]) -> str:
    found = [item.device.lookup(_RDMA, item.driver) for item in items]
    if all(attribute is None for attribute in found):
        return ""
    return f", {sum(1 for attribute in found if attribute is not None and attribute.value is True):,} with RDMA"
