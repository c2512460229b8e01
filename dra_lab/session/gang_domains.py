"""What each domain of a level holds of one gang, node by node, and what would make it hold the gang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dra_lab.model.headroom import Fit
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.workload import HOST, Workload
from dra_lab.session.answers import Answer
from dra_lab.session.gang_answers import NodeHeadroom, hierarchy_of
from dra_lab.topology.node_tree import natural_order

MOST_NAMED = 3
"""Nodes that a sentence names."""

Path = tuple[str, ...]


class NodePods(Struct, frozen=True, array_like=True):
    """The pods of a gang on one node: planned there, and those that still fit, are kept away by the plan or by claims.

    `closed` says that the node is cordoned: then nothing is planned there, and `free` fit once it is uncordoned.
    """

    node: str
    placed: int
    free: int
    by_plan: int
    in_use: int
    closed: bool = False


class DomainPods(Struct, frozen=True):
    """One domain: its nodes, and `headroom`, what the planner found for it; None above the level of the gang.

    `gangs` is how many gangs fit there without the plan, -1 if that is not known.
    """

    path: Path
    nodes: tuple[NodePods, ...]
    headroom: Fit | None = None
    gangs: int = -1

    @property
    def holds(self) -> int:
        """Return the pods that fit before the plan, on nodes that are not cordoned."""
        return sum(one.placed + one.free + one.by_plan for one in self.nodes if not one.closed)

    @property
    def placed(self) -> int:
        """Return the pods that are planned here."""
        return sum(one.placed for one in self.nodes)


class DomainChange(Struct, frozen=True):
    """What would make a domain hold the gang: all of `nodes` if `together`, else any one of them.

    `kind` is "uncordon", "free" (the devices in use there are free) or "both"; `pods` fit then.
    """

    kind: str
    nodes: tuple[str, ...]
    pods: int
    together: bool


class GangDomains(Struct, frozen=True, dict=True):
    """The domains of one gang after an answer, parents before their children; `exact` allows adding up nodes."""

    gang: Workload
    level: str
    hierarchy: Hierarchy | None
    domains: tuple[DomainPods, ...]
    exact: bool


def gang_domains(answer: Answer, gang: Workload) -> GangDomains:
    """Return the domains of the level that a gang requires, else prefers, with those that contain them."""
    assert answer.gangs is not None, "only an answer to gangs has domains"
    cluster = answer.question.cluster
    headrooms = answer.gangs.nodes.get(gang.name, NodeHeadroom())
    placed: dict[str, int] = {}
    for one in answer.plan.placed_gangs:
        for replica in one.pods if one.workload == gang.name else ():
            placed[replica.node] = placed.get(replica.node, 0) + 1
    level, tree = gang.level or gang.prefer_level, hierarchy_of(cluster, gang)
    found = {headroom.members: headroom for headroom in answer.plan.where if headroom.workload == gang.name}
    total = answer.gangs.total.get(gang.name)
    gangs = {headroom.members: headroom.replicas.value for headroom in total.where} if total is not None else {}

    def pods(node: str) -> NodePods:
        idle, now, left = (known.get(node, 0) for known in (headrooms.idle, headrooms.now, headrooms.left))
        here, closed = placed.get(node, 0), node in cluster.cordoned
        by_plan = 0 if closed else max(0, now - here - left)
        return NodePods(node, here, now if closed else left, by_plan, max(0, idle - now), closed)

    required = bool(gang.level)
    domains = tuple(
        DomainPods(
            path,
            tuple(map(pods, nodes)),
            found.get(path) if required else None,
            gangs.get(path, -1) if required else -1,
        )
        for path, nodes in _in_order(level, tree, cluster.node_names)
    )
    return GangDomains(gang, level, tree if level not in ("", HOST) else None, domains, headrooms.exact)


def _in_order(level: str, tree: Hierarchy | None, nodes: Sequence[str]) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yield the domains down to a level, each followed by those inside it."""
    if level == HOST:
        yield from (((node,), (node,)) for node in sorted(nodes, key=natural_order))
        return
    if not level or tree is None:
        yield (), sorted(nodes, key=natural_order)
        return
    known, depth = set(nodes), tree.level_index(level)
    children: dict[Path, list[tuple[Path, tuple[str, ...]]]] = {}
    for domain in tree.domains:
        if domain.level <= depth:
            inside = tuple(node for node in domain.nodes if node in known)
            children.setdefault(domain.parent, []).append((domain.path, inside))

    def below(path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
        for child, inside in children.get(path, ()):
            if inside:
                yield child, inside
            yield from below(child)

    yield from below(())


def changes(found: GangDomains, domain: DomainPods) -> Iterator[DomainChange]:
    """Yield what would make a domain hold one gang that it refuses; nothing if numbers of nodes are not exact.

    Each change names as few nodes as possible.
    """
    short = found.gang.least - domain.holds
    if not found.exact or short <= 0:
        return
    closed = {one.node: one.free for one in domain.nodes if one.closed and one.free}
    used = {one.node: one.in_use for one in domain.nodes if one.in_use and not one.closed}
    for kind, gains in (("uncordon", closed), ("free", used)):
        yield from _enough(kind, gains, short, domain.holds)
    if sum(closed.values()) < short and sum(used.values()) < short:
        every = {**closed, **used}
        for one in domain.nodes:
            if one.closed and one.free + one.in_use:
                every[one.node] = one.free + one.in_use
        yield from _enough("both", every, short, domain.holds)


def _enough(kind: str, gains: Mapping[str, int], short: int, holds: int) -> Iterator[DomainChange]:
    """Yield the fewest nodes whose gains are enough, or all single nodes of which each is."""
    order = sorted(gains, key=lambda node: (-gains[node], natural_order(node)))
    alone = tuple(node for node in order if gains[node] >= short)
    if alone:
        yield DomainChange(kind, alone, holds + gains[alone[-1]], together=False)
        return
    have = 0
    for number, node in enumerate(order, 1):
        have += gains[node]
        if have >= short:
            yield DomainChange(kind, tuple(order[:number]), holds + have, together=True)
            return
