"""The claims of one pod, or of several pods, as one drawing; and the manifest of each claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import MARK, part_of
from dra_lab.model.nodes import ObjectMeta, node_matches
from dra_lab.model.placement import Placement
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link, claims_of, constrained, pod_drawing
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.model.workload import Workload
from dra_lab.sketch.compile import CompiledClaim, compile_claim
from dra_lab.sketch.numbered_requests import Expansion, expand


def join_sketches(parts: Mapping[str, ClaimSketch], name: str = "joined") -> ClaimSketch:
    """Return one drawing with every request and link of all parts, each named `part:name`.

    Constraints of a claim never reach into another (`spec.devices.constraints[].requests` names requests of its own
    claim), so the parts share nothing but the devices. The result is for the planner: such names cannot be exported.
    """
    requests, links = [], []
    for part, sketch in parts.items():
        requests += [replace(request, name=f"{part}{MARK}{request.name}") for request in sketch.requests]
        for link in sketch.links:
            tied = tuple(f"{part}{MARK}{reference}" for reference in link.requests)
            links.append(replace(link, name=f"{part}{MARK}{link.name}", requests=tied))
    return ClaimSketch(name, tuple(requests), tuple(links), claims=tuple(parts))


def exact_sketch(spec: ResourceClaimSpec, name: str) -> ClaimSketch:
    """Return a drawing that demands what `spec` demands of kube-scheduler, no more and no less.

    Every `constraints[]` becomes a must-link at the attribute that it names, never at a level: an empty text is a value
    like any other there. A constraint without requests ties all; with both attributes it is matchAttribute alone.
    Names are taken as they are. Rules: docs/semantics.md 1.13, 3.9. Raises nothing; for people there is
    `sketch.read_back.sketch_of`.
    """
    devices = spec.devices
    everything = tuple(request.name for request in devices.requests)
    links = []
    for number, constraint in enumerate(devices.constraints):
        how, attribute = constrained(constraint)
        links.append(Link(f"constraint-{number}", constraint.requests or everything, attribute, how))
    return ClaimSketch(name, devices.requests, tuple(links), devices.config)


OneClaim = ClaimSketch | ResourceClaim


class PodClaims(Struct, frozen=True):
    """What is planned together: the claims of one pod, in the pod's order.

    `claims` are those to be placed, by name; `exact` names the ones that were given as a ResourceClaim: they are served
    as they stand, no request of theirs is split. `allocated` hold devices already, keep them, and tie the pod to the
    nodes of `status.allocation.nodeSelector`. `nodes` are those that the pod's own spec admits, cordoned ones too if
    it tolerates them; None without a spec: all that are not cordoned. `repeated` are the ResourceClaims that were given
    more than once, which are one claim each. `drawn` is the drawing of all claims, None if they were given one by one.
    `why_nowhere` says why no node admits the pod, "" if one does. `name` is that of its workload, "" if it has none.
    """

    claims: Mapping[str, ClaimSketch]
    exact: frozenset[str] = frozenset()
    allocated: tuple[ResourceClaim, ...] = ()
    nodes: frozenset[str] | None = None
    repeated: tuple[str, ...] = ()
    drawn: ClaimSketch | None = None
    why_nowhere: str = ""
    name: str = ""

    @property
    def several(self) -> bool:
        """Say whether there are several claims to be placed, so that names need to say of which claim they are."""
        return len(self.claims) > 1

    @property
    def sketch(self) -> ClaimSketch:
        """Return the only claim's drawing, or that of the pod, in which requests are `claim:request`."""
        if self.drawn is not None:
            return self.drawn
        if not self.several:
            return next(iter(self.claims.values()), ClaimSketch())
        return pod_drawing("pod", (replace(claim, name=name) for name, claim in self.claims.items()))

    @property
    def workload(self) -> Workload:
        """Return the pod as a workload of one replica."""
        claims = (replace(claim, name=name) if self.several else claim for name, claim in self.claims.items())
        return Workload(self.name or self.sketch.name or "pod", claims)

    def allowed(self, cluster: Cluster) -> frozenset[str] | None:
        """Return the nodes on which the pod may start, None for all (docs/semantics.md 3.1.3)."""
        selectors = [c.status.allocation.node_selector for c in self.allocated if c.status.allocation]
        ties = [selector for selector in selectors if selector is not None]
        names = cluster.open_nodes if self.nodes is None else self.nodes
        # A pod that tolerates cordoned nodes names all nodes: None would leave out that it does.
        if not ties and len(names) == len(cluster.node_names) and (self.nodes is None or not cluster.cordoned):
            return None
        return frozenset(n for n in names if all(node_matches(tie, cluster.node_by_name[n]) for tie in ties))


Planned = OneClaim | PodClaims | Workload | Mapping[str, OneClaim] | Sequence[OneClaim]
"""What can be planned: one claim, or the claims of one pod."""


def read_claims(given: Planned) -> PodClaims:
    """Return what is to be planned, in one form.

    Claims get their own names, numbered where two have the same; a ResourceClaim that is there twice (namespace and
    name) counts once, as it is allocated once. Raises SketchError for an inconsistent drawing,
    InputError for what is no claim, and for a name that cannot stand before a request's.
    """
    if given is None or isinstance(given, str | Path):
        raise _no_claim(given)
    if isinstance(given, PodClaims):
        return given
    if isinstance(given, ClaimSketch) and given.claims:
        check_sketch(given)
        return PodClaims({claim.name: claim for claim in claims_of(given)}, drawn=given)
    if isinstance(given, (ClaimSketch, ResourceClaim)):
        return _collect([(_name(given), given)])
    if isinstance(given, Workload):
        return replace(_collect([(sketch.name, sketch) for sketch in given.claims]), name=given.name)
    if isinstance(given, Mapping):
        return _collect(given.items())
    return _collect([(_name(claim), claim) for claim in given])


def _no_claim(given: object) -> InputError:
    what = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
    return InputError(
        f"{what} is not a claim: give a drawing, a ResourceClaim, or those of a pod; "
        "dra_lab.read_sketch(FILE) reads a drawing, a claim, or sample:NAME/EXAMPLE"
    )


def _name(claim: OneClaim) -> str:
    if not isinstance(claim, (ClaimSketch, ResourceClaim)):
        raise _no_claim(claim)
    return claim.name if isinstance(claim, ClaimSketch) else claim.metadata.name


def _collect(named: Iterable[tuple[str, OneClaim]]) -> PodClaims:
    claims: dict[str, ClaimSketch] = {}
    exact: set[str] = set()
    allocated: list[ResourceClaim] = []
    seen: dict[tuple[str, str], bool] = {}
    for name, claim in named:
        if not isinstance(claim, (ClaimSketch, ResourceClaim)):
            raise _no_claim(claim)
        if isinstance(claim, ResourceClaim) and claim.metadata.name:
            key = (claim.metadata.namespace, claim.metadata.name)
            seen[key] = key in seen
            if seen[key]:
                continue
        if isinstance(claim, ResourceClaim) and claim.status.allocation is not None:
            allocated.append(claim)
            continue
        if MARK in name or "/" in name:
            raise InputError(f"a claim cannot be called {name!r}: {MARK!r} and '/' stand between names here; rename it")
        own, number = name or "claim", 1
        while own in claims:
            number += 1
            own = f"{name or 'claim'}-{number}"
        if isinstance(claim, ResourceClaim):
            claims[own] = exact_sketch(claim.spec, own)
            exact.add(own)
        else:
            check_sketch(claim)
            if claim.claims:
                raise InputError(f"{name!r} is a pod with {len(claim.claims)} claims already; plan one pod at a time")
            claims[own] = claim
    repeated = tuple(name for (_, name), again in seen.items() if again)
    return PodClaims(claims, frozenset(exact), tuple(allocated), repeated=repeated)


def held_cluster(cluster: Cluster, pod: PodClaims) -> Cluster:
    """Return the cluster with the pod's allocated claims in it, the same object where they are there."""
    if not pod.allocated:
        return cluster
    known = {(claim.metadata.namespace, claim.metadata.name) for claim in cluster.claims}
    new = tuple(c for c in pod.allocated if (c.metadata.namespace, c.metadata.name) not in known)
    return changed(cluster, claims=(*cluster.claims, *new)) if new else cluster


def expand_pod(pod: PodClaims, cluster: Cluster, release: KubernetesRelease) -> Expansion:
    """Return the pod's drawing with its large CPU requests split, claim by claim (`sketch.numbered_requests`)."""
    parts = {
        name: Expansion(sketch, {request.name: request.name for request in sketch.requests})
        if name in pod.exact
        else expand(sketch, cluster, release)
        for name, sketch in pod.claims.items()
    }
    if not pod.several:
        return next(iter(parts.values()), Expansion(ClaimSketch(), {}))
    joined = join_sketches({name: part.sketch for name, part in parts.items()}, "pod")
    origin = {
        f"{name}{MARK}{new}": f"{name}{MARK}{old}" for name, part in parts.items() for new, old in part.origin.items()
    }
    return Expansion(joined, origin)


class CompiledPod(Struct, frozen=True):
    """The manifest of every claim of a pod, by the claim's name; of the only claim under ""."""

    claims: Mapping[str, CompiledClaim] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what could not be written, of all claims."""
        return tuple(finding for compiled in self.claims.values() for finding in compiled.findings)

    @property
    def resource_claims(self) -> tuple[ResourceClaim, ...]:
        """Return the claims as kube-scheduler sees them, in the pod's order."""
        named = ((name or "plan", one.spec) for name, one in self.claims.items())
        return tuple(ResourceClaim(metadata=ObjectMeta(name=name), spec=spec) for name, spec in named)

    def reference(self, claim: str, request: str) -> str:
        """Return a request of a claim's manifest as a reference of the pod's drawing."""
        drawn = self.claims[claim].origin.get(request, request)
        return f"{claim}{MARK}{drawn}" if claim else drawn


def compile_pod(
    sketch: ClaimSketch, cluster: Cluster, release: KubernetesRelease, *, links: bool = True
) -> CompiledPod:
    """Return the manifests of a pod's drawing, as it was planned; `links` False leaves counts and selectors only."""
    compiled = {name: compile_claim(part, cluster, release, links=links) for name, part in split_sketch(sketch).items()}
    return CompiledPod(compiled)


def split_sketch(joined: ClaimSketch) -> dict[str, ClaimSketch]:
    """Return the claims of a joined drawing by name; a drawing of one claim under "" (see `join_sketches`)."""
    return {claim.name: claim for claim in claims_of(joined)} if joined.claims else {"": joined}


def in_claim(placement: Placement) -> Placement:
    """Return a placement for a reference of a joined drawing as one for a request of its claim."""
    claim, request = part_of(placement.request)
    return replace(placement, request=request, claim=claim) if claim else placement


_ELSEWHERE = "Let the pod run where the claim is allocated, or free the claim."


def pod_findings(pod: PodClaims, allowed: frozenset[str] | None) -> tuple[Finding, ...]:
    """Return a note for each claim of the pod that holds devices already; a warning for each that is there twice."""
    where = "on any node" if allowed is None else f"on {len(allowed)} node{'' if len(allowed) == 1 else 's'}"
    where, advice = (where, "Nothing is to be done.") if allowed is None or allowed else ("on no node", _ELSEWHERE)
    held = {c.metadata.name: len(c.status.allocation.devices.results) for c in pod.allocated if c.status.allocation}
    twice = tuple(repeated_claim(name, "the pod's claims") for name in pod.repeated)
    return twice + tuple(
        Finding(
            "claim-allocated",
            Severity.NOTE,
            name,
            f"it keeps the {count} device{'' if count == 1 else 's'} that it holds; the pod can run {where}",
            advice,
        )
        for name, count in held.items()
    )


def repeated_claim(name: str, where: str, origin: Origin | None = None) -> Finding:
    """Return what it means that a pod names one ResourceClaim more than once."""
    return Finding(
        "claim-repeated",
        Severity.WARNING,
        name,
        f"{where} name the ResourceClaim {name!r} more than once; it is one claim, allocated once, and planned once",
        "Name it once: several containers can use the same entry. For devices of their own write a "
        "ResourceClaimTemplate.",
        origin,
    )
