"""What a person could draw instead where a link cannot be written or no node can keep it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import DeviceRequest, RequestPart, selected
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.reasons import Suggestion
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, ClaimSketch, Link, asks, covers
from dra_lab.sketch.cel_text import selector_at
from dra_lab.sketch.cluster_candidates import is_free, reference_candidates
from dra_lab.sketch.kind_counts import free_count
from dra_lab.sketch.links import LEVEL_WORDS, attribute_for, link_words, listed
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Locality, shared_value

MOST_SELECTOR_SUGGESTIONS = 2
"""Most NUMA nodes for which selectors are proposed; the others would read the same."""


_Here = Mapping[str, Sequence[tuple[PoolDevice, Locality]]]
"""The devices of each end of a link on one node."""


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
    looked_at, found = tuple(nodes) or cluster.node_names, list[Suggestion]()
    for link in (link for link in sketch.links if link.must and link.kind.near):
        found += _Changes(cluster, sketch, link, release, looked_at).all()
    return tuple(found)


class _Changes:
    """The changes for one link: `items` are the devices of each end in the cluster, `counts` how many it takes."""

    def __init__(
        self, cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease, nodes: Sequence[str]
    ) -> None:
        self.cluster, self.sketch, self.link, self.release, self.nodes = cluster, sketch, link, release, nodes
        self.items: dict[str, Mapping[DeviceID, PoolDevice]] = {}
        self.counts: dict[str, int] = {}
        for end in link.requests:
            self.items[end] = {i.id: i for i in reference_candidates(cluster, sketch, end, release).devices}
            every = [ask for request in sketch.requests for ask in asks(request) if covers(end, ask)]
            self.counts[end] = min((ask.count for ask in every if not ask.all_devices), default=1)

    def all(self) -> Iterator[Suggestion]:
        if any(not items for items in self.items.values()):
            return
        writable = bool(attribute_for(self.cluster, self.sketch, self.link, self.release).name)
        if writable:
            yield from self._as_many()
        counts = self._better_counts()
        if counts is not None:
            yield counts
            return
        idle = self._nodes_that_keep(self.link.where)
        if writable and idle:
            return
        if writable:
            yield from self._fewer()
        yield from self._selectors()
        yield from self._other_level()
        # wherever on the node they sit
        if not idle and any(all(len(here[end]) >= n for end, n in self.counts.items()) for here in self.here):
            detail = "The planner then places the claim as close to it as possible."
            changed = self._with_link(replace(self.link, must=False))
            yield Suggestion(f"Prefer {link_words(self.link)} instead of requiring it", detail, sketch=changed)

    @cached_property
    def here(self) -> list[_Here]:
        """Return the devices of the ends on each node."""
        found: list[_Here] = []
        for node in self.nodes:
            places = localities(self.cluster, node).items()
            found.append({end: [(of[i], at) for i, at in places if i in of] for end, of in self.items.items()})
        return found

    def _keeps(self, where: str, counts: Mapping[str, int], here: _Here) -> bool:
        at = _by_place(where, here)
        if not self.link.kind.paired:
            return any(all(found[end] >= count for end, count in counts.items()) for found in at)
        return _groups_at(at, counts) >= min(counts.values())

    def _nodes_that_keep(self, where: str) -> int:
        return sum(self._keeps(where, self.counts, here) for here in self.here)

    def _asked(self, counts: Mapping[str, int], detail: str) -> Suggestion:
        """Return the suggestion of other counts; a drawing for it only where no end has alternatives."""
        simple = all("/" not in end and self.sketch.request(end).exactly is not None for end in counts)
        words = listed([f"{end} ×{count}" for end, count in counts.items()])
        return Suggestion(f"Ask for {words}", detail, sketch=_with_counts(self.sketch, counts) if simple else None)

    def _as_many(self) -> Iterator[Suggestion]:
        """Yield the same count for each end of a one to one link, where some node keeps it but not the drawn counts."""
        counts, where = self.counts, self.link.where
        most = max(counts.values())
        fewer = {end: most for end, count in counts.items() if count < most}
        simple = all("/" not in end and self.sketch.request(end).exactly is not None for end in counts)
        if not self.link.kind.paired or not fewer or not simple:
            return
        divides = not any(count % min(counts.values()) for count in counts.values())
        if divides and any(self._keeps(where, counts, here) for here in self.here):
            return
        if any(self._keeps(where, dict.fromkeys(counts, most), here) for here in self.here):
            found = self._asked(fewer, f"One to one at the {LEVEL_WORDS.get(where, where)}.")
            others = listed([end for end in counts if end not in fewer])
            yield replace(found, title=f"{found.title}, one for each {others}")

    def _better_counts(self) -> Suggestion | None:
        groups = min(self.counts.values())
        odd = {end: count // groups * groups for end, count in self.counts.items() if count % groups}
        if not self.link.kind.paired or not odd:
            return None
        fewest = min(self.counts, key=lambda end: self.counts[end])
        return self._asked(odd, f"Every {fewest} then has equally many partners.")

    def _fewer(self) -> Iterator[Suggestion]:
        """Yield the largest number of groups of a pairwise link that some node holds, where it is not zero."""
        where = self.link.where
        most = max((_groups_at(_by_place(where, here), self.counts) for here in self.here), default=0)
        if self.link.kind.paired and most:
            counts = {end: count // min(self.counts.values()) * most for end, count in self.counts.items()}
            place = LEVEL_WORDS.get(where, where)
            yield self._asked(counts, f"No node has more than {most} such groups, each on one {place}.")

    def _selectors(self) -> Iterator[Suggestion]:
        """Yield selectors that place all ends on one NUMA node, for the NUMA nodes that most nodes can serve."""
        link, cluster, made = self.link, self.cluster, 0
        if link.where not in LEVELS or link.where == "socket":
            return
        now, idle = Counter[int | str](), Counter[int | str]()
        for here in self.here:
            free = {end: [f for f in found if is_free(cluster, f[0], self.release)] for end, found in here.items()}
            now.update(self._numa_nodes_with(free))
            idle.update(self._numa_nodes_with(here))
        for value in sorted(idle, key=lambda value: (-now[value], -idle[value], str(value))):
            texts = {end: selector_at(cluster, self.items[end], value, self.nodes) for end in link.requests}
            if made == MOST_SELECTOR_SUGGESTIONS:
                return
            if any(found is None for found in texts.values()):
                continue
            made += 1
            selectors = {end: (found[0],) for end, found in texts.items() if found}
            source = "; ".join(f"{end}: {found[1]}" for end, found in texts.items() if found)
            have = f"{idle[value]} of {len(self.nodes)} nodes have such devices"
            if cluster.claims_known:
                most = free_count(cluster, now[value])
                have = f"{most} of {len(self.nodes)} nodes have such devices free ({idle[value]} when idle)"
            detail = f"kube-scheduler always follows selectors, and {have}. They replace {link_words(link)}; another"
            detail += " NUMA node needs its own claim."
            title = f"Place {listed(link.requests)} on NUMA node {value} by selectors"
            yield Suggestion(title, detail, source, selectors, _with_selectors(self.sketch, link, selectors))

    def _numa_nodes_with(self, here: _Here) -> list[int | str]:
        at: dict[int | str, Counter[str]] = defaultdict(Counter)
        for end, found in here.items():
            for _, locality in found:
                if locality.numa_node is not None:
                    at[locality.numa_node.value][end] += 1
        return [value for value, found in at.items() if all(found[end] >= n for end, n in self.counts.items())]

    def _other_level(self) -> Iterator[Suggestion]:
        """Yield the nearest other level that some node can keep.

        Nearer ones first: they are kept where the link's own is not known, as the PCIe root of what shares a switch.
        """
        link, sketch = self.link, self.sketch
        if link.where not in LEVELS:
            return
        own = LEVELS.index(link.where)
        for level in (*reversed(LEVELS[:own]), *LEVELS[own + 1 :]):
            keeping = self._nodes_that_keep(level)
            if keeping:
                changed = self._with_link(replace(link, where=level))
                choice = attribute_for(self.cluster, changed, changed.links[sketch.links.index(link)], self.release)
                reason = "" if choice.name else f" Kubernetes cannot express this: {choice.reason}."
                detail = f"{keeping} of {len(self.nodes)} nodes have such devices when idle.{reason}"
                do = "Relax" if level in LEVELS[own:] else "Move"
                yield Suggestion(f"{do} {link_words(link)} to the {LEVEL_WORDS[level]}", detail, sketch=changed)
                return

    def _with_link(self, changed: Link) -> ClaimSketch:
        links = tuple(changed if link.name == changed.name else link for link in self.sketch.links)
        return replace(self.sketch, links=links)


def _with_counts(sketch: ClaimSketch, counts: Mapping[str, int]) -> ClaimSketch:
    def changed(request: DeviceRequest) -> DeviceRequest:
        if request.exactly is None or request.name not in counts:
            return request
        return replace(request, exactly=replace(request.exactly, count=counts[request.name]))

    return replace(sketch, requests=tuple(changed(request) for request in sketch.requests))


def _by_place(where: str, here: _Here) -> list[Counter[str]]:
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


def _with_selectors(sketch: ClaimSketch, link: Link, selectors: Mapping[str, tuple[str, ...]]) -> ClaimSketch:
    def extended(reference: str, part: RequestPart) -> RequestPart:
        ends = dict.fromkeys((split_request(reference)[0], reference))
        return selected(part, *(text for end in ends for text in selectors.get(end, ())))

    links = tuple(other for other in sketch.links if other.name != link.name)
    return replace(sketch, requests=tuple(request.with_parts(extended) for request in sketch.requests), links=links)
