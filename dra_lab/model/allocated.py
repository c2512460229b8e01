"""What claims hold: the devices that the scheduler subtracts before it looks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct, field

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity


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

    def differing(self, other: AllocatedDevices) -> set[DeviceID]:
        """Return the devices whose usage differs between the two snapshots, whatever claim holds them."""
        if self is other:
            return set()
        found = set(self.exclusive.keys() ^ other.exclusive.keys())
        shared = {*self.shares, *other.shares, *self.consumed, *other.consumed}
        return found | {
            device
            for device in shared
            if self.shares.get(device) != other.shares.get(device)
            or self.consumed.get(device) != other.consumed.get(device)
        }


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
