"""What each domain of a level holds of one gang, what would make it hold it, and the values that all its pods use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dra_lab.index.catalogue import catalogue
from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import Fit
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.placement import SameValues
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.workload import HOST, RAIL, Workload
from dra_lab.session.answers import Answer
from dra_lab.session.gang_answers import NodeHeadroom, hierarchy_of
from dra_lab.sketch.cluster_candidates import candidates, is_free
from dra_lab.topology.node_tree import natural_order
from dra_lab.words.document import printable
from dra_lab.words.workload_words import is_rail

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


_KINDS = ("nic", "gpu")
_TYPES = ("string", "int", "bool")
Value = str | int | bool


class SameOption(Struct, frozen=True, omit_defaults=True):
    """An attribute of which all pods of a gang may use the same values, and its `label`.

    `reason` says why choosing it makes no sense, "" if it does. `requests` are those that it binds. The name `rail`
    stands for the attribute with rails, which is `inferred` if no device publishes one.
    """

    name: str
    requests: tuple[str, ...]
    reason: str = ""
    inferred: bool = False
    label: str = ""


def same_options(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> tuple[SameOption, ...]:
    """Return the attributes of the GPUs and NICs that a drawing requests, those that may be rails first."""
    found: dict[str, dict[str, None]] = {}
    nics: dict[str, None] = {}
    order: dict[str, int] = {}
    for request in sketch.requests:
        for shape in (shape for ask in asks(request) for shape in candidates(cluster, ask, release).shapes):
            if shape.kind not in _KINDS:
                continue
            if shape.kind == "nic":
                nics[request.name] = None
            for name in (name for name, (kind, _) in shape.attributes.items() if kind in _TYPES):
                found.setdefault(name, {})[request.name] = None
                order.setdefault(name, _KINDS.index(shape.kind))
    reasons = _reasons(cluster)
    rows = [SameOption(name, tuple(requests), reasons[name], label=printable(name)) for name, requests in found.items()]
    rows.sort(key=lambda row: (bool(row.reason), not is_rail(row.name), order[row.name], row.name))
    published = {name: None for row in rows if is_rail(row.name) for name in row.requests}
    inferred = not any(map(is_rail, reasons))
    label = f"{RAIL}, inferred from the NICs" if inferred else RAIL
    rail = SameOption(RAIL, tuple(nics if inferred else published), inferred=inferred, label=label)
    return (rail, *rows) if rail.requests else tuple(rows)


@once_per_hardware
def _reasons(cluster: Cluster) -> Mapping[str, str]:
    """Return for each attribute of GPUs and NICs why pods cannot share its values, or share them in any case."""
    known = catalogue(cluster)
    values: dict[str, set[object]] = {}
    repeated, settled = set[str](), set[str]()
    for item in known.devices:
        shape = known.shape(item)
        if shape.kind not in _KINDS:
            continue
        for name, (kind, _) in shape.attributes.items():
            if kind not in _TYPES or name in settled:
                continue
            attribute, mine = item.device.lookup(name, item.driver), values.setdefault(name, set())
            value = attribute.value if attribute is not None else None
            if value in mine:
                repeated.add(name)
            mine.add(value)
            if name in repeated and len(mine) > 1:
                settled.add(name)
    return {
        name: "" if name in settled else "each device has a value of its own" if len(mine) > 1 else "one value for all"
        for name, mine in values.items()
    }


def value_nodes(
    answer: Answer, gang: Workload, same: SameValues, nodes: Sequence[str]
) -> Mapping[Value, tuple[NodePods, ...]]:
    """Return the devices of each node by the values of an attribute that the gang's requests may use."""
    question = answer.question
    users = {one.device: pod.workload for pod in answer.plan.pods for one in pod.devices}
    counts: Counter[tuple[Value, str, int]] = Counter()
    for item, value in _devices(question.cluster, answer.drawn(gang.name).claims, same, question.release):
        node, user = item.slice.spec.node_name or "", users.get(item.id)
        part = 0 if user == gang.name else 2 if user else 1 if is_free(question.cluster, item, question.release) else 3
        counts[value, node, part] += 1
    here = set(nodes)
    values = sorted({value for value, node, _ in counts if node in here})

    def boxes(value: Value) -> Iterator[NodePods]:
        for node in nodes:
            placed, free, by_plan, in_use = (counts[value, node, part] for part in range(4))
            yield NodePods(node, placed, free, by_plan, in_use, node in question.cluster.cordoned)

    return {value: tuple(boxes(value)) for value in values}


def _devices(
    cluster: Cluster, claims: Sequence[ClaimSketch], same: SameValues, release: KubernetesRelease
) -> Iterator[tuple[PoolDevice, Value]]:
    """Yield the devices that requests may use and that have the attribute, each once, with its value."""
    known = catalogue(cluster)
    requests = (request for claim in claims for request in claim.requests)
    found = {
        item.id: item
        for request in requests
        for ask in asks(request)
        for item in candidates(cluster, ask, release).devices
    }
    for item in found.values():
        attribute = item.device.lookup(same.attribute, item.driver)
        if attribute is not None and (not same.inferred or known.shape(item).kind == "nic"):
            yield item, attribute.value  # type: ignore[misc]
