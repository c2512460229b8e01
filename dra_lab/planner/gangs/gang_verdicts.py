"""gang_verdicts: what stops a gang in Kueue, its quota, what Kueue counts, or the devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import DEVICES, DomainVerdict, GangVerdicts, Says, VerdictRow
from dra_lab.model.goals import GANGS
from dra_lab.model.headroom import Fit
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import DEVICE_CHECK, ClusterQueue, kueue_gate
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.scheduler.kueue.counted import node_requests
from dra_lab.scheduler.kueue.quota_verdict import quota_verdict
from dra_lab.scheduler.kueue.topology_counts import TopologyCounts, nodes_with_devices, topology_counts
from dra_lab.sketch.compile import compile_claim
from dra_lab.topology.hierarchies import hierarchies as levels_of

Path = tuple[str, ...]


def gang_verdicts(
    cluster: Cluster,
    gang: Workload,
    plan: Plan,
    *,
    queue: str = "",
    requests: Mapping[str, Mapping[str, QuantityText]] | None = None,
    release: KubernetesRelease | str | None = None,
) -> GangVerdicts:
    """Return what stops a gang in Kueue: quota, what Kueue counts in each domain, and the devices, as a plan has them.

    Kueue admits a gang if the quota of its queue is enough and a domain has enough CPUs, memory, extended resources
    and pods. It counts no devices, so a gang may be admitted and wait for devices, or have devices and wait for quota.
    With its gate KueueDRADeviceFeasibility, which its Configuration turns on, each node must have those of one pod.

    `queue` is a LocalQueue, `NAME` or `NAMESPACE/NAME`, or a ClusterQueue; default: the only one. `requests` are what a
    pod of each group requests of its node, such as `{"worker": {"cpu": "8"}}`; default: not known, so that only devices
    and pods are counted.

    Raises:
        InputError: The queue or the release is unknown.
    """
    target, known, requested = cluster.target_release(release), tuple(levels_of(cluster)), requests or {}
    quota = quota_verdict(cluster, gang, queue, release=target, hierarchies=known, requests=requested)
    flavors = dict.fromkeys(one for names in (quota.flavors or {}).values() for one in names)
    if not flavors:
        found = next(
            (one for one in cluster.queues if isinstance(one, ClusterQueue) and one.name == quota.cluster_queue), None
        )
        groups = found.spec.resource_groups if found is not None else ()
        flavors = dict.fromkeys(flavor.name for group in groups for flavor in group.flavors)
    of_nodes, checked = node_requests(cluster, gang, requested, target), checked_nodes(cluster, gang, target)
    counts = topology_counts(cluster, gang, known, tuple(flavors), of_nodes, checked)
    headrooms = [headroom for headroom in plan.where if headroom.workload == gang.name]
    chosen = counts.chosen[-1:] if gang.level in HOSTS else counts.chosen
    return GangVerdicts(
        gang.name,
        quota,
        counts.row,
        _devices(gang, plan, headrooms),
        tuple(_domains(gang, headrooms, counts)),
        chosen,
        _advice(gang, headrooms, chosen),
        cluster.name,
    )


def checked_nodes(cluster: Cluster, gang: Workload, release: KubernetesRelease) -> Mapping[str, frozenset[str]] | None:
    """Return the nodes that Kueue's check of devices leaves for each group with claims; None if the check is off."""
    if not kueue_gate(cluster.queues, DEVICE_CHECK):
        return None
    found = {}
    for group in (one for one in gang.pods if one.claims):
        made = [(sketch.name, compile_claim(sketch, cluster, release).spec) for sketch in group.claims]
        claims = [ResourceClaim(metadata=ObjectMeta(name=name), spec=spec) for name, spec in made]
        found[group.name] = nodes_with_devices(cluster, claims, release)
    return found


def _devices(gang: Workload, plan: Plan, headrooms: Sequence[Fit]) -> VerdictRow:
    if plan.status is PlanStatus.NOT_CHECKED:
        return VerdictRow(DEVICES, Says.UNKNOWN, f"Not checked: {plan.shortfalls[0].message}.")
    placed = [one for one in plan.placed_gangs if one.workload == gang.name]
    where = "/".join(placed[0].domain) if len(placed) == 1 else ""
    if len(placed) == gang.replicas:
        pods = sum(len(one.pods) for one in placed)
        nodes = len({replica.node for one in placed for replica in one.pods})
        inside = f" in {where}" if where else ""
        text = f"{pods:,} pods have devices{inside}, on {nodes:,} {'node' if nodes == 1 else 'nodes'}."
        return VerdictRow(DEVICES, Says.YES, text)
    counts = f"{len(placed):,} of {gang.replicas:,} gangs"
    if len(plan.workloads) > 1:
        return VerdictRow(DEVICES, Says.NO, f"The plan has devices for {counts} beside its other gangs and pods.")
    first = [goal for goal in plan.goals if goal.goal.partition(" ")[0] == GANGS]
    if plan.status is not PlanStatus.INFEASIBLE and not (first and all(goal.proven for goal in first)):
        return VerdictRow(DEVICES, Says.UNKNOWN, f"{counts} have devices; more may fit, not proven.")
    if placed:
        return VerdictRow(DEVICES, Says.NO, f"Devices are free for {counts}, proven.")
    best = max(headrooms, key=lambda headroom: headroom.pods.value, default=None)
    level = f"one {gang.level}" if gang.level else "the cluster"
    text = f"Not enough devices are free in {level} for {gang.least:,} pods, proven"
    if best is not None and best.members and best.pods.value < gang.least:
        text = f"{text}; the best, {'/'.join(best.members)}, has {best.pods.value:,}"
    return VerdictRow(DEVICES, Says.NO, f"{text}.")


def _domains(gang: Workload, headrooms: Sequence[Fit], counts: TopologyCounts) -> list[DomainVerdict]:
    """Return the numbers of each domain; Kueue's are by the values of labels, those of a host by its name."""

    def most(pods: int | None) -> int | None:
        return None if pods is None else min(pods, gang.size)

    mine = {path[-1:] if gang.level in HOSTS else path: pods for path, pods in counts.pods.items()}
    found = [
        DomainVerdict(
            headroom.members,
            headroom.size,
            most(mine.pop(headroom.members, None)),
            headroom.pods.value,
            headroom.pods.bound,
            headroom.reasons,
        )
        for headroom in headrooms
        if headroom.members
    ]
    return [*found, *(DomainVerdict(path, gang.size, most(pods)) for path, pods in sorted(mine.items()))]


def _advice(gang: Workload, headrooms: Sequence[Fit], chosen: Path) -> str:
    """Return what to do if Kueue would choose a domain without enough devices."""
    headroom = next((one for one in headrooms if one.members == chosen and chosen), None)
    better = next((one for one in headrooms if one.fits), None)
    if headroom is None or not headroom.pods.is_below(gang.least):
        return ""
    most = f"{headroom.pods.bound:,}" if headroom.pods.exact else f"at most {headroom.pods.bound:,}"
    text = f"By its counts Kueue would choose {'/'.join(chosen)}, which has devices for {most} of {gang.least:,} pods."
    return f"{text} Pin the gang to {'/'.join(better.members)}." if better is not None else text
