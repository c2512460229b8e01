"""Pods, as far as their claims matter."""

from __future__ import annotations

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
    """A container: name, image, resources."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(NodeValue, frozen=True):
    """`spec` of a pod: what planning needs of it."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    node_name: str = ""
    restart_policy: str = ""


class Pod(NodeValue, frozen=True):
    """A pod: what planning needs of it."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
