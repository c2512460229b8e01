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
    """`allocation.devices.results[]`: an allocated device, and the request, or `request/subrequest`, that got it.

    `share_id` is the UID of the claim's share of a shareable device, None for the whole device. With `admin_access`
    the claim does not hold the device. Source: docs/semantics.md 3.16.
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
    """`allocation.devices`: the allocated devices of a claim, at most 32, and their configuration as JSON values."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[dict[str, object], ...] = ()


class AllocationResult(Value, frozen=True):
    """`status.allocation`: a claim holds its devices from the moment this is set, reserved or not.

    `node_selector` is None for all nodes. Source: docs/semantics.md 1.14 and 3.14.
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
    """`status` of a ResourceClaim: its allocation, the pods that use it (at most 256), and what drivers report."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[dict[str, object], ...] = ()


EXACT_COUNT = "ExactCount"
ALL = "All"


class CELDeviceSelector(Value, frozen=True):
    """`selectors[].cel`: CEL text over `device`, at most 10,240 bytes (docs/semantics.md 4)."""

    expression: str


class DeviceSelector(Value, frozen=True):
    """`selectors[]` of a request or DeviceClass; None is a kind of selector that the API may get later."""

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

    The API requires `device_class_name`. `allocation_mode` "" is ExactCount, and `count` 0 is one device. Source:
    docs/semantics.md 1.11.
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
    """`requests[]`: a name, and exactly one of `exactly` and `first_available`, which is in the order of the tries."""

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
    """A ResourceClaim: what is requested, and what kube-scheduler allocated (docs/semantics.md 1.11, 1.14)."""

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
