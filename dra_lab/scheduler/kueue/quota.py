"""Kueue's quota: how much of a resource a ClusterQueue may still use, with what its Cohorts lend.

Source: kubernetes-sigs/kueue v0.19.2, pkg/cache/scheduler/resource_node.go (`available`, `potentialAvailable`,
`updateCohortResourceNode`, `accumulateFromChild`) and pkg/scheduler/flavorassigner/flavorassigner.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import InputError

FlavorResource = tuple[str, str]
"""The name of a ResourceFlavor and of a resource."""


class Quota(Struct, frozen=True):
    """The quota of one resource in one flavor, in whole units (thousandths of CPUs).

    No `borrowing_limit`: no limit; no `lending_limit`: everything may be lent.
    """

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class QuotaNode(Struct, frozen=True):
    """A ClusterQueue or a Cohort with its own quota, the flavors of a queue in the order in which Kueue tries them.

    `parent` is the Cohort above it, "" without. `usage` is what the workloads of a queue use; None for a Cohort.
    """

    name: str
    quotas: Mapping[FlavorResource, Quota] = {}
    parent: str = ""
    usage: Mapping[FlavorResource, int] | None = None


class QuotaVerdict(StrEnum):
    """Whether a request fits in a quota: now, after other workloads end, or never."""

    FITS = "fits"
    WAITS = "waits"
    NEVER = "never"


_ORDER = list(QuotaVerdict)


class QuotaAnswer(Struct, frozen=True):
    """What the quota of a ClusterQueue says of a request: the flavor that Kueue assigns to each resource.

    `short` is the flavor of each resource of which there is too little; "" if the queue does not count it.
    """

    verdict: QuotaVerdict
    flavors: Mapping[str, str] = {}
    short: Mapping[str, str] = {}


class QuotaTree:
    """ClusterQueues and Cohorts with what is left of their quota."""

    def __init__(self, nodes: Iterable[QuotaNode]) -> None:
        """Take the queues and the Cohorts; a Cohort that is only named has no quota of its own."""
        every = tuple(nodes)
        self.queues = {node.name: node for node in every if node.usage is not None}
        self.cohorts = {node.name: node for node in every if node.usage is None}
        for node in every:
            if node.parent:
                self.cohorts.setdefault(node.parent, QuotaNode(node.parent))
        for name in self.cohorts:
            seen = [name]
            while (parent := self.cohorts[seen[-1]].parent) and parent not in seen:
                seen.append(parent)
            if parent:
                cycle = " -> ".join([*seen, parent])
                raise InputError(f"the Cohorts {cycle} form a cycle; Kueue admits nothing in them")

    def available(self, queue: str, what: FlavorResource) -> int:
        """Return how much of a flavor and resource a ClusterQueue may still use now, at least 0."""
        return max(0, self._available(self.queues[queue], what))

    def potential(self, queue: str, what: FlavorResource) -> int:
        """Return how much a ClusterQueue may use if nothing else is in use, at least 0."""
        return self._potential(self.queues[queue], what)

    def with_usage(self, queue: str, usage: Mapping[FlavorResource, int]) -> QuotaTree:
        """Return the tree after a ClusterQueue uses this much more."""
        node = self.queues[queue]
        used = node.usage or {}
        both = {what: used.get(what, 0) + usage.get(what, 0) for what in {**used, **usage}}
        queues = {**self.queues, queue: replace(node, usage=both)}
        return QuotaTree((*queues.values(), *self.cohorts.values()))

    def idle(self) -> QuotaTree:
        """Return the tree without any usage."""
        return QuotaTree((*(replace(node, usage={}) for node in self.queues.values()), *self.cohorts.values()))

    def answer(
        self,
        queue: str,
        groups: Sequence[Sequence[str]],
        wanted: Mapping[str, int],
        usable: Collection[str] | None = None,
    ) -> QuotaAnswer:
        """Return whether a request fits in the quota of a ClusterQueue, and what is short in the flavor that has most.

        All resources of a group come from one flavor, the first that has enough of each. `groups` are the resources of
        each resource group (`coveredResources`), `wanted` what all pods of a pod set request together, and `usable` the
        flavors that the pod set may use; None: all.
        """
        covered = {resource for group in groups for resource in group}
        short = dict.fromkeys((name for name in sorted(set(wanted) - covered) if wanted[name]), "")
        flavors: dict[str, str] = {}
        verdicts = [QuotaVerdict.NEVER if short else QuotaVerdict.FITS]
        for group in groups:
            counts = {resource: wanted[resource] for resource in group if wanted.get(resource)}
            if not counts:
                continue
            names = dict.fromkeys(flavor for flavor, resource in self.queues[queue].quotas if resource in group)
            tried = [self._tried(queue, name, counts) for name in names if usable is None or name in usable]
            best = min(tried, key=lambda one: _ORDER.index(one.verdict), default=QuotaAnswer(QuotaVerdict.NEVER))
            verdicts.append(best.verdict)
            flavors |= best.flavors
            short |= best.short
        return QuotaAnswer(max(verdicts, key=_ORDER.index), flavors, short)

    def _tried(self, queue: str, flavor: str, counts: Mapping[str, int]) -> QuotaAnswer:
        """Return the answer of one flavor for the resources of a group."""
        short = [name for name, count in counts.items() if count > self.available(queue, (flavor, name))]
        if not short:
            return QuotaAnswer(QuotaVerdict.FITS, dict.fromkeys(counts, flavor))
        never = any(counts[name] > self.potential(queue, (flavor, name)) for name in short)
        verdict = QuotaVerdict.NEVER if never else QuotaVerdict.WAITS
        return QuotaAnswer(verdict, short=dict.fromkeys(short, flavor))

    @cached_property
    def _children(self) -> Mapping[str, Sequence[QuotaNode]]:
        found: dict[str, list[QuotaNode]] = {name: [] for name in self.cohorts}
        for node in (*self.queues.values(), *self.cohorts.values()):
            if node.parent:
                found[node.parent].append(node)
        return found

    def _subtree(self, node: QuotaNode, what: FlavorResource) -> int:
        own = node.quotas[what].nominal if what in node.quotas else 0
        below = self._children[node.name] if node.usage is None else ()
        return own + sum(self._subtree(child, what) - self._local(child, what) for child in below)

    def _used(self, node: QuotaNode, what: FlavorResource) -> int:
        if node.usage is not None:
            return node.usage.get(what, 0)
        return sum(max(0, self._used(child, what) - self._local(child, what)) for child in self._children[node.name])

    def _local(self, node: QuotaNode, what: FlavorResource) -> int:
        """Return the quota that is never lent to the Cohort above."""
        limit = node.quotas[what].lending_limit if what in node.quotas else None
        return 0 if limit is None else max(0, self._subtree(node, what) - limit)

    def _available(self, node: QuotaNode, what: FlavorResource) -> int:
        quota, used = self._subtree(node, what), self._used(node, what)
        if not node.parent:
            return quota - used
        local = self._local(node, what)
        above = self._available(self.cohorts[node.parent], what)
        limit = node.quotas[what].borrowing_limit if what in node.quotas else None
        if limit is not None:
            above = min(above, quota - local - max(0, used - local) + limit)
        return max(0, local - used) + above

    def _potential(self, node: QuotaNode, what: FlavorResource) -> int:
        quota = self._subtree(node, what)
        if not node.parent:
            return quota
        most = self._local(node, what) + self._potential(self.cohorts[node.parent], what)
        limit = node.quotas[what].borrowing_limit if what in node.quotas else None
        return most if limit is None else min(most, quota + limit)
