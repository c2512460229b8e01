"""What the quota of its queue says of a gang, as a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import Says
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import ClusterQueue
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Workload
from dra_lab.scheduler.kueue.quota_verdict import quota_verdict

_ADVICE = {
    Says.WAITS: (Severity.WARNING, "Wait, free quota of the queue, or use another queue: --queue NAME."),
    Says.NEVER: (Severity.ERROR, "Raise the quota of the queue, or plan a smaller gang."),
    Says.INADMISSIBLE: (Severity.ERROR, "Correct the gang, the queue or Kueue's Configuration."),
    Says.UNKNOWN: (Severity.NOTE, "Add what is missing to the snapshot."),
}


def quota_findings(
    cluster: Cluster,
    gang: Workload,
    queue: str,
    *,
    release: KubernetesRelease,
    hierarchies: Sequence[Hierarchy] = (),
    requests: Mapping[str, Mapping[str, QuantityText]] | None = None,
) -> Iterator[Finding]:
    """Yield what the quota of the queue that a gang names says, if it stops the gang or is not known.

    Args:
        cluster: The cluster with its queues.
        gang: The gang.
        queue: The queue that the gang names; "": Kueue does not manage the gang.
        release: The release of Kubernetes.
        hierarchies: The levels above the nodes.
        requests: What a pod of each group requests of its node, by the name of the workload.

    Yields:
        One finding at most; none in a cluster without queues of Kueue, whose queue may be one of KAI or Volcano.
    """
    if not queue or not any(isinstance(one, ClusterQueue) for one in cluster.queues):
        return
    try:
        found = quota_verdict(cluster, gang, queue, release=release, hierarchies=hierarchies, requests=requests)
    except InputError as error:
        advice = "Correct the name, if Kueue is to start the gang."
        yield Finding("gang-queue-unknown", Severity.WARNING, gang.name, error.message, advice)
        return
    if found.row.says in _ADVICE:
        severity, advice = _ADVICE[found.row.says]
        yield Finding("gang-quota", severity, gang.name, found.row.sentence.removesuffix("."), advice)
