"""The manifest of a drawing, searched on the cluster's node states after an answer, as far as there is time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, claims_of

PART_SECONDS = 5.0
"""How long the node states are searched until what is known so far is reported, with how many states are still open."""

MOST_SECONDS = 60.0
"""How long they are searched in all; what is open then stays reported as not searched."""


def manifest_findings(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, stop: threading.Event, *, fits: bool
) -> Iterator[tuple[Finding, ...]]:
    """Yield what is wrong with the manifest, and what kube-scheduler's search for it does on every node state.

    `fits` says that an allocation exists. All that is known comes again after each part. Verdicts of searches are kept,
    so that only new states cost time while a cluster is followed. Raises what compiling raises; Cancelled when `stop`
    is set.
    """
    from dra_lab.checks.document_checks import check_text
    from dra_lab.exports.manifests import manifest_yaml
    from dra_lab.pinning.node_search import judged, search_pod, unallocated
    from dra_lab.pinning.pin_budget import budget_of

    written = check_text(manifest_yaml(sketch, cluster, release).text, "the manifest", release)
    claims = claims_of(sketch)
    for _ in range(int(MOST_SECONDS / PART_SECONDS)):
        found = search_pod(claims, cluster, release, budget_of(PART_SECONDS, stop))
        nowhere = unallocated(found, claims, cluster, release, sketch.name) if fits else ()
        yield (*written, *judged(found, sketch.name, release), *nowhere)
        if not found.skipped:
            return
