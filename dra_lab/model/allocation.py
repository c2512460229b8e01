"""`status.allocation` of a claim: what the scheduler wrote, and what a first fit would write."""

from __future__ import annotations

from msgspec import field

from dra_lab.model.device import Value
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import NodeSelector
from dra_lab.model.quantity import QuantityText


class DeviceRequestAllocationResult(Value, frozen=True):
    """`allocation.devices.results[]`."""

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
    """`allocation.devices`."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[dict[str, object], ...] = ()


class AllocationResult(Value, frozen=True):
    """`status.allocation`; a claim holds its devices from the moment this is set, reserved or not."""

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
    """`status` of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[dict[str, object], ...] = ()
