"""ClaimSketch: what a person drew: requests, and links that say how close together they must or should be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from dra_lab.errors import SketchError
from dra_lab.model.claims import (
    ALL,
    DeviceClaimConfiguration,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    expressions,
)
from dra_lab.model.device import Value
from dra_lab.model.layers import Addable, Layer
from dra_lab.model.names import MARK, part_of, split_request
from dra_lab.model.quantity import QuantityText
from dra_lab.model.running import Movable
from dra_lab.printing import Shown

LEVELS = ("switch", "pcieRoot", "numaNode", "socket")
"""Levels of a node at which a link can hold, nearest first; everything else in `Link.where` is an attribute."""

DRAWING_VERSION = "dra-lab/v2"
"""`apiVersion` of a drawing's file, as it is written; `dra-lab/v1` has one drawing and no workloads, and is read."""

MAX_DEVICES = 32
"""Most devices a claim can be allocated (`status.allocation.devices.results`, docs/semantics.md 2.2)."""


class How(StrEnum):
    """What a link demands of the places of its devices: TOGETHER, PAIRWISE or APART.

    TOGETHER: all devices share one place (`matchAttribute`). PAIRWISE: each device of one request has its own partner
    in the same place (one `matchAttribute` per pair). APART: no two devices share a place (`distinctAttribute`).

    Source: `constraints[]` of a claim, docs/semantics.md 1.13.

    Example:
        >>> from dra_lab import How
        >>> How("pairwise") is How.PAIRWISE
        True
    """

    TOGETHER = "together"
    PAIRWISE = "pairwise"
    APART = "apart"


class LinkKind(Struct, frozen=True):
    """The meaning of one kind of link, for all its readers.

    `meaning` says it to a person. `constraint` is the member of a claim's `constraints[]` that expresses it, "" if none
    can. `least_ends` is the number of references that a link needs. `near` says that devices share a place, so that a
    wider place is easier, and `paired` that the counts of its requests make groups.
    """

    meaning: str
    constraint: str
    least_ends: int = 1
    near: bool = False
    paired: bool = False

    @property
    def distinct(self) -> bool:
        """Return whether a claim expresses it as `distinctAttribute`."""
        return self.constraint == "distinctAttribute"


LINK_KINDS: Mapping[How, LinkKind] = {
    How.TOGETHER: LinkKind("All devices share the place.", "matchAttribute", near=True),
    How.PAIRWISE: LinkKind(
        "Each device of one request has its own partner in the same place.",
        "matchAttribute",
        least_ends=2,
        near=True,
        paired=True,
    ),
    How.APART: LinkKind("No two devices share the place.", "distinctAttribute"),
}
"""Every kind of link; `planner/node/link_rows.py` says of each what it is in a model, and why it cannot hold."""


def constrained(constraint: DeviceConstraint) -> tuple[How, str]:
    """Return the kind of link that a constraint of a claim demands, and the attribute that it names.

    With both attributes it is `matchAttribute` alone, as kube-scheduler reads it (docs/semantics.md 1.13).
    """
    if constraint.match_attribute is not None:
        return How.TOGETHER, constraint.match_attribute
    return How.APART, constraint.distinct_attribute or ""


class Link(Value, frozen=True):
    """A link of a drawing: how close together the devices of its requests must or should be.

    Args:
        name: The name of the link, unique in the drawing.
        requests: The linked requests, each `request` or `request/subrequest`, as in `constraints[].requests`.
        where: The place: one of `switch`, `pcieRoot`, `numaNode`, `socket`, or the full name of an attribute.
        how: A How, or its word; default: together. Pairwise needs two requests or more.
        must: False for a preference, which never makes a claim infeasible; default True.

    Raises:
        SketchError: `how` is no kind of link.

    Example:
        >>> from dra_lab import Link
        >>> pairs = Link(name="pairs", requests=("gpu", "nic"), how="pairwise")
        >>> pairs.where, pairs.how.value, pairs.must
        ('pcieRoot', 'pairwise', True)
    """

    name: str
    requests: tuple[str, ...]
    where: str = "pcieRoot"
    how: How = How.TOGETHER
    must: bool = True

    def __post_init__(self) -> None:
        """Take `how` as a plain word as well. Raises SketchError for another word."""
        try:
            force_setattr(self, "how", How(self.how))
        except ValueError:
            words = ", ".join(How)
            raise SketchError(f"link {self.name!r}: {self.how!r} is not a kind of link; use {words}") from None

    @property
    def is_level(self) -> bool:
        """Return whether `where` is a level of the node and not an attribute."""
        return self.where in LEVELS

    @property
    def kind(self) -> LinkKind:
        """Return what a link of its kind means."""
        return LINK_KINDS[self.how]


class ClaimSketch(Shown, Value, frozen=True):
    """A drawing: requests in the API's own form, links and opaque configuration.

    A pod with several claims is one drawing, in which every request and link is called `claim:name`. Configuration for
    all requests of a claim names `claim:`. `claims_of` returns the drawing of each claim, and `pod_drawing` makes one
    drawing of them.

    Args:
        name: The name of the manifest; default "claim".
        requests: The requested devices; default: none.
        links: How close together the devices must or should be; default: none.
        config: Parameters for drivers, which are passed on untouched; default: none.
        claims: The names of a pod's claims (`spec.resourceClaims[].name`), at least two; default: one claim, unnamed.

    Example:
        >>> from dra_lab import ClaimSketch, Link
        >>> from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
        >>> # A small case.
        >>> gpus = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=2))
        >>> sketch = ClaimSketch(name="train", requests=(gpus,), links=(Link(name="near", requests=("gpu",)),))
        >>> sketch.request("gpu").exactly.count
        2
    """

    name: str = "claim"
    requests: tuple[DeviceRequest, ...] = ()
    links: tuple[Link, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()
    claims: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Return the hash of the names and links; amounts of requests are mappings."""
        return hash((self.name, tuple(request.name for request in self.requests), self.links))

    def __repr__(self) -> str:
        """Return a line; `print` shows the drawing."""
        requests, links = (", ".join(one.name for one in found) for found in (self.requests, self.links))
        return f"<ClaimSketch {self.name!r}: {requests or 'nothing'}{f'; links {links}' if links else ''}>"

    def request(self, name: str) -> DeviceRequest:
        """Return the request of a name.

        Args:
            name: The name of the request, `claim:name` in the drawing of several claims.

        Returns:
            The request.

        Raises:
            SketchError: The drawing has no request of that name.
        """
        for request in self.requests:
            if request.name == name:
                return request
        names = ", ".join(r.name for r in self.requests) or "none"
        raise SketchError(f"there is no request {name!r} in the drawing; requests: {names}")


def claims_of(sketch: ClaimSketch) -> tuple[ClaimSketch, ...]:
    """Return the drawing of each claim of a pod, under the claim's name; the drawing itself if it is of one claim."""
    return tuple(_claim_of(sketch, name) for name in sketch.claims) or (sketch,)


def _claim_of(sketch: ClaimSketch, claim: str) -> ClaimSketch:
    def own(references: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for part, name in map(part_of, references) if part == claim)

    requests = [replace(one, name=name) for one in sketch.requests for name in own((one.name,))]
    links = [replace(one, name=name, requests=own(one.requests)) for one in sketch.links for name in own((one.name,))]
    config = [replace(c, requests=tuple(filter(None, found))) for c in sketch.config if (found := own(c.requests))]
    return ClaimSketch(name=claim, requests=tuple(requests), links=tuple(links), config=tuple(config))


def pod_drawing(name: str, claims: Iterable[ClaimSketch]) -> ClaimSketch:
    """Return the claims of a pod, each under its own name, as one drawing called `name`; a single claim as it is.

    Its requests and links are called `claim:name`.
    """
    if len(parts := tuple(claims)) == 1:
        return parts[0]
    marked = [(f"{part.name}{MARK}", part) for part in parts]
    requests = [replace(one, name=f"{mark}{one.name}") for mark, part in marked for one in part.requests]
    links = [
        replace(one, name=f"{mark}{one.name}", requests=tuple(f"{mark}{end}" for end in one.requests))
        for mark, part in marked
        for one in part.links
    ]
    config = [
        replace(c, requests=tuple(mark + end for end in c.requests or ("",))) for mark, p in marked for c in p.config
    ]
    names = tuple(part.name for part in parts)
    return ClaimSketch(name=name, requests=tuple(requests), links=tuple(links), config=tuple(config), claims=names)


class GangDrawing(Value, frozen=True):
    """`size` pods of a workload that start together, with their levels; `queue` is their LocalQueue of Kueue.

    `same` are attributes of which all pods use the same values, as in `Workload`.
    """

    size: int = 1
    min: int | None = None
    level: str = ""
    prefer_level: str = ""
    hierarchy: str = ""
    queue: str = ""
    same: tuple[str, ...] = ()


class PodDrawing(Value, frozen=True):
    """A workload of a fleet: pods with the same claims.

    `pod` is its unique name; `replicas` pods are wanted, of which `pins` must run on a node. `nodes` are the fields of
    their spec that choose nodes (`nodeSelector`, `tolerations`), None without a pod; `classes` are its DeviceClasses.
    With a `gang`, `replicas` are gangs.
    """

    pod: str
    claims: tuple[ClaimSketch, ...] = ()
    replicas: int = 1
    pins: dict[str, int] = {}
    nodes: dict[str, Any] | None = None
    classes: tuple[DeviceClass, ...] = ()
    gang: GangDrawing | None = None


class KnownValue(Value, frozen=True):
    """One number of a kept answer; `bound` is the best value that could exist, None if no bound is known."""

    value: int
    bound: int | None = None


class Kept(Value, frozen=True):
    """A plan that a person kept, for comparing: the question, its cluster, and the answer.

    `mode` is "plan" (one claim, `sketch`) or "fleet" (`workloads`). `layers` are what-if changes. `sentence` says the
    answer; `figures` are its numbers by name (`words.plan_json`); `yaml` is the manifest. `devices` maps allocated
    devices to requests. `snapshot` is the cluster's fingerprint. `simulation` says what kube-scheduler does, or "".
    """

    name: str
    mode: str = "fleet"
    cluster: str = ""
    release: str = ""
    node: str = ""
    sketch: ClaimSketch = ClaimSketch()
    workloads: tuple[PodDrawing, ...] = ()
    layers: tuple[Layer, ...] = ()
    sentence: str = ""
    figures: dict[str, KnownValue] = {}
    yaml: str = ""
    devices: dict[str, str] = {}
    snapshot: str = ""
    simulation: str = ""


class Drawing(Value, frozen=True):
    """The content of a drawing's file: the sketch, where its boxes stand, what it was planned for, and its fleet.

    `layout` maps a request or link name to its (x, y) in canvas pixels. `cluster` is the name of the cluster. `release`
    is "" for the cluster's default. `node` is "" unless a person pinned one. `goals` is the order of goals 4 to 8 if a
    person changed it. `workloads` are the pods of the fleet; `editing` names the one whose only claim is the sketch, ""
    if the sketch is none of them. `layers` are what-if changes of the cluster, in their order; `addable` is what may be
    added to it. `movable` are the running pods that may move, None for the usual ones. `kept` are plans for comparing;
    `view` is what the screen shows, by setting. `measured` are bandwidths that a person measured with and without the
    link, by the path between GPU and NIC without it (`topology.places.PATHS`).
    """

    sketch: ClaimSketch = ClaimSketch()
    layout: dict[str, tuple[float, float]] = {}
    cluster: str = ""
    release: str = ""
    node: str = ""
    goals: tuple[str, ...] = ()
    workloads: tuple[PodDrawing, ...] = ()
    editing: str = ""
    layers: tuple[Layer, ...] = ()
    addable: Addable = Addable()
    movable: Movable | None = None
    kept: tuple[Kept, ...] = ()
    view: dict[str, str] = {}
    measured: dict[str, tuple[float, float]] = {}
    api_version: str = DRAWING_VERSION
    kind: str = "Drawing"


class Ask(Struct, frozen=True):
    """One way to serve a request, with the API server's defaults filled in.

    `reference` is `request`, or `request/subrequest` for an alternative; `rank` is the alternative's index (0 for an
    exact request); `count` is 0 when `all_devices`.
    """

    reference: str
    rank: int
    device_class_name: str
    selectors: tuple[str, ...]
    all_devices: bool
    count: int
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, QuantityText]
    admin_access: bool

    @property
    def request(self) -> str:
        """Return the name of the request without the alternative's."""
        return split_request(self.reference)[0]


def _ask(reference: str, rank: int, part: ExactDeviceRequest | DeviceSubRequest) -> Ask:
    return Ask(
        reference,
        rank,
        part.device_class_name,
        expressions(part.selectors),
        part.allocation_mode == ALL,
        0 if part.allocation_mode == ALL else part.count or 1,
        part.tolerations,
        part.capacity.requests if part.capacity else {},
        bool(getattr(part, "admin_access", None)),
    )


def asks(request: DeviceRequest) -> tuple[Ask, ...]:
    """Return the ways to serve a request, in kube-scheduler's order, with the API server's defaults filled in.

    Source: docs/semantics.md 1.11 (defaults) and 3.7 (order).
    """
    if request.exactly is not None:
        return (_ask(request.name, 0, request.exactly),)
    return tuple(_ask(f"{request.name}/{sub.name}", rank, sub) for rank, sub in enumerate(request.first_available))


def covers(reference: str, ask: Ask) -> bool:
    """Say whether a reference of a link or constraint (`request` or `request/subrequest`) covers an ask."""
    return reference in (ask.request, ask.reference)
