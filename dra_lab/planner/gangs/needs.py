"""Gangs as the planner reads them: kinds of pods, levels as maps from nodes to domains, and gangs that are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dra_lab.errors import InputError, UnsupportedFeature
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.goals import BEYOND, GANG_GOALS, GANGS, UNPLACED
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.workload import HOST, HOSTS, PodGroup, Workload
from dra_lab.planner.arguments import check_gang, hierarchy_of

Path = tuple[str, ...]
Claims = tuple[ClaimSketch, ...]
Together = Callable[[Claims], Mapping[str, Path] | None]
"""Which nodes' pods can share claims, as `nodes_of_claims` says it."""

HOST_DEPTH = 1_000
"""The depth of hosts, below every level."""

WHOLE = 0
"""The tier of the whole cluster."""


@dataclass(frozen=True)
class Tier:
    """One level: `paths` has the domain of each node that is in one; `depth` grows from outer to inner levels."""

    hierarchy: str
    depth: int
    paths: Mapping[str, Path]


@dataclass(frozen=True)
class GroupNeed:
    """Pods of one kind of a gang: a least and a most number, in one domain of the tier `required` if it is not -1.

    `preferred` is the tier of which few domains are used: its own, or that of the gang, -1 for none. `slices` are sizes
    with their tiers. `same_as` is the position of the group whose domain these have, -1 for none.
    """

    kind: int
    least: int
    most: int
    required: int
    preferred: int
    slices: tuple[tuple[int, int], ...]
    same_as: int = -1


@dataclass(frozen=True)
class GangNeed:
    """Gangs that are alike: each has all pods in one domain of the tier `required`.

    `preferences` are preferred tiers, each with the positions of the groups that it is about. `gangs` are their
    positions among the gangs that were given, one for each copy. The first `pods` groups are pods, the others shared
    claims: those of the groups, then those of the gang. A group whose pods have only shared claims is not among them:
    its pods are on the node of the claim, which has what they require and prefer.
    """

    priority: int
    required: int
    groups: tuple[GroupNeed, ...]
    pods: int
    preferences: tuple[tuple[int, tuple[int, ...]], ...]
    gangs: tuple[int, ...] = ()

    @property
    def copies(self) -> int:
        """Return how many such gangs are wanted."""
        return len(self.gangs)

    @cached_property
    def least_pods(self) -> Mapping[int, int]:
        """Return the pods of each kind that the gang needs."""
        found: dict[int, int] = {}
        for group in self.groups:
            if group.least:
                found[group.kind] = found.get(group.kind, 0) + group.least
        return found


@dataclass
class Needs:
    """The question in numbers: kinds of pods, tiers, gangs that are alike, and the kind of each ordinary workload."""

    kinds: list[Workload]
    tiers: list[Tier]
    gangs: list[GangNeed]
    ordinary: list[tuple[int, int]]

    def counted(self, tier: int, path: Path) -> tuple[int, Path]:
        """Return a domain as the goal `domains` counts it: a host is one, whatever level it was chosen inside."""
        return (-1 if self.tiers[tier].depth == HOST_DEPTH else tier), path

    @cached_property
    def priorities(self) -> tuple[int, ...]:
        """Return the priorities from high to low; ordinary workloads have 0."""
        found = {need.priority for need in self.gangs} | ({0} if self.ordinary else set())
        return tuple(sorted(found, reverse=True))

    def goal(self, name: str, priority: int) -> str:
        """Return the name of a goal about gangs of a priority."""
        return f"{name} {priority}" if len(self.priorities) > 1 else name

    @cached_property
    def wanted(self) -> Mapping[str, int]:
        """Return the goals that count what has no place, with what they count if nothing has one."""
        found = Counter[str]()
        for priority in self.priorities:
            for need in (need for need in self.gangs if need.priority == priority):
                found[self.goal(GANGS, priority)] += need.copies
                beyond = sum(group.most - group.least for group in need.groups)
                found[self.goal(BEYOND, priority)] += need.copies * beyond
            for _, pods in self.ordinary if priority == 0 else ():
                found[UNPLACED] += pods
        return found

    @cached_property
    def goals(self) -> tuple[str, ...]:
        """Return the names of all goals, most important first."""
        return (*self.wanted, *(goal for goal in GANG_GOALS if goal not in (GANGS, BEYOND, UNPLACED)))


def read_needs(
    gangs: Sequence[Workload],
    workloads: Sequence[Workload],
    hierarchies: Sequence[Hierarchy],
    nodes: Sequence[str],
    together: Together = lambda _: None,
) -> Needs:
    """Return gangs and workloads as the planner needs them; `together` says which nodes can share claims.

    Raises InputError for what makes no sense.
    """
    reader = _Reader(hierarchies, nodes, together)
    names = [gang.name for gang in gangs]
    by_need: dict[GangNeed, list[int]] = {}
    for number, gang in enumerate(gangs):
        if names.count(gang.name) > 1:
            raise InputError(f"gang {gang.name!r} is there twice; give each its own name")
        need = reader.gang(gang)
        by_need.setdefault(need, []).extend([number] * gang.replicas)
    for need, mine in by_need.items():
        several = any(splits(reader.needs.tiers, need, one) for one in need.preferences)
        # Preferred domains of several gangs are counted for each gang by itself.
        reader.needs.gangs += [replace(need, gangs=(one,)) for one in mine] if several else []
        reader.needs.gangs += [replace(need, gangs=tuple(mine))] if mine and not several else []
    reader.needs.gangs.sort(key=lambda need: (-need.priority, need.gangs))
    reader.needs.ordinary = [
        (reader.kind(workload.claims, workload.replicas), workload.replicas) for workload in workloads
    ]
    return reader.needs


class _Reader:
    def __init__(self, hierarchies: Sequence[Hierarchy], nodes: Sequence[str], together: Together) -> None:
        self.hierarchies, self.nodes, self.together = hierarchies, nodes, together
        self.needs = Needs([], [Tier("", 0, dict.fromkeys(nodes, ()))], [], [])
        self._tiers: dict[tuple[str, str], int] = {}

    def kind(self, claims: tuple[ClaimSketch, ...], more: int) -> int:
        """Return the number of the kind of pods with these claims, of which `more` are wanted."""
        kinds = self.needs.kinds
        for number, known in enumerate(kinds):
            if known.claims == claims:
                kinds[number] = Workload(known.name, claims, replicas=known.replicas + more)
                return number
        kinds.append(Workload(f"{len(kinds)}", claims, replicas=more))
        return len(kinds) - 1

    def is_finer(self, tier: int, other: int) -> bool:
        return self.needs.tiers[tier].depth > self.needs.tiers[other].depth

    def gang(self, gang: Workload) -> GangNeed:
        check_gang(gang)
        hierarchy = hierarchy_of(gang, self.hierarchies)
        required = self._tier(hierarchy, gang.level)
        groups = [self._group(group, gang, hierarchy, required) for group in gang.pods]
        if gang.shared_claims:
            required = self._seen(hierarchy, gang.shared_claims, required)
            if self.needs.tiers[required].depth == HOST_DEPTH:
                # The node has the levels that its groups require.
                groups = [
                    replace(group, required=-1, slices=(*group.slices, (1, group.required)))
                    if group.required >= 0
                    else group
                    for group in groups
                ]
            else:
                self._check_nested(groups, required, gang.name)
        shared, position = self._shared(gang, hierarchy, required, groups)
        preferred = self._tier(hierarchy, gang.prefer_level) if gang.prefer_level else -1
        preferences = [(preferred, tuple(dict.fromkeys(position)))] if preferred >= 0 else []
        preferences += [(one.preferred, (at,)) for one, at in zip(groups, position, strict=True) if one.preferred >= 0]
        pods = [group for group, given in zip(groups, gang.pods, strict=True) if given.claims]
        every = [
            replace(one, preferred=preferred) if one.preferred < 0 and one.same_as < 0 else one
            for one in (*pods, *shared)
        ]
        return GangNeed(gang.priority, required, tuple(every), len(pods), tuple(preferences))

    def _shared(
        self, gang: Workload, hierarchy: Hierarchy | None, required: int, groups: list[GroupNeed]
    ) -> tuple[list[GroupNeed], list[int]]:
        """Return claims that pods share as one pod more each, and where the pods of each group are.

        Pods are with their own claims, or with those that they share. `groups` get the level of their shared claims.
        """
        held = [at for at, group in enumerate(gang.pods) if group.claims]
        position = {at: number for number, at in enumerate(held)}
        shared: list[GroupNeed] = []

        def add(claims: tuple[ClaimSketch, ...], alone: Iterable[GroupNeed], required: int = -1, at: int = -1) -> None:
            # The node has the levels of the slices of groups whose pods have no other claims.
            levels = dict.fromkeys((1, tier) for group in alone for _, tier in group.slices)
            kind = self.kind(claims, gang.replicas)
            shared.append(GroupNeed(kind, 1, 1, required, -1, tuple(levels), at if required >= 0 else -1))

        for at, group in enumerate(gang.pods):
            if group.shared_claims:
                inner = groups[at].required if groups[at].required >= 0 else required
                if self.needs.tiers[inner].depth < HOST_DEPTH:
                    inner = self._seen(hierarchy, group.shared_claims, inner)
                    groups[at] = replace(groups[at], required=inner if inner != required else -1)
                beside = position.get(at, -1)
                position.setdefault(at, len(held) + len(shared))
                add(group.shared_claims, [groups[at]] if beside < 0 else [], groups[at].required, beside)
        if gang.shared_claims:
            add(gang.shared_claims, [group for at, group in enumerate(groups) if at not in position])
        return shared, [position.get(at, len(held) + len(shared) - 1) for at in range(len(groups))]

    def _seen(self, hierarchy: Hierarchy | None, claims: tuple[ClaimSketch, ...], inside: int) -> int:
        """Return the tier of the nodes that see the devices of a claim, in the domains of the tier `inside`."""
        seen, outer = self.together(claims), self.needs.tiers[inside]
        if seen is None:
            return self._tier(hierarchy, HOST, inside)
        paths = {node: (*path, *seen[node]) for node, path in outer.paths.items() if node in seen}
        if paths == outer.paths:
            return inside
        return self._number(Tier(outer.hierarchy, outer.depth, paths), (outer.hierarchy, f"{outer.depth} {seen}"))

    def _check_nested(self, groups: Sequence[GroupNeed], outer: int, gang: str) -> None:
        """Raise UnsupportedFeature if nodes that share a claim are parts of several domains of a group's level."""
        paths = self.needs.tiers[outer].paths
        for inner in (self.needs.tiers[group.required].paths for group in groups if group.required >= 0):
            pairs = {(path, paths[node]) for node, path in inner.items() if node in paths}
            if len(pairs) > len({path for path, _ in pairs}):
                message = "nodes that see the devices of its shared claims are in several domains of a group"
                raise UnsupportedFeature("resourceClaims", f"gang {gang!r}: {message}")

    def _group(self, group: PodGroup, gang: Workload, hierarchy: Hierarchy | None, outer: int) -> GroupNeed:
        where, most = f"group {group.name!r} of gang {gang.name!r}", group.count
        required = self._tier(hierarchy, group.level, outer) if group.level else -1
        if required >= 0 and self.is_finer(outer, required):
            raise InputError(f"{where} requires {group.level!r}, which is outside {gang.level!r} of the gang")
        if required >= 0 and not self.is_finer(required, outer):
            required = -1
        slices: list[tuple[int, int]] = []
        size, above = most, required if required >= 0 else outer
        for each, level in group.slices:
            tier = self._tier(hierarchy, level)
            if each < 1 or size % each or (not slices and group.least % each):
                raise InputError(f"{where} has slices of {each}; they must divide {size} and the minimum evenly")
            if self.is_finer(above, tier):
                raise InputError(f"{where} has slices in {level!r}, which is outside the level before it")
            slices.append((each, tier))
            size, above = each, tier
        preferred = self._tier(hierarchy, group.prefer_level) if group.prefer_level else -1
        kind = self.kind(group.claims, most * gang.replicas) if group.claims else -1
        return GroupNeed(kind, group.least, most, required, preferred, tuple(slices))

    def _tier(self, hierarchy: Hierarchy | None, level: str, inside: int = WHOLE) -> int:
        """Return the number of the tier of a level; of hosts, only those in a domain of the tier `inside`."""
        if not level:
            return WHOLE
        outer = self.needs.tiers[inside]
        if level in HOSTS:
            found = Tier("", HOST_DEPTH, {node: (node,) for node in self.nodes if node in outer.paths})
            key = (outer.hierarchy, f"{HOST} {outer.depth}")
        else:
            assert hierarchy is not None, "a level that is named has its hierarchy"
            index = hierarchy.level_index(level)
            known = set(self.nodes)
            paths = {node: domain.path for domain in hierarchy.at(level) for node in domain.nodes if node in known}
            found, key = Tier(hierarchy.name, index + 1, paths), (hierarchy.name, str(index))
        return self._number(found, key)

    def _number(self, tier: Tier, key: tuple[str, str]) -> int:
        if key not in self._tiers:
            self._tiers[key] = len(self.needs.tiers)
            self.needs.tiers.append(tier)
        return self._tiers[key]


def splits(tiers: Sequence[Tier], need: GangNeed, preference: tuple[int, tuple[int, ...]]) -> bool:
    """Say whether a gang may use several domains of a preferred level, or none, so that each is counted alone."""
    tier, groups = preference
    return tiers[tier].depth > tiers[need.required].depth or not sum(need.groups[at].least for at in groups)


def required_only(gang: Workload, hierarchies: Sequence[Hierarchy]) -> Workload:
    """Return a gang without what it prefers and its priority."""
    tree, groups = hierarchy_of(gang, hierarchies), [replace(group, prefer_level="") for group in gang.pods]
    return replace(gang, pods=tuple(groups), prefer_level="", hierarchy=tree.name if tree else "", priority=0)


# --------------------------------------------------------------------- nodes whose pods can share a claim


def nodes_of_claims(cluster: Cluster, release: KubernetesRelease, claims: Claims) -> Mapping[str, Path] | None:
    """Return for each node the name of the nodes whose pods can share claims with its pods; None if only its own can.

    A claim that is allocated holds its pods to the nodes that see all its devices: one node for devices of a node,
    several for devices that are attached to a network. Nodes that see no device for the claims are left out; the name
    is () if all nodes see the same devices. Raises UnsupportedFeature if the choice of devices decides which nodes.

    Source: kubernetes 1.36.2, `createNodeSelector` of
    staging/src/k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go.
    """
    if not cluster.network_slices:
        return None
    seen: dict[DeviceID, list[str]] = {}
    devices: dict[DeviceID, Device] = {}
    for node in cluster.node_names:
        for one in (one for pool in gather_pools(cluster, node) for one in pool.devices if one.on_node):
            seen.setdefault(one.id, []).append(node)
            devices[one.id] = one.device
    rows = [[frozenset(seen[one]) for one in found] for found in _candidates(cluster, claims, release, devices)]
    if any(all(len(nodes) == 1 for nodes in row) for row in rows):
        return None
    every = sorted(dict.fromkeys(nodes for row in rows for nodes in row), key=sorted)
    if sum(map(len, every)) > len(frozenset().union(*every)):
        message = "its shared claims may have devices that different nodes see, which dra-lab does not plan yet"
        raise UnsupportedFeature("resourceClaims", message)
    if every == [frozenset(cluster.node_names)]:
        return dict.fromkeys(cluster.node_names, ())
    names = {nodes: f"{min(nodes)} and {len(nodes) - 1} more" if len(nodes) > 1 else min(nodes) for nodes in every}
    return {node: (names[nodes],) for nodes in every for node in nodes}


def _candidates(
    cluster: Cluster, claims: Claims, release: KubernetesRelease, devices: Mapping[DeviceID, Device]
) -> Iterator[list[DeviceID]]:
    """Yield for each request the devices that match it, or one of its alternatives."""
    matching = node_index(cluster, release).matching
    for request in (request for claim in claims for request in claim.requests):
        alternatives = asks(request)
        yield [
            one for one, device in devices.items() if any(matching.match(a, one.driver, device) for a in alternatives)
        ]
