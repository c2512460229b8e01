"""What a plan says of places: every must-link, and the values of the goals; counted again from the placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from dra_lab.cel.matching import Matching
from dra_lab.checks.plan_amounts import is_split
from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.findings import Finding
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link, asks, covers
from dra_lab.topology.locality import Locality, localities


def links_kept(held: AuditedPlan) -> Iterator[Finding]:
    """`constraints[]`, and what links demand beyond them: pairs, and levels that no attribute tells."""
    for link in held.plan.sketch.links:
        if link.must:
            parts = tied(held, link)
            if not all(held.values(device, link) for part in parts for device in part):
                yield broken("link", link.name, f"a device has no value at {link.where}")
            elif losses(held, link, parts):
                yield broken("link", link.name, f"the devices do not keep {link.how} at {link.where}")


def tied(held: AuditedPlan, link: Link) -> list[tuple[DeviceID, ...]]:
    """Return the devices that a link ties, one part for each request; parts of a split request stand alone."""
    parts: list[tuple[DeviceID, ...]] = []
    for name, placements in held.taken.items():
        if any(covers(reference, held.asks[name]) for reference in link.requests):
            members = tuple(p.device for p in placements)
            parts.extend([(m,) for m in members] if is_split(held, name) else [members])
    return parts


def losses(held: AuditedPlan, link: Link, parts: Sequence[tuple[DeviceID, ...]]) -> int:
    """Return 0 for a link that is kept; else 1, or the number of pairwise groups without a common place."""
    values = [held.values(device, link) for part in parts for device in part]
    if link.how is How.TOGETHER:
        return int(bool(values) and not frozenset.intersection(*values))
    if link.how is How.APART:
        clashes = any(not a.isdisjoint(b) for a, b in combinations(values, 2))
        return int(clashes or not all(values))
    if len(parts) < 2:
        return 0
    groups = min(len(part) for part in parts)
    shares = [len(part) // groups for part in parts]
    if any(len(part) % groups for part in parts):
        return groups
    links = [link] if link.must else [link, *_also(held, link)]
    return groups - _most_groups(held, links, parts, shares)


def _also(held: AuditedPlan, link: Link) -> list[Link]:
    return [
        other
        for other in held.plan.sketch.links
        if other.must and other.how is How.PAIRWISE and set(other.requests) == set(link.requests)
    ]


def _most_groups(
    held: AuditedPlan, links: Sequence[Link], parts: Sequence[tuple[DeviceID, ...]], shares: Sequence[int]
) -> int:
    """Return how many groups find a common place: place by place, what the scarcest part allows."""
    at: list[Counter[tuple[object, ...]]] = []
    for part in parts:
        values = [tuple(tuple(held.values(device, link)) for link in links) for device in part]
        at.append(Counter(value for value in values if all(value)))
    return sum(min(c[v] // s for c, s in zip(at, shares, strict=True)) for v in set().union(*at))


def check_goals(held: AuditedPlan) -> Iterator[Finding]:
    """The goals of a plan are what its devices give."""
    if not held.plan.goals:
        return
    values = goal_values(held)
    for goal in held.plan.goals:
        # What is left for other replicas (`damage`) is not decided by these devices alone.
        if goal.goal in values and goal.value != values[goal.goal]:
            yield broken("goal", goal.goal, f"the plan says {goal.value}, its devices have {values[goal.goal]}")


def goal_values(held: AuditedPlan) -> dict[str, int]:
    """Return the values of all goals but `damage`, counted from the devices that are taken."""
    chosen = [held.places[device] for device in dict.fromkeys(p.device for p in held.plan.placements)]
    return {
        "alternatives": sum(held.asks[reference].rank for reference in held.taken),
        "preferences": sum(losses(held, link, tied(held, link)) for link in held.plan.sketch.links if not link.must),
        "numa": _spanned([place for place in chosen if place.kind in ("gpu", "nic", "cpu")], "numaNode"),
        "unpaired": _unpaired(held, chosen),
        "roots": _spanned([place for place in chosen if place.kind in ("gpu", "nic")], "pcieRoot"),
    }


def _spanned(chosen: Sequence[Locality], level: str) -> int:
    places = [locality.place(level) for locality in chosen]
    return len({place.value for place in places if place is not None}) + places.count(None)


def _unpaired(held: AuditedPlan, chosen: Sequence[Locality]) -> int:
    gpus = [locality.pcie_root for locality in chosen if locality.kind == "gpu"]
    nics = Counter(locality.pcie_root.value for locality in chosen if locality.kind == "nic" and locality.pcie_root)
    wants_nics = held.nics
    if gpus and wants_nics is None:
        wants_nics = asks_for_nics(held.cluster, held.release, held.plan.sketch)
    if not gpus or not wants_nics:
        return 0
    known = Counter(root.value for root in gpus if root is not None)
    return gpus.count(None) + sum(max(0, count - nics[root]) for root, count in known.items())


def asks_for_nics(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch) -> bool:
    """Say whether some request may take a NIC anywhere in the cluster; a claim without has no GPU to pair."""
    matching = Matching(cluster, release)
    wanted = [ask for request in sketch.requests for ask in asks(request)]
    for node in cluster.node_names:
        places = localities(cluster, node)
        for item in devices_on(gather_pools(cluster, node)):
            if places[item.id].kind == "nic" and any(
                matching.match(ask, item.driver, item.device).stage == "match" for ask in wanted
            ):
                return True
    return False
