"""The best plan for a few small gangs by trying everything: every pod on every node in every way, no solver."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import combinations_with_replacement, product

from brute_force import TooLarge
from brute_force_fleets import nodes_of

from dra_lab.model.cluster import Cluster
from dra_lab.model.workload import PodGroup, Workload

DEVICES = ("alternatives", "preferences", "numa", "unpaired", "roots")
STEPS = 150_000


class Placed:
    """One way to place a gang: pods by node and kind, domains it prefers, its domain, pods beyond the least."""

    def __init__(self, pods, levels, domain, beyond, where) -> None:
        self.pods, self.levels, self.domain, self.beyond, self.where = pods, levels, domain, beyond, where


class BruteForceGangs:
    """Gangs and workloads on a cluster, with the best values of all pods that each node can have."""

    def __init__(
        self, cluster: Cluster, gangs: Sequence[Workload], workloads: Sequence[Workload], hierarchies, release
    ) -> None:
        workloads = (*workloads, *(one for one in gangs if not one.is_gang))
        gangs = [one for one in gangs if one.is_gang]
        self.gangs, self.workloads, self.hierarchies = gangs, workloads, hierarchies
        cordoned = {node.name for node in cluster.nodes if node.spec.unschedulable}
        self.names = cluster.node_names
        self.kinds: list = []
        wanted: list[int] = []
        groups = [(one, g) for one in gangs for g in one.pods if g.claims]
        asked = [(g.claims, g.count * one.replicas) for one, g in groups]
        asked += [(one.shared_claims, one.replicas) for one in gangs if one.shared_claims]
        asked += [(g.shared_claims, one.replicas) for one in gangs for g in one.pods if g.shared_claims]
        for claims, replicas in [*asked, *((w.claims, w.replicas) for w in workloads)]:
            if claims not in self.kinds:
                self.kinds.append(claims)
                wanted.append(0)
            wanted[self.kinds.index(claims)] += replicas
        pods = [{claim.name: claim for claim in claims} for claims in self.kinds]
        _, nodes = nodes_of(cluster, pods, wanted, DEVICES, release)
        self.best = []
        for name, node in zip(self.names, nodes, strict=True):
            found: dict = {}
            for (counts, *_), (value, *_) in node.best.items():
                if name not in cordoned or not any(counts):
                    found[counts] = min(found.get(counts, value), value)
            self.best.append(found)
        self.steps = STEPS

    def levels(self, gang: Workload, level: str) -> dict[str, tuple]:
        """Return the domain of each node at a level of the gang's hierarchy."""
        if not level:
            return dict.fromkeys(self.names, ())
        if level == "host":
            return {name: (name,) for name in self.names}
        named = [one for one in self.hierarchies if gang.hierarchy in ("", one.name)]
        able = [one for one in named if any(level == known.name for known in one.levels)]
        return {name: domain.path for domain in able[0].at(level) for name in domain.nodes}

    def spread(self, kind: int, least: int, most: int, allowed: Sequence[int]):
        """Yield every number of pods of a kind on every node."""
        headroom = [
            max((counts[kind] for counts in self.best[at]), default=0) if at in allowed else 0
            for at in range(len(self.names))
        ]
        for counts in product(*(range(min(most, cap) + 1) for cap in headroom)):
            self.steps -= 1
            if self.steps < 0:
                raise TooLarge
            if least <= sum(counts) <= most:
                yield counts

    def of_group(self, gang: Workload, group: PodGroup, allowed: Sequence[int]):
        """Yield the pods of one group on every node, in one domain of its level and in whole slices."""
        where = self.levels(gang, group.level)
        slices = [(size, self.levels(gang, level)) for size, level in group.slices]
        if not group.claims:
            able = [at for at in allowed if all(self.names[at] in one for one in (where, *(s for _, s in slices)))]
            for at in able:
                pods = None, tuple(group.count * (at == other) for other in range(len(self.names)))
                yield from self.with_shared(group, pods, [at])
            return
        kind = self.kinds.index(group.claims)
        for counts in self.spread(kind, group.least, group.count, allowed):
            used = [self.names[at] for at, count in enumerate(counts) if count]
            if group.level and (not all(n in where for n in used) or len({where[n] for n in used}) > 1):
                continue
            if group.level and not used and not any(self.names[at] in where for at in allowed):
                continue
            if all(self.whole_slices(counts, size, inside) for size, inside in slices):
                able = [at for at in allowed if all(self.names[at] in one for one in (where, *(s for _, s in slices)))]
                yield from self.with_shared(group, (kind, counts), able)

    def with_shared(self, group: PodGroup, pods, able: Sequence[int]):
        """Yield the pods of a group with every node that the claims may have that it shares, all on this node."""
        if not group.shared_claims:
            yield (pods,)
            return
        used = {at for at, count in enumerate(pods[1]) if count}
        for at in able:
            if used <= {at}:
                row = tuple(int(at == other) for other in range(len(self.names)))
                yield pods, (self.kinds.index(group.shared_claims), row)

    def whole_slices(self, counts, size, inside) -> bool:
        sums: dict = {}
        for name, count in zip(self.names, counts, strict=True):
            if count and name not in inside:
                return False
            if count:
                sums[inside[name]] = sums.get(inside[name], 0) + count
        return all(count % size == 0 for count in sums.values())

    def ways(self, gang: Workload) -> list[Placed]:
        """Return every way to place one gang."""
        where = self.levels(gang, gang.level)
        found = {}
        for domain in dict.fromkeys(where.values()):
            inside = [at for at, name in enumerate(self.names) if where.get(name) == domain]
            hosts = [[at] for at in inside] if gang.shared_claims else [inside]
            for allowed in hosts:
                rows = [list(self.of_group(gang, group, allowed)) for group in gang.pods]
                if gang.shared_claims:
                    kind = self.kinds.index(gang.shared_claims)
                    rows.append([((kind, counts),) for counts in self.spread(kind, 1, 1, allowed)])
                for chosen in product(*rows):
                    self.steps -= 1
                    if self.steps < 0:
                        raise TooLarge
                    placed = self.placed(gang, chosen, domain, allowed)
                    if placed is not None:
                        key = (placed.pods, placed.domain, placed.levels, placed.beyond)
                        found[key] = placed
        return list(found.values())

    def headroom(self, gang: Workload) -> dict[tuple, tuple[int, int]]:
        """Return for each domain the most pods of one gang, and the most gangs at once."""
        groups = [dataclasses.replace(group, minimum=0) for group in gang.pods]
        loose = self.ways(dataclasses.replace(gang, pods=groups))
        strict = self.ways(gang)
        found: dict = {}
        for way in loose:
            found[way.where] = max(found.get(way.where, 0), way.beyond)
        return {
            where: (
                pods,
                self.most([w for w in strict if w.where == where], [(0,) * len(self.kinds)] * len(self.names)),
            )
            for where, pods in found.items()
        }

    def most(self, ways: Sequence[Placed], pods, first: int = 0) -> int:
        """Return how many of some ways fit at once beside pods."""
        best = 0
        for at in range(first, len(ways)):
            self.steps -= 1
            if self.steps < 0:
                raise TooLarge
            both = self.sum_of([pods, ways[at].pods])
            if all(counts in self.best[n] for n, counts in enumerate(both)):
                best = max(best, 1 + self.most(ways, both, at))
        return best

    def placed(self, gang: Workload, chosen, domain, allowed) -> Placed | None:
        pods = [[0] * len(self.kinds) for _ in self.names]
        # Pods that have only claims they share are of no kind: they take nothing beside those.
        for kind, counts in (one for row in chosen for one in row if one[0] is not None):
            for at, count in enumerate(counts):
                pods[at][kind] += count
        if any(tuple(row) not in self.best[at] for at, row in enumerate(pods)):
            return None
        mine = [row[0] for row in chosen[: len(gang.pods)]]
        levels = self.count(gang, gang.prefer_level, mine)
        for group, one in zip(gang.pods, mine, strict=True):
            levels += self.count(gang, group.prefer_level, [one])
        beyond = sum(sum(counts) for _, counts in mine) - gang.least
        host = gang.shared_claims or gang.level == "host"
        where = ("host", (self.names[allowed[0]],) if gang.shared_claims else domain) if host else (gang.level, domain)
        inside = (self.names[allowed[0]],) if gang.shared_claims else domain
        counted = gang.level or gang.shared_claims
        return Placed(tuple(map(tuple, pods)), levels, where if counted else None, beyond, inside)

    def count(self, gang: Workload, level: str, rows) -> int:
        """Return how many domains of a preferred level have pods; all nodes that are in none count as one."""
        if not level:
            return 0
        where = self.levels(gang, level)
        return len({where.get(name) for _, counts in rows for name, n in zip(self.names, counts, strict=True) if n})

    def values(self):
        """Return the least values of all goals, and whether anything is placed."""
        ways = {gang.name: self.ways(gang) for gang in self.gangs}
        choices = []
        for gang in self.gangs:
            each = [None, *ways[gang.name]]
            choices.append(list(combinations_with_replacement(each, gang.replicas)))
        ordinary = [
            list(self.spread(self.kinds.index(w.claims), 0, w.replicas, range(len(self.names)))) for w in self.workloads
        ]
        best = None
        size = 1
        for each in (*choices, *ordinary):
            size *= len(each)
        if size > STEPS:
            raise TooLarge
        for chosen in product(*choices):
            flat = [(gang, way) for gang, row in zip(self.gangs, chosen, strict=True) for way in row]
            pods = self.sum_of([way.pods for _, way in flat if way is not None])
            if any(counts not in self.best[at] for at, counts in enumerate(pods)):
                continue
            for rows in product(*ordinary):
                more = [self.as_pods(w, row) for w, row in zip(self.workloads, rows, strict=True)]
                whole = self.sum_of([pods, *more])
                if all(counts in self.best[at] for at, counts in enumerate(whole)):
                    value = self.value(flat, rows, whole)
                    best = value if best is None else min(best, value)
        return best

    def as_pods(self, workload: Workload, row):
        kind = self.kinds.index(workload.claims)
        return tuple(tuple(count if at == kind else 0 for at in range(len(self.kinds))) for count in row)

    def sum_of(self, many):
        zero = [[0] * len(self.kinds) for _ in self.names]
        for pods in many:
            for at, row in enumerate(pods):
                for kind, count in enumerate(row):
                    zero[at][kind] += count
        return [tuple(row) for row in zero]

    def value(self, flat, rows, pods):
        values = []
        levels = {gang.priority for gang, _ in flat} | ({0} if self.workloads else set())
        for priority in sorted(levels, reverse=True):
            mine = [(gang, way) for gang, way in flat if gang.priority == priority]
            if any(gang.priority == priority for gang in self.gangs):
                values.append(sum(way is None for _, way in mine))
                most = sum(gang.size - gang.least for gang, _ in mine)
                values.append(most - sum(way.beyond for _, way in mine if way is not None))
            if self.workloads and priority == 0:
                values.append(sum(w.replicas for w in self.workloads) - sum(map(sum, rows)))
        device = [0] * len(DEVICES)
        for at, counts in enumerate(pods):
            device = [a + b for a, b in zip(device, self.best[at][counts], strict=True)]
        placed = [way for _, way in flat if way is not None]
        domains = len({way.domain for way in placed if way.domain is not None})
        used = sum(any(counts) for counts in pods)
        return (*values, *device[:2], sum(way.levels for way in placed), *device[2:], domains, used)
