"""`status.allocation` of a claim: what the scheduler wrote, and what a first fit would write."""

from __future__ import annotations

from msgspec import field

from dra_lab.model.device import Value
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import NodeSelector
from dra_lab.model.quantity import QuantityText


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
        >>> from dra_lab.model.allocation import DeviceRequestAllocationResult
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
