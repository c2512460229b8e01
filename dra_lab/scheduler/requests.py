"""The set-up of an attempt: what every request needs, checked before any search (docs/semantics.md 3.4.1 to 3.4.9)."""

from __future__ import annotations

from functools import cache

from msgspec import Struct, field

from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.model.claims import (
    ALL,
    EXACT_COUNT,
    DeviceClass,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_lab.model.device import Amounts
from dra_lab.model.quantity import QuantityText
from dra_lab.model.release import Gates
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.scheduler.candidates import NodeView
from dra_lab.scheduler.constraints import Constraint, attribute_keys, build_constraint, covers_request
from dra_lab.scheduler.search_limits import AttemptAborted


class Need(Struct, eq=False):
    """One way to serve a request of a claim: an exact request or one alternative.

    `reference` is the name in the result (`request` or `request/subrequest`). `count` is the number of devices, once
    known; `all_devices` are the positions that All takes. `verdicts` and `uses` are the search's memory by position;
    `open` are the positions that can be placed at all, once every candidate is judged.
    """

    claim: int
    claim_name: str
    request: str
    subrequest: str
    device_class: DeviceClass
    selectors: tuple[tuple[bool, Selector], ...]
    everything: bool
    count: int
    admin_access: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: dict[str, QuantityText]
    constraints: tuple[Constraint, ...] = ()
    all_devices: tuple[int, ...] = ()
    verdicts: list[int] = field(default_factory=list)
    uses: dict[int, Amounts] = field(default_factory=dict)
    open: list[int] | None = None

    @property
    def reference(self) -> str:
        """Return `request` or `request/subrequest`."""
        return f"{self.request}/{self.subrequest}" if self.subrequest else self.request


class ClaimNeeds(Struct, frozen=True):
    """A claim with its requests; each has one way to be served, or its alternatives in order."""

    claim: ResourceClaim
    requests: tuple[tuple[Need, ...], ...]

    @property
    def label(self) -> str:
        """Return how messages call the claim."""
        return self.claim.metadata.name or "claim"


def claim_needs(index: int, claim: ResourceClaim, view: NodeView, gates: Gates) -> ClaimNeeds:
    """Return what a claim needs on a node, its requests checked and its selectors compiled.

    Raises AttemptAborted where the allocator gives up (docs/semantics.md 3.4.1 to 3.4.6) and CelCompileError for a
    selector.
    """
    requests = []
    for request in claim.spec.devices.requests:
        where = f"claim {claim.metadata.name}, request {request.name}"
        if request.first_available and not gates.prioritized_list:
            raise AttemptAborted(
                f"{where}: it has alternatives (firstAvailable), but the gate DRAPrioritizedList is off"
            )
        parts = request.first_available or ((request.exactly,) if request.exactly is not None else ())
        if not parts:
            raise AttemptAborted(f"{where}: neither exactly nor firstAvailable")
        requests.append(tuple(_need(index, claim, request, part, view, gates) for part in parts))
    found = ClaimNeeds(claim, tuple(requests))
    _add_constraints(found, view, gates)
    return found


def check_size(needs: ClaimNeeds) -> None:
    """Raise AttemptAborted when even the smallest alternatives exceed 32 devices (docs/semantics.md 3.4.9)."""
    least = sum(min(need.count for need in request) for request in needs.requests)
    if least > MAX_DEVICES:
        raise AttemptAborted(
            f"claim {needs.label}: it requests at least {least} devices, but a claim can contain at most "
            f"{MAX_DEVICES}; split it into several claims"
        )


def _need(
    index: int,
    claim: ResourceClaim,
    request: DeviceRequest,
    part: ExactDeviceRequest | DeviceSubRequest,
    view: NodeView,
    gates: Gates,
) -> Need:
    subrequest = part.name if isinstance(part, DeviceSubRequest) else ""
    admin_access = part.admin_access if isinstance(part, ExactDeviceRequest) else None
    where = f"claim {claim.metadata.name}, request {request.name}{'/' if subrequest else ''}{subrequest}"
    if part.capacity is not None and not gates.consumable_capacity:
        raise AttemptAborted(f"{where}: it requests capacity, but the gate DRAConsumableCapacity is off")
    if admin_access is not None and not gates.admin_access:
        raise AttemptAborted(f"{where}: it sets adminAccess, but the gate DRAAdminAccess is off")
    if part.allocation_mode not in ("", EXACT_COUNT, ALL):
        mode = part.allocation_mode
        raise AttemptAborted(f"{where}: the allocation mode {mode!r} is not known; use ExactCount or All")
    device_class = view.classes.get(part.device_class_name)
    if device_class is None:
        raise AttemptAborted(
            f"{where}: the DeviceClass {part.device_class_name!r} does not exist; the pod waits until it does"
        )
    selectors = []
    for of_class, own in ((True, device_class.spec.selectors), (False, part.selectors)):
        for selector in own:
            if selector.cel is None:
                raise AttemptAborted(f"{where}: a selector without cel; only CEL selectors are known")
            compiled = compile_selector(selector.cel.expression, list_type_attributes=gates.list_selectors)
            selectors.append((of_class, compiled))
    return Need(
        claim=index,
        claim_name=claim.metadata.name,
        request=request.name,
        subrequest=subrequest,
        device_class=device_class,
        selectors=tuple(selectors),
        everything=part.allocation_mode == ALL,
        count=0 if part.allocation_mode == ALL else part.count or 1,
        admin_access=bool(admin_access),
        tolerations=part.tolerations,
        capacity=part.capacity.requests if part.capacity and gates.consumable_capacity else {},
        verdicts=[0] * len(view.candidates),
    )


def _add_constraints(needs: ClaimNeeds, view: NodeView, gates: Gates) -> None:
    where = f"claim {needs.label}"
    written = needs.claim.spec.devices.constraints
    # Many constraints of a claim are about one attribute.
    keys_of = cache(lambda attribute: attribute_keys(attribute, view.lookup, len(view.candidates)))
    built = [build_constraint(constraint, keys_of, gates, where) for constraint in written]
    for need in (need for request in needs.requests for need in request):
        pairs = zip(written, built, strict=True)
        need.constraints = tuple(b for c, b in pairs if covers_request(c, need.request, need.subrequest))
