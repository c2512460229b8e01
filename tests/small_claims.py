"""Small claims for the tests of the scheduler: requests and constraints from plain values."""

from __future__ import annotations

from dra_lab.model.claims import (
    ALL,
    AllocationResult,
    CapacityRequirements,
    CELDeviceSelector,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.scheduler.first_fit import Verdict


def selectors(*texts: str) -> tuple[DeviceSelector, ...]:
    """Make CEL selectors."""
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in texts)


def a_class(name: str, *texts: str) -> DeviceClass:
    """Make a DeviceClass."""
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=selectors(*texts)))


CLASSES = (
    a_class("gpu", 'device.driver == "gpu.nvidia.com"'),
    a_class("nic", 'device.driver == "dra.net"'),
    a_class("any"),
)


def _fields(
    device_class: str, count: int, everything: bool, texts: tuple[str, ...], capacity: dict, more: dict
) -> dict:
    return {
        "device_class_name": device_class,
        "allocation_mode": ALL if everything else "",
        "count": count,
        "selectors": selectors(*texts),
        "capacity": CapacityRequirements(requests=capacity) if capacity else None,
        **more,
    }


def request(name, device_class="gpu", count=0, *texts, everything=False, capacity=None, **more) -> DeviceRequest:
    """Make an exact request."""
    fields = _fields(device_class, count, everything, texts, capacity or {}, more)
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(**fields))


def alternative(name, device_class="gpu", count=0, *texts, everything=False, capacity=None, **more) -> DeviceSubRequest:
    """Make an alternative of a request."""
    return DeviceSubRequest(name=name, **_fields(device_class, count, everything, texts, capacity or {}, more))


def one_of(name: str, *alternatives: DeviceSubRequest) -> DeviceRequest:
    """Make a request with alternatives in order."""
    return DeviceRequest(name=name, first_available=alternatives)


def a_claim(*requests, constraints=(), config=(), name="claim") -> ResourceClaim:
    """Make a claim."""
    devices = DeviceClaim(requests=requests, constraints=tuple(constraints), config=tuple(config))
    return ResourceClaim(metadata=ObjectMeta(name=name), spec=ResourceClaimSpec(devices=devices))


def holding(*devices: str, **fields) -> ResourceClaim:
    """Make a claim that holds devices, given as `driver/pool/device`."""
    results = tuple(
        DeviceRequestAllocationResult(request="r", **DeviceID.parse(text)._asdict(), **fields) for text in devices
    )
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=results)))
    return ResourceClaim(metadata=ObjectMeta(name="holder", namespace="other"), status=status)


def taken(verdict: Verdict) -> list[tuple[str, str]]:
    """List (request, device name) of all claims of a verdict, in order."""
    assert verdict.allocations is not None, verdict.message
    return [(result.request, result.device) for part in verdict.allocations for result in part.devices.results]
