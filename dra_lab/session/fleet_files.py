"""Workloads of a fleet from files, and the cluster that they are planned on: its nodes and DeviceClasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dra_lab.errors import InputError
from dra_lab.index.documented_classes import with_given_classes
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer, read_layer
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import PodDrawing, claims_of

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import Question

_CHOOSES = ("nodeName", "nodeSelector", "tolerations")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read_workload(source: str, cluster: Cluster, release: KubernetesRelease) -> PodDrawing:
    """Return the workload of a file (drawing, claim, template, Pod, Deployment) or `sample:NAME/EXAMPLE`.

    It has the replicas, the DeviceClasses and the nodes of the file, as in `dra-lab plan`. Raises SourceError,
    ManifestError or SketchError for what cannot be read, InputError for what pods of a fleet cannot have.
    """
    from dra_lab.gitops.claims_of_file import read_pod
    from dra_lab.gitops.folder import with_own_classes
    from dra_lab.index.not_read import refuse_not_read
    from dra_lab.session.drawings import read_sketch

    pod = read_pod(source, cluster, release)
    if pod is None:
        sketch = read_sketch(source)
        own = _own_classes(with_own_classes(source, cluster), cluster)
        return PodDrawing(pod=sketch.name, claims=claims_of(sketch), classes=own)
    if pod.allocated:
        names = ", ".join(claim.metadata.name for claim in pod.allocated)
        raise InputError(f"{source}: {names} is already allocated, and replicas cannot share it; plan one pod")
    if pod.without:
        count = f"{len(pod.without):,} of {len(cluster.node_names):,} nodes"
        raise InputError(f"{source}: a device plugin serves its pods on {count}; use dra-lab plan")
    if pod.admitted is not None:
        refuse_not_read(cluster, (), selects_nodes=True)
    return PodDrawing(
        pod=pod.subject.partition(":")[0].rpartition("/")[2] or "-".join(pod.claims),
        claims=tuple(pod.claims.values()),
        replicas=1 if pod.named else pod.replicas,
        nodes=_nodes(pod),
        classes=_own_classes(pod.cluster, cluster),
    )


def fleet_cluster(cluster: Cluster, pods: Sequence[PodDrawing]) -> Cluster:
    """Return the cluster that workloads are planned on: with their DeviceClasses, on the nodes that admit their pods.

    Nodes without devices are left out of the comparison, because no pod with a claim is placed there. Raises InputError
    if the workloads admit different nodes.
    """
    from dra_lab.planner.node_tests import only_nodes

    for pod in pods:
        cluster = with_given_classes(cluster, pod.classes)
    places = {pod.pod: admitted(cluster, pod) for pod in pods}
    if all(nodes == cluster.open_nodes for nodes in places.values()):
        return cluster
    equipped = frozenset(cluster.node_names if cluster.network_slices else cluster.slices_by_node)
    first, *others = places
    for other in others:
        if places[other] & equipped != places[first] & equipped:
            raise InputError(
                f"{first} may run on {_count(places[first], cluster)} and {other} on {_count(places[other], cluster)}, "
                "and Fleet plans workloads for the same nodes; remove one, or plan them one by one with dra-lab plan"
            )
    return only_nodes(cluster, sorted(frozenset.intersection(*places.values())))


def admitted(cluster: Cluster, pod: PodDrawing) -> frozenset[str]:
    """Return the nodes that the spec of a workload's pods admits; for claims without a pod, those not cordoned."""
    from dra_lab.planner.node_tests import admitted_nodes

    return cluster.open_nodes if pod.nodes is None else frozenset(admitted_nodes(cluster, pod.nodes))


def _count(nodes: frozenset[str], cluster: Cluster) -> str:
    return f"{len(nodes):,} of {len(cluster.node_names):,} nodes"


def _own_classes(given: Cluster, cluster: Cluster) -> tuple[DeviceClass, ...]:
    """Return the DeviceClasses of a file, which the cluster has not, or not like that."""
    own, known = given.class_by_name, cluster.class_by_name
    return tuple(own[name] for name in sorted(given.given_classes) if own[name] is not known.get(name))


def _nodes(pod: Question) -> dict[str, Any] | None:
    """Return the fields of a pod's spec that choose its nodes, None for claims without a pod."""
    if not pod.subject:
        return None
    found = {name: pod.spec[name] for name in _CHOOSES if pod.spec.get(name)}
    affinity = pod.spec.get("affinity")
    of_nodes = affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else None
    required = of_nodes.get(_REQUIRED) if isinstance(of_nodes, Mapping) else None
    return found | ({"affinity": {"nodeAffinity": {_REQUIRED: required}}} if required else {})


def fitting_pins(pins: Mapping[str, int], most: int, first: str = "") -> dict[str, int]:
    """Return pins for at most `most` pods, those of one node first."""
    found: dict[str, int] = {}
    for node in sorted(pins, key=lambda name: name != first):
        if count := min(pins[node], most - sum(found.values())):
            found[node] = count
    return found


def layer_of(text: str) -> Layer:
    """Return the layer of a text such as `drain node-1`, or with dashes as on the command line. Raises InputError."""
    change, _, value = text.strip().removeprefix("--").partition(" ")
    return read_layer(change, value.strip())
