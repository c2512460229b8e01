"""What a person could draw instead where a link cannot be written or no node can keep it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.reasons import Suggestion
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, ClaimSketch, Link, LinkKind, asks, covers
from dra_lab.sketch.cel_text import selector_at
from dra_lab.sketch.cluster_candidates import is_free, reference_candidates
from dra_lab.sketch.kind_counts import free_count
from dra_lab.sketch.links import LEVEL_WORDS, attribute_for, link_words, listed
from dra_lab.topology.locality import Locality, localities, shared_value

MOST_SELECTOR_SUGGESTIONS = 2
"""Most NUMA nodes for which selectors are proposed; the others would read the same."""


class _Ends(Struct, frozen=True):
    """The ends of one link: their devices in the whole cluster, and how many each takes."""

    items: Mapping[str, Mapping[DeviceID, PoolDevice]]
    counts: Mapping[str, int]


def suggest(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, *, nodes: Sequence[str] = ()
) -> tuple[Suggestion, ...]:
    """Return changes to a drawing for every must-link that cannot be written or that no node can keep.

    In this order: the same count for each end of a one-to-one link, and counts that work for it. Then selectors that
    put all ends on one NUMA node, with the source of that locality, if some node has the devices. Then the same link at
    another level that some node can keep. Last, the link as a preference, if some node has the devices. Each link is
    looked at alone: whether the whole drawing then fits is for the planner to say. `nodes` are looked at (all where
    none are named; name one of each class of equal nodes in a large cluster).
    """
    looked_at = tuple(nodes) or cluster.node_names
    found: list[Suggestion] = []
    for link in sketch.links:
        if not link.must or not link.kind.near:
            continue
        ends = _ends(cluster, sketch, link, release)
        if any(not items for items in ends.items.values()):
            continue
        writable = bool(attribute_for(cluster, sketch, link, release).name)
        if writable:
            found += _as_many(cluster, sketch, link, ends, looked_at)
        counts = _better_counts(sketch, link, ends)
        if counts is not None:
            found.append(counts)
            continue
        idle = _nodes_that_keep(cluster, link.where, link.kind, ends, looked_at)
        if writable and idle:
            continue
        if writable:
            found += _fewer(cluster, sketch, link, ends, looked_at)
        found += _selectors(cluster, sketch, link, ends, looked_at, release)
        found += _other_level(cluster, sketch, link, ends, looked_at, release)
        if not idle and any(_holds(_on_node(cluster, node, ends), ends.counts) for node in looked_at):
            found.append(_as_preference(sketch, link))
    return tuple(found)


def _ends(cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease) -> _Ends:
    items, counts = {}, {}
    for end in link.requests:
        items[end] = {i.id: i for i in reference_candidates(cluster, sketch, end, release).devices}
        found_asks = [ask for request in sketch.requests for ask in asks(request) if covers(end, ask)]
        counts[end] = min((ask.count for ask in found_asks if not ask.all_devices), default=1)
    return _Ends(items, counts)


def _as_many(
    cluster: Cluster, sketch: ClaimSketch, link: Link, ends: _Ends, nodes: Iterable[str]
) -> Iterator[Suggestion]:
    """Yield the same count for each end of a one to one link, where some node keeps it but not the drawn counts."""
    most = max(ends.counts.values())
    fewer = {end: most for end, count in ends.counts.items() if count < most}
    simple = all("/" not in end and sketch.request(end).exactly is not None for end in ends.counts)
    if not link.kind.paired or not fewer or not simple:
        return
    equal = dict.fromkeys(ends.counts, most)
    here = [_on_node(cluster, node, ends) for node in nodes]
    divides = not any(count % min(ends.counts.values()) for count in ends.counts.values())
    if divides and any(_keeps(link.where, link.kind, ends.counts, found) for found in here):
        return
    if any(_keeps(link.where, link.kind, equal, found) for found in here):
        words = listed([f"{end} ×{most}" for end in fewer])
        others = listed([end for end in ends.counts if end not in fewer])
        detail = f"One to one at the {LEVEL_WORDS.get(link.where, link.where)}."
        yield Suggestion(f"Ask for {words}, one for each {others}", detail, sketch=_with_counts(sketch, fewer))


def _better_counts(sketch: ClaimSketch, link: Link, ends: _Ends) -> Suggestion | None:
    groups = min(ends.counts.values())
    odd = {end: count // groups * groups for end, count in ends.counts.items() if count % groups}
    if not link.kind.paired or not odd:
        return None
    changed = {split_request(end)[0]: count for end, count in odd.items()}
    simple = all("/" not in end and sketch.request(end).exactly is not None for end in odd)
    words = listed([f"{end} ×{count}" for end, count in odd.items()])
    detail = f"Every {min(ends.counts, key=lambda end: ends.counts[end])} then has equally many partners."
    return Suggestion(f"Ask for {words}", detail, sketch=_with_counts(sketch, changed) if simple else None)


def _fewer(
    cluster: Cluster, sketch: ClaimSketch, link: Link, ends: _Ends, nodes: Iterable[str]
) -> Iterator[Suggestion]:
    """Yield the largest number of groups of a pairwise link that some node holds, where it is not zero."""
    if not link.kind.paired:
        return
    most = max((_groups_at(_by_place(link.where, _on_node(cluster, n, ends)), ends.counts) for n in nodes), default=0)
    if not most:
        return
    counts = {end: count // min(ends.counts.values()) * most for end, count in ends.counts.items()}
    simple = all("/" not in end and sketch.request(end).exactly is not None for end in counts)
    words = listed([f"{end} ×{count}" for end, count in counts.items()])
    place = LEVEL_WORDS.get(link.where, link.where)
    yield Suggestion(
        f"Ask for {words}",
        f"No node has more than {most} such groups, each on one {place}.",
        sketch=_with_counts(sketch, counts) if simple else None,
    )


def _with_counts(sketch: ClaimSketch, counts: Mapping[str, int]) -> ClaimSketch:
    def changed(request: DeviceRequest) -> DeviceRequest:
        if request.exactly is None or request.name not in counts:
            return request
        return replace(request, exactly=replace(request.exactly, count=counts[request.name]))

    return replace(sketch, requests=tuple(changed(request) for request in sketch.requests))


def _on_node(cluster: Cluster, node: str, ends: _Ends) -> dict[str, list[tuple[PoolDevice, Locality]]]:
    here = localities(cluster, node)
    return {end: [(items[i], place) for i, place in here.items() if i in items] for end, items in ends.items.items()}


def _keeps(
    where: str, kind: LinkKind, counts: Mapping[str, int], here: Mapping[str, list[tuple[PoolDevice, Locality]]]
) -> bool:
    at = _by_place(where, here)
    if not kind.paired:
        return any(all(found[end] >= count for end, count in counts.items()) for found in at)
    return _groups_at(at, counts) >= min(counts.values())


def _by_place(where: str, here: Mapping[str, list[tuple[PoolDevice, Locality]]]) -> list[Counter[str]]:
    at: dict[str | int, Counter[str]] = defaultdict(Counter)
    for end, found in here.items():
        for item, locality in found:
            value = shared_value(locality, where, item.device)
            if value is not None:
                at[value][end] += 1
    return list(at.values())


def _groups_at(at: Iterable[Counter[str]], counts: Mapping[str, int]) -> int:
    shares = {end: count // min(counts.values()) for end, count in counts.items()}
    return sum(min(found[end] // share for end, share in shares.items()) for found in at)


def _holds(here: Mapping[str, list[tuple[PoolDevice, Locality]]], counts: Mapping[str, int]) -> bool:
    """Return whether a node has as many devices as every end asks for, wherever on it they sit."""
    return all(len(here[end]) >= count for end, count in counts.items())


def _nodes_that_keep(cluster: Cluster, where: str, kind: LinkKind, ends: _Ends, nodes: Iterable[str]) -> int:
    return sum(1 for node in nodes if _keeps(where, kind, ends.counts, _on_node(cluster, node, ends)))


def _selectors(
    cluster: Cluster,
    sketch: ClaimSketch,
    link: Link,
    ends: _Ends,
    nodes: Sequence[str],
    release: KubernetesRelease,
) -> Iterator[Suggestion]:
    """Yield selectors that place all ends on one NUMA node, for the NUMA nodes that most nodes can serve."""
    if link.where not in LEVELS or link.where == "socket":
        return
    now, idle = Counter[int | str](), Counter[int | str]()
    for node in nodes:
        here = _on_node(cluster, node, ends)
        free = {end: [f for f in found if is_free(cluster, f[0], release)] for end, found in here.items()}
        now.update(_numa_nodes_with(here=free, counts=ends.counts))
        idle.update(_numa_nodes_with(here=here, counts=ends.counts))
    best = sorted(idle, key=lambda value: (-now[value], -idle[value], str(value)))
    made = 0
    for value in best:
        texts = {end: selector_at(cluster, ends.items[end], value, nodes) for end in link.requests}
        if made == MOST_SELECTOR_SUGGESTIONS:
            return
        if any(found is None for found in texts.values()):
            continue
        made += 1
        selectors = {end: (found[0],) for end, found in texts.items() if found}
        source = "; ".join(f"{end}: {found[1]}" for end, found in texts.items() if found)
        have = f"{idle[value]} of {len(nodes)} nodes have such devices"
        if cluster.claims_known:
            most = free_count(cluster, now[value])
            have = f"{most} of {len(nodes)} nodes have such devices free ({idle[value]} when idle)"
        detail = (
            f"kube-scheduler always follows selectors, and {have}. They replace {link_words(link)}; another NUMA "
            "node needs its "
            "own claim."
        )
        title = f"Place {listed(link.requests)} on NUMA node {value} by selectors"
        yield Suggestion(title, detail, source, selectors, _with_selectors(sketch, link, selectors))


def _numa_nodes_with(
    here: Mapping[str, list[tuple[PoolDevice, Locality]]], counts: Mapping[str, int]
) -> list[int | str]:
    at: dict[int | str, Counter[str]] = defaultdict(Counter)
    for end, found in here.items():
        for _, locality in found:
            if locality.numa_node is not None:
                at[locality.numa_node.value][end] += 1
    return [value for value, found in at.items() if all(found[end] >= count for end, count in counts.items())]


def _with_selectors(sketch: ClaimSketch, link: Link, selectors: Mapping[str, tuple[str, ...]]) -> ClaimSketch:
    def extended(have: tuple[DeviceSelector, ...], reference: str) -> tuple[DeviceSelector, ...]:
        request = split_request(reference)[0]
        texts = [text for end in dict.fromkeys((request, reference)) for text in selectors.get(end, ())]
        return (*have, *(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in texts))

    def changed(request: DeviceRequest) -> DeviceRequest:
        if request.exactly is not None:
            part = request.exactly
            return replace(request, exactly=replace(part, selectors=extended(part.selectors, request.name)))
        subs = tuple(
            replace(sub, selectors=extended(sub.selectors, f"{request.name}/{sub.name}"))
            for sub in request.first_available
        )
        return replace(request, first_available=subs)

    links = tuple(other for other in sketch.links if other.name != link.name)
    return replace(sketch, requests=tuple(changed(request) for request in sketch.requests), links=links)


def _other_level(
    cluster: Cluster,
    sketch: ClaimSketch,
    link: Link,
    ends: _Ends,
    nodes: Sequence[str],
    release: KubernetesRelease,
) -> Iterator[Suggestion]:
    """Yield the nearest other level that some node can keep.

    Nearer ones first: they are kept where the link's own is not known, as the PCIe root of what shares a switch.
    """
    if link.where not in LEVELS:
        return
    own = LEVELS.index(link.where)
    for level in (*reversed(LEVELS[:own]), *LEVELS[own + 1 :]):
        keeping = _nodes_that_keep(cluster, level, link.kind, ends, nodes)
        if keeping:
            changed = _with_link(sketch, replace(link, where=level))
            choice = attribute_for(cluster, changed, changed.links[sketch.links.index(link)], release)
            reason = "" if choice.name else f" Kubernetes cannot express this: {choice.reason}."
            detail = f"{keeping} of {len(nodes)} nodes have such devices when idle.{reason}"
            do = "Relax" if level in LEVELS[own:] else "Move"
            yield Suggestion(f"{do} {link_words(link)} to the {LEVEL_WORDS[level]}", detail, sketch=changed)
            return


def _as_preference(sketch: ClaimSketch, link: Link) -> Suggestion:
    detail = "The planner then places the claim as close to it as possible."
    return Suggestion(
        f"Prefer {link_words(link)} instead of requiring it",
        detail,
        sketch=_with_link(sketch, replace(link, must=False)),
    )


def _with_link(sketch: ClaimSketch, changed: Link) -> ClaimSketch:
    return replace(sketch, links=tuple(changed if link.name == changed.name else link for link in sketch.links))
