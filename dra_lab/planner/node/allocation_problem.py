"""AllocationProblem: one claim on one node, reduced to groups of interchangeable devices; tables, no solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from dra_lab.index.counter_draws import Counter, Draws
from dra_lab.index.node_binding import Tie
from dra_lab.model.names import DeviceID, part_of
from dra_lab.model.sketch import MAX_DEVICES, Ask, ClaimSketch, Link, covers
from dra_lab.planner.node.eligible import AskEligibility, NodeEligibility
from dra_lab.planner.node.link_places import PlaceValue, Values, place_values, typed
from dra_lab.topology.locality import Locality

NUMA_KINDS = ("gpu", "nic", "cpu")
ROOT_KINDS = ("gpu", "nic")


class DeviceGroup(Struct, frozen=True):
    """Devices that nothing in the problem can tell apart, in kube-scheduler's order.

    `asks` are indices into the problem's asks that may take them. `places` are the values at each link's place ((): not
    known). A shareable device is a group of its own: `remaining` is what is left of it, and `uses` what each ask takes.
    `draws` is what each device takes of shared counters, and `tie` how it ties the claim to nodes.
    """

    devices: tuple[DeviceID, ...]
    asks: tuple[int, ...]
    places: tuple[Values, ...]
    kind: str
    numa: PlaceValue | None
    root: PlaceValue | None
    shareable: bool = False
    remaining: tuple[tuple[str, Fraction], ...] = ()
    uses: tuple[tuple[int, tuple[tuple[str, Fraction], ...]], ...] = ()
    draws: Draws = ()
    tie: Tie = Tie.SELECTOR

    @property
    def size(self) -> int:
        """Return the number of devices."""
        return len(self.devices)


class AllocationProblem(Struct, frozen=True):
    """One claim on one node, or the claims of one pod.

    `requests` lists the indices of each request's asks, of which one is to be served. `impossible` are asks that cannot
    be served here whatever is taken. `paired` says whether the claim requests both GPUs and NICs (goal `unpaired`).
    `counters` is what is left of the shared counters that the groups draw on. `claims` is the position of each ask's
    claim in the pod, () for one claim. `pods` is the pod of each ask if several pods are on the node, else ().
    """

    node: str
    asks: tuple[Ask, ...]
    requests: tuple[tuple[int, ...], ...]
    links: tuple[Link, ...]
    groups: tuple[DeviceGroup, ...]
    impossible: frozenset[int] = frozenset()
    paired: bool = False
    counters: tuple[tuple[Counter, int], ...] = ()
    claims: tuple[int, ...] = ()
    pods: tuple[int, ...] = ()

    @property
    def most_devices(self) -> int:
        """Return how many devices all claims together can be allocated: 32 each (`allocation.devices.results`)."""
        return MAX_DEVICES * (max(self.claims, default=0) + 1)

    def claim_of(self, ask: int) -> int:
        """Return the position of an ask's claim among those of the pod."""
        return self.claims[ask] if self.claims else 0

    def pod_of(self, ask: int) -> int:
        """Return the position of an ask's pod among those on the node."""
        return self.pods[ask] if self.pods else 0

    def overlaps(self, group: int) -> bool:
        """Say whether several asks may take the same device: a shareable one, or for admin access in another claim."""
        found = self.groups[group]
        return found.shareable or self._is_inspected(found)

    def _is_inspected(self, group: DeviceGroup) -> bool:
        several = bool(self.claims) and len({self.claim_of(ask) for ask in group.asks}) > 1
        return several and any(self.asks[ask].admin_access for ask in group.asks)

    def covered(self, link: int) -> tuple[tuple[int, ...], ...]:
        """Return, for each reference of a link, the indices of the asks that it covers."""
        return tuple(
            tuple(index for index, ask in enumerate(self.asks) if covers(reference, ask))
            for reference in self.links[link].requests
        )

    def ends(self, link: int) -> tuple[int, ...]:
        """Return the indices of all asks that a link covers."""
        return tuple(sorted({index for part in self.covered(link) for index in part}))

    def need(self, ask: int) -> int:
        """Return how many devices an ask takes: its count, or all that it may take."""
        if not self.asks[ask].all_devices:
            return self.asks[ask].count
        return sum(group.size for group in self.groups if ask in group.asks)


def build_problem(
    sketch: ClaimSketch,
    eligible: NodeEligibility,
    places: Mapping[DeviceID, Locality],
    *,
    paired: bool,
    drop: Sequence[str] = (),
) -> AllocationProblem:
    """Reduce one node to its problem; `drop` names links that are left out (to explain a misfit).

    A device without a value at the place of a must-link cannot serve the asks that the link covers; an ask for All that
    lists such a device cannot be served at all (docs/semantics.md 3.6).
    """
    links = tuple(link for link in sketch.links if link.name not in drop)
    all_asks = tuple(part.ask for part in eligible.asks)
    order = {request.name: index for index, request in enumerate(sketch.requests)}
    requests = tuple(
        tuple(index for index, ask in enumerate(all_asks) if order[ask.request] == position)
        for position in range(len(sketch.requests))
    )
    must = tuple((n, link) for n, link in enumerate(links) if link.must)
    values = {
        device: tuple(place_values(places[device], link, eligible.seen[device], lists=eligible.lists) for link in links)
        for device in eligible.seen
    }
    takers: dict[DeviceID, list[int]] = {}
    claims = _claims(all_asks)
    impossible = set()
    for index, part in enumerate(eligible.asks):
        needed = tuple(n for n, link in must if any(covers(reference, part.ask) for reference in link.requests))
        lost = _offer(index, part, values, needed, takers)
        if part.blocked or (lost and part.ask.all_devices):
            impossible.add(index)
    return AllocationProblem(
        eligible.node,
        all_asks,
        requests,
        links,
        _groups(eligible, places, takers, values, claims),
        frozenset(impossible),
        paired,
        tuple(sorted(eligible.books.left.items())),
        claims,
    )


def _claims(all_asks: Sequence[Ask]) -> tuple[int, ...]:
    """Return the position of each ask's claim, () where there is only one."""
    parts = [part_of(ask.reference)[0] for ask in all_asks]
    order = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    return tuple(order[part] for part in parts) if len(order) > 1 else ()


def _offer(
    index: int,
    part: AskEligibility,
    values: Mapping[DeviceID, tuple[Values, ...]],
    needed: tuple[int, ...],
    takers: dict[DeviceID, list[int]],
) -> bool:
    """Note the devices that an ask may take; say whether a must-link cost it one."""
    lost = False
    for device in part.listed if part.ask.all_devices and not part.blocked else part.devices:
        if any(not values[device][link] for link in needed):
            lost = True
        else:
            takers.setdefault(device, []).append(index)
    return lost


def _groups(
    eligible: NodeEligibility,
    places: Mapping[DeviceID, Locality],
    takers: Mapping[DeviceID, list[int]],
    values: Mapping[DeviceID, tuple[Values, ...]],
    claims: Sequence[int],
) -> tuple[DeviceGroup, ...]:
    identical: dict[tuple[object, ...], list[DeviceID]] = {}
    uses = [part.uses for part in eligible.asks if part.uses]
    admin = {at for at, part in enumerate(eligible.asks) if claims and part.ask.admin_access}
    for device in eligible.seen:
        if device in takers:
            place = places[device]
            numa = place.numa_node.value if place.numa_node else None
            root = place.pcie_root.value if place.pcie_root else None
            shared = bool(uses) and any(device in part for part in uses)
            # What an admin of one claim takes may be taken for another claim too: told apart one by one, like shares.
            inspected = bool(admin) and not admin.isdisjoint(takers[device])
            tied = bool(eligible.ties)
            alone = device if shared or inspected or tied or device in eligible.books.coarse else None
            draws = eligible.books.draws.get(device, ())
            tie = eligible.ties.get(device, Tie.NODE if tied else Tie.SELECTOR)
            rules = (shared, draws, tie, alone)
            key = (tuple(takers[device]), values[device], place.kind, typed(numa), typed(root), *rules)
            identical.setdefault(key, []).append(device)
    return tuple(_group(eligible, key, devices) for key, devices in identical.items())


def _group(eligible: NodeEligibility, key: tuple[object, ...], devices: list[DeviceID]) -> DeviceGroup:
    indices, values, kind, numa, root, shared, draws, tie, _ = key
    members = tuple(devices)
    if not shared:
        return DeviceGroup(members, indices, values, kind, numa, root, draws=draws, tie=tie)  # type: ignore[arg-type]
    uses = tuple((i, tuple(sorted(eligible.asks[i].uses[members[0]].items()))) for i in indices)  # type: ignore[attr-defined]
    left = tuple(sorted(eligible.remaining.get(members[0], {}).items()))
    return DeviceGroup(members, indices, values, kind, numa, root, True, left, uses, draws, tie)  # type: ignore[arg-type]


def pairwise_share(counts: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
    """Return (groups, devices of each request in a group) of a pairwise link, None where the counts do not divide.

    The smallest count is the number of groups; every other count must be a whole multiple of it.
    """
    groups = min(counts)
    if groups < 1 or any(count % groups for count in counts):
        return None
    return groups, tuple(count // groups for count in counts)


def partner_links(problem: AllocationProblem, link: int) -> tuple[int, ...]:
    """Return the pairwise must-links that tie the same requests as a preferred pairwise link.

    Such a pair of links is one pairing: what stays together at the preferred place is together at the must place too.
    """
    mine = problem.links[link]
    return tuple(
        index
        for index, other in enumerate(problem.links)
        if index != link
        and other.kind.paired
        and mine.kind.paired
        and other.must
        and set(other.requests) == set(mine.requests)
    )
