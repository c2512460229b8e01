"""Pods, as far as their claims matter."""

from __future__ import annotations

from msgspec import field

from dra_lab.model.nodes import NodeValue, ObjectMeta


class PodResourceClaim(NodeValue, frozen=True):
    """`spec.resourceClaims[]` of a pod."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ContainerResourceClaim(NodeValue, frozen=True):
    """`resources.claims[]` of a container; `request` is a main request name."""

    name: str
    request: str = ""


class ResourceRequirements(NodeValue, frozen=True):
    """`resources` of a container."""

    claims: tuple[ContainerResourceClaim, ...] = ()
    limits: dict[str, str | int | float] = {}
    requests: dict[str, str | int | float] = {}


class Container(NodeValue, frozen=True):
    """A container: name, image, resources; an init container with `restart_policy` Always is a sidecar."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    restart_policy: str = ""
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(NodeValue, frozen=True):
    """`spec` of a pod: what decides where it may start. Fields that are JSON values are kept as written."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    node_name: str = ""
    restart_policy: str = ""
    node_selector: dict[str, object] = {}
    affinity: dict[str, object] = {}
    tolerations: tuple[dict[str, object], ...] = ()
    topology_spread_constraints: tuple[object, ...] = ()
    volumes: tuple[object, ...] = ()
    overhead: dict[str, object] = {}
    resources: dict[str, object] = {}
    scheduling_gates: tuple[dict[str, object], ...] = ()
    scheduling_group: dict[str, object] = {}
    scheduler_name: str = ""
    priority: int | None = None


class PodResourceClaimStatus(NodeValue, frozen=True):
    """`status.resourceClaimStatuses[]`: the claim that was made for an entry of `spec.resourceClaims`."""

    name: str
    resource_claim_name: str | None = None


class PodExtendedResourceClaimStatus(NodeValue, frozen=True):
    """`status.extendedResourceClaimStatus` (KEP-5004): the claim for extended resources of the pod."""

    resource_claim_name: str = ""
    request_mappings: tuple[dict[str, str], ...] = ()


class ResourceHealth(NodeValue, frozen=True):
    """`allocatedResourcesStatus[].resources[]` (KEP-4680); `resource_id` is a CDI name or `driver/pool/device`."""

    resource_id: str = field(default="", name="resourceID")
    health: str = ""


class ResourceStatus(NodeValue, frozen=True):
    """`allocatedResourcesStatus[]` of a container; `name` is `claim:<claim>/<request>` or `claim:<claim>`."""

    name: str
    resources: tuple[ResourceHealth, ...] = ()


class ContainerStatus(NodeValue, frozen=True):
    """`status.containerStatuses[]`: the health of its devices."""

    name: str = ""
    allocated_resources_status: tuple[ResourceStatus, ...] = ()


class PodCondition(NodeValue, frozen=True):
    """`status.conditions[]` of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(NodeValue, frozen=True):
    """`status` of a pod: which claims are its own, and how its devices are."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(NodeValue, frozen=True):
    """A pod: what planning needs of it."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def uses_claims(self) -> bool:
        """Say whether the pod asks for claims, or has one for its extended resources."""
        return bool(self.spec.resource_claims) or self.status.extended_resource_claim_status is not None

    @property
    def ended(self) -> bool:
        """Say whether it has ended, so that it uses nothing of its node."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def pending(self) -> bool:
        """Say whether kube-scheduler has not given it a node."""
        return not self.ended and not self.spec.node_name and self.status.phase in ("", "Pending")
