"""Running pods that hold devices, what bounds their moves, and a move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.device import Value
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import LabelSelector, NodeValue
from dra_lab.model.placement import Placement
from dra_lab.model.pods import Pod
from dra_lab.model.topologies import CustomValue

GROUP_LABELS = (
    "kueue.x-k8s.io/pod-group-name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "leaderworkerset.sigs.k8s.io/group-key",
    "jobset.sigs.k8s.io/jobset-uid",
)
"""Labels of pods that start together; Volcano and KAI have annotations instead."""

GROUP_ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name")

NO_OWNER = "it has no owner"
"""Why a pod that leaves does not come back."""


class PodDisruptionBudgetSpec(NodeValue, frozen=True):
    """`spec` of a PodDisruptionBudget: the pods that it is about, and how many may be missing."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(NodeValue, frozen=True):
    """`status` of a PodDisruptionBudget: how many evictions its controller allows now."""

    disruptions_allowed: int | None = None


class PodDisruptionBudget(CustomValue, frozen=True, kw_only=True):
    """A PodDisruptionBudget (policy/v1): how many of the pods that it selects may be evicted."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()

    @property
    def full_name(self) -> str:
        """Return `namespace/name`."""
        return self.metadata.full_name

    def covers(self, pod: Pod) -> bool:
        """Say whether it selects a pod: in policy/v1 an empty selector selects all pods of the namespace."""
        same = pod.metadata.key[0] == self.metadata.key[0]
        return same and self.spec.selector is not None and self.spec.selector.matches(pod.metadata.labels)

    def allowed(self, pods: int) -> int:
        """Return how many of its `pods` running pods may be evicted now, by its status, else by its spec."""
        if self.status.disruptions_allowed is not None:
            return max(0, self.status.disruptions_allowed)
        if self.spec.max_unavailable is not None:
            return _amount(self.spec.max_unavailable, pods)
        return max(0, pods - _amount(self.spec.min_available or 0, pods))


def _amount(value: int | str, pods: int) -> int:
    """Return a number or a percentage of pods, rounded up as the controller of disruptions does."""
    text = str(value)
    if text.endswith("%") and text[:-1].isdecimal():
        return -(-int(text[:-1]) * pods // 100)
    return int(text) if text.isdecimal() else 0


@dataclass(frozen=True)
class RunningPod:
    """A pod that holds devices.

    `claims` are its allocated claims in the pod's order, with the name of each in the pod. `known` is False for a pod
    that was not read: only `status.reservedFor` of its claims names it.
    """

    pod: Pod
    node: str
    claims: tuple[tuple[str, ResourceClaim], ...]
    known: bool = True

    @property
    def name(self) -> str:
        """Return `namespace/name`."""
        return self.pod.metadata.full_name

    @property
    def owner(self) -> tuple[str, str]:
        """Return kind and name of its controller, ("", "") without one."""
        for one in self.pod.metadata.owner_references:
            if one.get("controller", True):
                return str(one.get("kind", "")), str(one.get("name", ""))
        return "", ""

    @property
    def priority(self) -> int:
        """Return its priority, 0 if it has none."""
        return self.pod.spec.priority or 0

    @property
    def group(self) -> str:
        """Return what names the pods that start together with it, "" for a pod that starts alone."""
        metadata, own = self.pod.metadata, self.pod.spec.scheduling_group.get("podGroupName")
        labels = (metadata.labels.get(key) for key in GROUP_LABELS)
        annotations = (metadata.annotations.get(key) for key in GROUP_ANNOTATIONS)
        found = next((one for one in (own, *labels, *annotations) if one), "")
        return f"{metadata.key[0]}/{found}" if found else ""

    @property
    def devices(self) -> tuple[DeviceID, ...]:
        """Return the devices that its claims hold; a claim that others use too counts."""
        return tuple(device for _, claim in self.claims for device in devices_of(claim))


def devices_of(claim: ResourceClaim) -> tuple[DeviceID, ...]:
    """Return the devices that a claim holds, those with admin access apart: these take nothing."""
    allocation = claim.status.allocation
    return tuple(one.id for one in allocation.devices.results if not one.admin_access) if allocation else ()


class Movable(Value, frozen=True):
    """Which running pods may move to make room.

    Without arguments these are all pods with an owner other than a DaemonSet, outside of kube-system, whose priority
    is not above that of the pods that need room.

    Args:
        namespaces: Only pods of these namespaces; default: all but kube-system.
        labels: Only pods that have these labels; default: any.
        priority: Only pods of this priority or a lower one; default None: that of the pods that need room.

    Example:
        >>> from dra_lab import Movable
        >>> Movable(namespaces=("batch",), labels={"tier": "spot"}).namespaces
        ('batch',)
    """

    namespaces: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    priority: int | None = None

    def __hash__(self) -> int:
        """Return the hash of all but `labels`, which is a mapping."""
        return hash((self.namespaces, self.priority))


class Move(Struct, frozen=True):
    """A running pod that leaves its node, in the order in which the moves can be carried out.

    `node_to` is "" if it has no place or does not come back, and `why` says the reason. `devices` is what it gets
    there. `drained`: its node is drained, or a taint evicts it, so that it leaves in any case. `stops_first`: it
    has to stop before another pod can move, and it starts again only after that one. Pods of one `unit` move
    together. `notes` name budgets, claims that stay, and what was not checked. `worse` is how its devices are
    spread more than now, such as `2 NUMA nodes instead of 1`.
    """

    pod: str
    node_from: str
    node_to: str = ""
    devices_from: tuple[DeviceID, ...] = ()
    devices: tuple[Placement, ...] = ()
    why: str = ""
    drained: bool = False
    stops_first: bool = False
    unit: int = 0
    notes: tuple[str, ...] = ()
    worse: str = ""

    def __str__(self) -> str:
        """Return the move in a few words."""
        if not self.node_to:
            return f"{self.pod} from {self.node_from}: {self.why or 'no place'}"
        where = f"on {self.node_to} to other devices" if self.node_to == self.node_from else ""
        return f"{self.pod} {where}" if where else f"{self.pod} from {self.node_from} to {self.node_to}"
