"""ResourceClaim, ResourceClaimTemplate, DeviceClass: what a workload asks for."""

from __future__ import annotations

from dra_lab.model.allocation import ResourceClaimStatus
from dra_lab.model.device import RESOURCE_V1, Value
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.quantity import QuantityText

EXACT_COUNT = "ExactCount"
ALL = "All"


class CELDeviceSelector(Value, frozen=True):
    """`selectors[].cel`: a condition on a device, in CEL.

    Args:
        expression: CEL text over `device`, at most 10,240 bytes. It is true for the devices that match.

    Source: `CELDeviceSelector` of resource.k8s.io/v1; docs/semantics.md 4.

    Example:
        >>> from dra_lab.model.claims import CELDeviceSelector
        >>> CELDeviceSelector(expression='device.driver == "gpu.nvidia.com"').expression
        'device.driver == "gpu.nvidia.com"'
    """

    expression: str


class DeviceSelector(Value, frozen=True):
    """`selectors[]` of a request or DeviceClass: a device must match all of them.

    Args:
        cel: The condition. The API has no other kind of selector; None is a kind that it may get later.

    Source: `DeviceSelector` of resource.k8s.io/v1; docs/semantics.md 1.11.

    Example:
        >>> from dra_lab.model.claims import CELDeviceSelector, DeviceSelector
        >>> DeviceSelector(cel=CELDeviceSelector(expression='device.driver == "dra.net"')).cel.expression
        'device.driver == "dra.net"'
    """

    cel: CELDeviceSelector | None = None


class DeviceToleration(Value, frozen=True):
    """`tolerations[]` of a request."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Value, frozen=True):
    """`capacity`: amounts requested of each allocated device, by the capacity key exactly as published."""

    requests: dict[str, QuantityText] = {}


class DeviceDerivedAttribute(Value, frozen=True):
    """`derivedAttributes[]` (1.37, alpha, KEP-6080)."""

    name: str
    expression: str = ""


class ExactDeviceRequest(Value, frozen=True):
    """`requests[].exactly`: the devices that a request needs, without alternatives.

    Args:
        device_class_name: The DeviceClass, whose selectors hold as well. The API requires it.
        selectors: Conditions that each device must match; default: those of the class alone.
        allocation_mode: "ExactCount", or "All" for all matching devices of a node; default "": ExactCount.
        count: The number of devices with ExactCount; default 0: one device.
        admin_access: True to use devices that other claims hold, for monitoring; default None: no.
        tolerations: Taints of devices that the request accepts; default: none.
        capacity: The amounts needed of each device, by capacity key; default None: none.
        derived_attributes: Attributes that are computed for this request (1.37, alpha, KEP-6080); default: none.

    Source: `ExactDeviceRequest` of resource.k8s.io/v1; docs/semantics.md 1.11.

    Example:
        >>> from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
        >>> from dra_lab.model.sketch import asks
        >>> two = ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=2)
        >>> asks(DeviceRequest(name="gpu", exactly=two))[0].count
        2
    """

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceSubRequest(Value, frozen=True):
    """`requests[].firstAvailable[]`."""

    name: str
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceRequest(Value, frozen=True):
    """`requests[]`: a name, and exactly one of `exactly` and a non-empty `first_available`.

    Args:
        name: A DNS label, unique in the claim. Links and constraints refer to it.
        exactly: The devices needed; default None: one of the alternatives.
        first_available: Alternatives in the order in which kube-scheduler tries them; default: none.

    Source: `DeviceRequest` of resource.k8s.io/v1; docs/semantics.md 1.11.

    Example:
        >>> from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
        >>> DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="dranet")).exactly.device_class_name
        'dranet'
    """

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Value, frozen=True):
    """`constraints[]`: over all devices of the named requests (all requests when none is named)."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(Value, frozen=True):
    """`config[].opaque`: parameters for a driver, passed on untouched."""

    driver: str = ""
    parameters: dict[str, object] = {}


class DeviceClaimConfiguration(Value, frozen=True):
    """`config[]` of a claim."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Value, frozen=True):
    """`spec.devices`."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Value, frozen=True):
    """`spec` of a ResourceClaim."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaim(Value, frozen=True):
    """A ResourceClaim: what is requested, and in `status` what kube-scheduler allocated.

    Args:
        metadata: Its name, namespace and owner.
        spec: The requests, constraints and configuration (`spec.devices`); immutable in a cluster.
        status: The allocation and the pods that use it; default: not allocated.
        api_version: Default: resource.k8s.io/v1. Documents of older versions are converted when they are read.
        kind: Always "ResourceClaim".

    Source: `ResourceClaim` of resource.k8s.io/v1; docs/semantics.md 1.11 and 1.14.

    Example:
        >>> from dra_lab import load_cluster
        >>> claim = load_cluster("sample:two-sockets").claims[0]
        >>> claim.metadata.namespace, [request.name for request in claim.spec.devices.requests]
        ('class', ['gpu', 'nic', 'cpu'])
    """

    metadata: ObjectMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()
    api_version: str = RESOURCE_V1
    kind: str = "ResourceClaim"


class ResourceClaimTemplateSpec(Value, frozen=True):
    """`spec` of a template: metadata may carry labels and annotations only."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Value, frozen=True):
    """A ResourceClaimTemplate."""

    metadata: ObjectMeta
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
    api_version: str = RESOURCE_V1
    kind: str = "ResourceClaimTemplate"


class DeviceClassConfiguration(Value, frozen=True):
    """`config[]` of a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Value, frozen=True):
    """`spec` of a DeviceClass."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Value, frozen=True):
    """A DeviceClass: named selectors and configuration."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()
    api_version: str = RESOURCE_V1
    kind: str = "DeviceClass"

    @property
    def name(self) -> str:
        """Return `metadata.name`."""
        return self.metadata.name


def expressions(selectors: tuple[DeviceSelector, ...]) -> tuple[str, ...]:
    """Return the CEL texts of selectors, in order."""
    return tuple(selector.cel.expression if selector.cel else "" for selector in selectors)
