"""ResourceClaim, ResourceClaimTemplate, DeviceClass: what a workload asks for, and what kube-scheduler allocated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct, field

from dra_lab.model.device import RESOURCE_V1, Value
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import NodeSelector, ObjectMeta
from dra_lab.model.quantity import QuantityText, parse_quantity


class DeviceRequestAllocationResult(Value, frozen=True):
    """`allocation.devices.results[]`: one allocated device, and the request that got it.

    Args:
        request: The name of the request, or `request/subrequest` if an alternative was used.
        driver: The driver of the device.
        pool: The pool of the device; many drivers have one pool per node, with the node's name.
        device: The name of the device in its pool.
        admin_access: True if the claim uses the device without holding it; default None: no.
        tolerations: The tolerations of the request at the time; default: none.
        binding_conditions: Conditions that must be true before the pod is bound; default: none.
        binding_failure_conditions: Conditions that end the attempt if one is true; default: none.
        share_id: The UID of the claim's share of a shareable device; default None: the whole device.
        consumed_capacity: The capacity of that share, by capacity key; default: none.
        skip_node_operations: Operations that the kubelet leaves out for this device (1.37, alpha); default: none.

    Source: `DeviceRequestAllocationResult` of resource.k8s.io/v1; docs/semantics.md 3.16.

    Example:
        >>> from dra_lab.model.claims import DeviceRequestAllocationResult
        >>> str(DeviceRequestAllocationResult(request="gpu", driver="gpu.nvidia.com", pool="lab-1", device="gpu-0").id)
        'gpu.nvidia.com/lab-1/gpu-0'
    """

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: tuple[dict[str, object], ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, QuantityText] = {}
    skip_node_operations: tuple[str, ...] = ()

    @property
    def id(self) -> DeviceID:
        """Return the device's identity."""
        return DeviceID(self.driver, self.pool, self.device)


class DeviceAllocationResult(Value, frozen=True):
    """`allocation.devices`: the allocated devices of a claim, and their configuration.

    Args:
        results: One entry per device and request, at most 32; default: none.
        config: The configuration of class and claim, as JSON values for the drivers; default: none.

    Source: `DeviceAllocationResult` of resource.k8s.io/v1; docs/semantics.md 1.14.

    Example:
        >>> from dra_lab import load_cluster
        >>> claim = load_cluster("sample:two-sockets").claims[0]
        >>> [result.device for result in claim.status.allocation.devices.results]
        ['gpu-0', 'pci-0000-92-00-0', 'cpudevnuma000']
    """

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[dict[str, object], ...] = ()


class AllocationResult(Value, frozen=True):
    """`status.allocation`: a claim holds its devices from the moment this is set, reserved or not.

    Args:
        devices: The allocated devices.
        node_selector: The nodes on which a pod can use them; default None: all nodes.
        allocation_timestamp: When they were allocated, as an RFC 3339 time; default None: not recorded.

    Source: `AllocationResult` of resource.k8s.io/v1; docs/semantics.md 1.14 and 3.14.

    Example:
        >>> from dra_lab import load_cluster
        >>> allocation = load_cluster("sample:two-sockets").claims[0].status.allocation
        >>> allocation.node_selector.node_selector_terms[0].match_fields[0].values
        ('lab-2',)
    """

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Value, frozen=True):
    """`status.reservedFor[]`."""

    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""


class ResourceClaimStatus(Value, frozen=True):
    """`status` of a ResourceClaim: its allocation, the pods that use it, and what drivers report.

    Args:
        allocation: The allocated devices; default None: the claim is not allocated.
        reserved_for: The pods that use the claim, at most 256; default: none.
        devices: What the drivers report of each allocated device, as JSON values; default: none.

    Source: `ResourceClaimStatus` of resource.k8s.io/v1; docs/semantics.md 1.14.

    Example:
        >>> from dra_lab import load_cluster
        >>> [pod.name for pod in load_cluster("sample:two-sockets").claims[0].status.reserved_for]
        ['notebook-0']
    """

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[dict[str, object], ...] = ()


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


class AllocatedDevices(Struct, frozen=True):
    """The devices that claims hold (docs/semantics.md 3.14): what the scheduler subtracts before it looks.

    `exclusive` maps a device to the claim (`namespace/name`) that holds it alone; `shares` maps a shareable device to
    the claims that hold a share; `consumed` sums, per device and capacity key, what the shares took. `contested` says
    that several claims hold the same device alone, of which `exclusive` tells the last.
    """

    exclusive: Mapping[DeviceID, str] = field(default_factory=dict)
    shares: Mapping[DeviceID, tuple[str, ...]] = field(default_factory=dict)
    consumed: Mapping[DeviceID, Mapping[str, Fraction]] = field(default_factory=dict)
    contested: bool = False

    def holders(self, device: DeviceID) -> tuple[str, ...]:
        """Return the claims that hold a device, alone or a share of it."""
        alone = self.exclusive.get(device)
        return (alone,) if alone is not None else self.shares.get(device, ())


def allocated_devices(claims: tuple[ResourceClaim, ...]) -> AllocatedDevices:
    """Sum up what claims hold through `status.allocation` (docs/semantics.md 3.14.1 to 3.14.4)."""
    exclusive: dict[DeviceID, str] = {}
    shares: dict[DeviceID, list[str]] = defaultdict(list)
    consumed: dict[DeviceID, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    contested = False
    for claim in claims:
        holder = f"{claim.metadata.namespace}/{claim.metadata.name}"
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            if result.admin_access:
                continue
            device = result.id
            if result.share_id is None:
                contested = contested or device in exclusive
                exclusive[device] = holder
                continue
            shares[device].append(holder)
            for key, amount in result.consumed_capacity.items():
                consumed[device][key] += parse_quantity(amount)
    return AllocatedDevices(
        exclusive,
        {device: tuple(holders) for device, holders in shares.items()},
        {device: dict(amounts) for device, amounts in consumed.items()},
        contested,
    )
