"""What is in a cluster: one line, and the document with its devices, its hierarchies and the number of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.release import KubernetesRelease
from dra_lab.words.document import Part, Sentence, Table, Words
from dra_lab.words.facts import counted


@once_per_snapshot
def summary(cluster: Cluster, release: KubernetesRelease) -> str:
    """Return `4 nodes · 2 drivers · 32 GPUs, 27 free · 28 NICs, 16 with RDMA`.

    Partitions are counted apart: `2 A100, 41 of 50 partitions still possible`.
    `at most 27 free` where the claims of some namespaces only were read, `use unknown` where none were.
    """
    from dra_lab.sketch.kind_counts import count_words, kind_counts
    from dra_lab.words.hierarchies_document import hierarchy_line

    hierarchy_line(cluster)  # where the summary is made there is time for it
    parts = [first_words(cluster)]
    for kind, count in kind_counts(cluster, release).items():
        parts.append(count_words(cluster, kind, count) + (_with_rdma(cluster) if kind == "nic" else ""))
    return " · ".join(parts)


def first_words(cluster: Cluster) -> str:
    """Return `5,000 nodes · 3 drivers`: what is known before the devices were looked at."""
    return f"{counted(len(cluster.node_names), 'node')} · {counted(len(cluster.drivers), 'driver')}"


@once_per_hardware
def _with_rdma(cluster: Cluster) -> str:
    from dra_lab.index.catalogue import catalogue
    from dra_lab.index.device_kinds import RDMA

    counts = catalogue(cluster).counts.items()
    able = [
        (attribute.value is True, count)
        for shape, count in counts
        if shape.kind == "nic" and (attribute := shape.example.lookup(RDMA, shape.driver)) is not None
    ]
    return f", {sum(count for with_it, count in able if with_it):,} with RDMA" if able else ""


def cluster_parts(cluster: Cluster) -> Iterator[Part]:
    """Yield what is in a cluster: one line, a row for each kind of device, the hierarchies, the number of findings."""
    from dra_lab.checks.cluster_checks import check_cluster
    from dra_lab.words.hierarchies_document import hierarchy_parts

    release = cluster.target_release()
    found = Counter(finding.severity.value for finding in (*cluster.findings, *check_cluster(cluster)))
    yield Sentence(f"{cluster.name or 'cluster'}: {summary(cluster, release)}")
    yield Table(("driver", "kind", "model", "devices", "free"), _device_rows(cluster, release))
    yield from hierarchy_parts(cluster)
    words = ", ".join(counted(found[severity], severity) for severity in ("error", "warning", "note"))
    yield Words(f"Kubernetes {release.version}; findings: {words}")


def _device_rows(cluster: Cluster, release: KubernetesRelease) -> list[tuple[str, str, str, int, str]]:
    from dra_lab.drivers import device_label
    from dra_lab.index.catalogue import catalogue, lookup_of
    from dra_lab.model.driver_profile import kind_words
    from dra_lab.sketch.device_use import is_free
    from dra_lab.sketch.free_words import free_count

    found: dict[tuple[str, str, str], list[bool]] = {}
    known = catalogue(cluster)
    for item in known.devices:
        shape = known.shape(item)
        label = device_label(shape.profile, lookup_of(item.driver, item.device))
        key = (item.driver, kind_words(shape.kind, guessed=shape.guessed), label)
        found.setdefault(key, []).append(is_free(cluster, item, release))
    return [(*key, len(free), free_count(cluster, sum(free))) for key, free in sorted(found.items())]
