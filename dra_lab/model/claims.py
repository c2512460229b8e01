"""ResourceClaim, ResourceClaimTemplate, DeviceClass: what a workload asks for."""

from __future__ import annotations

from dra_lab.model.allocation import ResourceClaimStatus
from dra_lab.model.device import RESOURCE_V1, Value
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.quantity import QuantityText

EXACT_COUNT = "ExactCount"
ALL = "All"


class CELDeviceSelector(Value, frozen=True):
    """`selectors[].cel`."""

    expression: str


class DeviceSelector(Value, frozen=True):
    """`selectors[]`: `cel` is the only kind there is."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Value, frozen=True):
    """`tolerations[]` of a request."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Value, frozen=True):
    """`capacity`: amounts asked of each allocated device, by the capacity key exactly as published."""

    requests: dict[str, QuantityText] = {}


class DeviceDerivedAttribute(Value, frozen=True):
    """`derivedAttributes[]` (1.37, alpha, KEP-6080)."""

    name: str
    expression: str = ""


class ExactDeviceRequest(Value, frozen=True):
    """`requests[].exactly`."""

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
    """`requests[]`: exactly one of `exactly` and a non-empty `first_available`."""

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
    """A ResourceClaim; `status.allocation` is the scheduler's."""

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
