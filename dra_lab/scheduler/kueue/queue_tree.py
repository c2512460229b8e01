"""The queue that a gang names, and the quota of its Cohorts, read from the objects of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from dra_lab.errors import InputError, did_you_mean
from dra_lab.index.not_read import UNREAD
from dra_lab.model.cluster import Cluster
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.queues import ClusterQueue, Cohort, KueueWorkload, LocalQueue, ResourceGroup
from dra_lab.model.topologies import KUEUE, PLURALS
from dra_lab.scheduler.kueue.counted import whole_units
from dra_lab.scheduler.kueue.quota import FlavorResource, Quota, QuotaNode, QuotaTree

READ_QUEUES = "kubectl get clusterqueues,localqueues,cohorts,resourceflavors,topologies.kueue.x-k8s.io -A -o json"


class FoundQueue(Struct, frozen=True):
    """The queue that a gang names; no `local_queue` if a ClusterQueue was named.

    `unknown` says why the ClusterQueue could not be found; "" if it was.
    """

    cluster_queue: ClusterQueue | None = None
    local_queue: LocalQueue | None = None
    unknown: str = ""

    @property
    def name(self) -> str:
        """Return `NAMESPACE/NAME` of a LocalQueue, or the name of the ClusterQueue."""
        if self.local_queue is not None:
            meta = self.local_queue.metadata
            return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        return self.cluster_queue.name if self.cluster_queue is not None else ""


def find_queue(cluster: Cluster, queue: str = "") -> FoundQueue:
    """Return the queue of a name, or why it is not known.

    The name is that of a LocalQueue, `NAME` or `NAMESPACE/NAME`, or of a ClusterQueue; "": the only LocalQueue, else
    the only ClusterQueue. Raises InputError, which names the queues, if there is no such queue, or several.
    """
    every = [one for one in cluster.queues if isinstance(one, ClusterQueue)]
    local = [one for one in cluster.queues if isinstance(one, LocalQueue)]
    for kind, items in (("ClusterQueue", every), ("LocalQueue", local)):
        named = kind == "ClusterQueue" or not any(one.name == queue for one in every)
        if not items and named and (unread := _unread(cluster, kind)):
            return FoundQueue(unknown=unread)
    if not every:
        return FoundQueue(unknown="The snapshot has no ClusterQueue of Kueue.")
    chosen, candidates = _named(queue, local, every)
    if len(candidates) != 1:
        raise InputError(_which(queue, chosen, local, every))
    [found] = candidates
    if isinstance(found, ClusterQueue):
        return FoundQueue(found)
    above = next((one for one in every if one.name == found.spec.cluster_queue), None)
    if above is None:
        text = f"The LocalQueue {found.name} names the ClusterQueue {found.spec.cluster_queue}"
        return FoundQueue(None, found, f"{text}, which is not in this snapshot.")
    return FoundQueue(above, found)


_Queues = Iterable[LocalQueue] | Iterable[ClusterQueue]


def _named(
    queue: str, local: list[LocalQueue], every: list[ClusterQueue]
) -> tuple[str, list[LocalQueue] | list[ClusterQueue]]:
    if not queue:
        return ("LocalQueue", local) if local else ("ClusterQueue", every)
    namespace, slash, name = queue.rpartition("/")
    mine = [one for one in local if one.name == name and (not slash or one.metadata.namespace == namespace)]
    if mine or slash:
        return "LocalQueue", mine
    return "ClusterQueue", [one for one in every if one.name == queue]


def _which(queue: str, kind: str, local: list[LocalQueue], every: list[ClusterQueue]) -> str:
    names = sorted({FoundQueue(local_queue=one).name for one in local} | {one.name for one in every})
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    several = [FoundQueue(local_queue=one).name for one in local if one.name == queue]
    if not queue:
        return f"the cluster has several queues; name a {kind}: {listed}"
    if len(several) > 1:
        return f"the LocalQueue {queue!r} is in several namespaces; name one of them: {', '.join(sorted(several))}"
    return f"there is no LocalQueue and no ClusterQueue {queue!r}{did_you_mean(queue, names)}; the queues are: {listed}"


def _unread(cluster: Cluster, kind: str) -> str:
    """Return why objects of a kind are not known; "" if they were read."""
    subject = f"{PLURALS[kind]}.{KUEUE}"
    found = next((one for one in cluster.findings if one.rule in UNREAD and one.subject == subject), None)
    return "" if found is None else f"The {kind}s were not read: {found.message}."


class ReadQuota(Struct, frozen=True):
    """The quota of a ClusterQueue with all that lends to it: all ClusterQueues and Cohorts of its tree.

    `notes` say what was assumed, `unknown` why the quota is not known, `refused` why Kueue admits nothing in the tree.
    """

    tree: QuotaTree
    notes: tuple[str, ...] = ()
    unknown: str = ""
    refused: str = ""


def read_quota(cluster: Cluster, queue: ClusterQueue) -> ReadQuota:
    """Return the quota of a ClusterQueue and of its Cohorts, with what is in use.

    What is in use is the reservation in the status of each ClusterQueue, else the sum of the admitted Workloads.
    """
    cohorts = {one.name: one for one in cluster.queues if isinstance(one, Cohort)}
    queues = [one for one in cluster.queues if isinstance(one, ClusterQueue)]
    root = _root(queue.parent, cohorts)
    mine = [one for one in queues if one is queue or (queue.parent and _root(one.parent, cohorts) == root)]
    above = [one for one in cohorts.values() if queue.parent and _root(one.name, cohorts) == root]
    held = _held(cluster)
    nodes = [QuotaNode(one.name, quotas_of(one.spec.resource_groups), one.parent, _usage(one, held)) for one in mine]
    nodes += [QuotaNode(one.name, quotas_of(one.spec.resource_groups), one.spec.parent_name) for one in above]
    bare = [one.name for one in mine if one.status.flavors_reservation is None and one.name not in held]
    notes: tuple[str, ...] = ()
    if bare:
        named = ", ".join(bare[:3]) + (f" and {len(bare) - 3} more" if len(bare) > 3 else "")
        notes = (f"Nothing says what is in use, so these ClusterQueues count as unused: {named}.",)
    try:
        tree = QuotaTree(nodes)
    except InputError as error:
        alone = QuotaTree([QuotaNode(queue.name, quotas_of(queue.spec.resource_groups), usage={})])
        return ReadQuota(alone, notes, refused=f"{error.message[:1].upper()}{error.message[1:]}.")
    return ReadQuota(tree, notes, _unread(cluster, "Cohort") if queue.parent else "")


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    """Return the quotas of resource groups by flavor and resource, in their order."""
    found = {}
    for group in groups:
        for flavor in group.flavors:
            for one in flavor.resources:
                texts = (one.nominal_quota, one.borrowing_limit, one.lending_limit)
                nominal, *limits = (
                    None if text is None else whole_units(one.name, parse_quantity(text)) for text in texts
                )
                found[flavor.name, one.name] = Quota(nominal or 0, *limits)
    return found


def _root(name: str, cohorts: Mapping[str, Cohort]) -> str:
    """Return the outermost Cohort above one; of a cycle, its first name."""
    seen = [name]
    while (one := cohorts.get(seen[-1])) is not None and one.spec.parent_name:
        if one.spec.parent_name in seen:
            return min(seen[seen.index(one.spec.parent_name) :])
        seen.append(one.spec.parent_name)
    return seen[-1]


def _held(cluster: Cluster) -> Mapping[str, Counter[FlavorResource]]:
    """Return what admitted Workloads hold, by ClusterQueue."""
    found: dict[str, Counter[FlavorResource]] = {}
    for one in cluster.queues:
        if isinstance(one, KueueWorkload) and (admission := one.holds) is not None:
            mine = found.setdefault(admission.cluster_queue, Counter())
            for pods in admission.pod_set_assignments:
                for resource, text in pods.resource_usage.items():
                    flavor = pods.flavors.get(resource, "")
                    mine[flavor, resource] += whole_units(resource, parse_quantity(text))
    return found


def _usage(queue: ClusterQueue, held: Mapping[str, Counter[FlavorResource]]) -> Mapping[FlavorResource, int]:
    reserved = queue.status.flavors_reservation
    if reserved is None:
        return dict(held.get(queue.name, {}))
    return {
        (flavor.name, one.name): whole_units(one.name, parse_quantity(one.total))
        for flavor in reserved
        for one in flavor.resources
    }
