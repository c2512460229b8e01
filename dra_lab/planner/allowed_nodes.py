"""The nodes on which a pending pod may start: its allocated claims, its spec, and what other pods request."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct

from dra_lab.errors import QuantityError
from dra_lab.index.documented_classes import class_of_resource
from dra_lab.manifests.device_asks import IMPLICIT, containers
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.nodes import node_matches
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.node_tests import NodeTest, node_tests, only_words, why_no_node
from dra_lab.scheduler.kueue.assignment import pod_requests
from dra_lab.topology.hierarchy_findings import some


class AllowedNodes(Struct, frozen=True):
    """The nodes that pass every test apart from devices.

    `why` says why there are none. `only` says which tests leave these nodes, "" if all nodes pass. `not_checked` is
    what could not be tested.
    """

    names: frozenset[str]
    why: str = ""
    only: str = ""
    not_checked: tuple[str, ...] = ()


def allowed_nodes(
    cluster: Cluster,
    spec: Mapping[str, Any],
    allocated: Sequence[ResourceClaim],
    node: str,
    release: KubernetesRelease,
) -> AllowedNodes:
    """Return the nodes on which a pod may start apart from its devices; `node` is the only one examined ("": all)."""
    tests = [*_claim_tests(cluster, allocated)]
    if cluster.nodes:
        served = release.enabled("DRAExtendedResource")
        tests += node_tests(
            cluster,
            spec,
            used=_requested(cluster),
            resource=lambda name: not (served and class_of_resource(cluster, name)) and not name.startswith(IMPLICIT),
        )
    every = frozenset((node,)) if node else frozenset(cluster.node_names)
    names = every
    for test in tests:
        names &= test.passing
    unchecked = tuple(_unchecked(cluster))
    if node:
        failing = next((test for test in tests if node not in test.passing), None)
        return AllowedNodes(names, failing.why(every) if failing else "", "", unchecked)
    if not names:
        return AllowedNodes(names, why_no_node(cluster, tests), "", unchecked)
    narrowing = [test for test in tests if not test.passing >= every]
    return AllowedNodes(names, "", only_words(narrowing, names) if narrowing else "", unchecked)


def _unchecked(cluster: Cluster) -> Iterator[str]:
    if not cluster.classes:
        yield "DeviceClasses, because none was read; those that drivers document were used."
    if not cluster.nodes:
        yield "labels, taints and sizes of nodes, because no Node was read."
    elif not any(not pod.uses_claims for pod in cluster.pods):
        yield "CPUs and memory that pods without claims request, because these pods were not read."


def _claim_tests(cluster: Cluster, allocated: Sequence[ResourceClaim]) -> Iterator[NodeTest]:
    """Yield a test for each claim that is allocated: its nodeSelector says where the pod may run."""
    for claim in allocated:
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            continue
        selector = allocation.node_selector
        passing = frozenset(name for name, node in cluster.node_by_name.items() if node_matches(selector, node))
        words = f"its claim {claim.metadata.name} is allocated{_holders(claim)} {_where(claim, passing)}"
        yield NodeTest(
            f"its claim {claim.metadata.name}, which is allocated already{_holders(claim)},", passing, _Says(words)
        )


class _Says(Struct, frozen=True):
    words: str

    def __call__(self, _: Collection[str]) -> str:
        return self.words


def _where(claim: ResourceClaim, passing: frozenset[str]) -> str:
    if passing:
        return f"on {some(sorted(passing))}"
    allocation = claim.status.allocation
    terms = allocation.node_selector.node_selector_terms if allocation and allocation.node_selector else ()
    names = [value for term in terms for one in (*term.match_fields, *term.match_expressions) for value in one.values]
    return f"on {some(names)}, which is not in the cluster" if names else "where no node of the cluster is"


def _holders(claim: ResourceClaim) -> str:
    pods = [
        f"{claim.metadata.namespace}/{one.name}" for one in claim.status.reserved_for if one.resource in ("pods", "")
    ]
    return f" for {some(sorted(pods))}" if pods else ""


@once_per_snapshot
def _requested(cluster: Cluster) -> dict[str, dict[str, Fraction]]:
    """Return what pods request of each node, as far as pods were read."""
    found: dict[str, dict[str, Fraction]] = {}
    for pod in cluster.pods:
        if pod.spec.node_name and not pod.ended:
            own = found.setdefault(pod.spec.node_name, {})
            try:
                amounts = {**pod_requests(pod), "pods": Fraction(1)}
            except QuantityError:
                continue
            for name, amount in amounts.items():
                own[name] = own.get(name, Fraction()) + amount
    return found


def not_checked(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield what kube-scheduler tests of a pod and dra-lab does not."""
    volumes = [one for one in spec.get("volumes") or () if value_at(one, "persistentVolumeClaim") is not None]
    if volumes:
        names = [str(name) for one in volumes if (name := value_at(one, "persistentVolumeClaim.claimName"))]
        yield f"volumes: where {some(names) if names else 'its PersistentVolumeClaims'} can be used."
    for field, words in (("podAffinity", "affinity to other pods"), ("podAntiAffinity", "anti-affinity to other pods")):
        if value_at(spec, f"affinity.{field}.requiredDuringSchedulingIgnoredDuringExecution"):
            yield f"{words}."
    if spec.get("topologySpreadConstraints"):
        yield "topology spread constraints."
    if spec.get("schedulingGroup"):
        yield "its group: whether enough pods of it can start together."
    if any(port.get("hostPort") for port in _ports(spec)):
        yield "host ports."
    scheduler = spec.get("schedulerName")
    if scheduler not in (None, "", "default-scheduler"):
        yield f"the rules of the scheduler {scheduler}, which schedules it; dra-lab follows those of kube-scheduler."


def _ports(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found = [port for _, container in containers(spec) for port in container.get("ports") or ()]
    return [port for port in found if isinstance(port, Mapping)]


def reported(value: Mapping[str, Any]) -> str:
    """Return kube-scheduler's last message about a pod, "" without one."""
    conditions = value_at(value, "status.conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, Mapping) and one.get("type") == "PodScheduled" and one.get("status") == "False":
            return str(one.get("message") or "")
    return ""
