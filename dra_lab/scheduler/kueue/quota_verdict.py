"""Whether the quota of a queue admits a gang: now, after other workloads end, or never.

Source: kubernetes-sigs/kueue v0.19.2, pkg/scheduler/flavorassigner (`flavorassigner.go`, `tas_flavorassigner.go`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import QUOTA, QuotaAmount, QuotaAnswers, Says, VerdictRow
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.nodes import LabelSelector, NodeSelectorRequirement
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import ALTERNATIVES, ClusterQueue, kueue_title
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.topologies import KUEUE, ResourceFlavor, Topology
from dra_lab.model.workload import HOSTS, PodGroup, Workload
from dra_lab.scheduler.kueue.assignment import HOSTNAME
from dra_lab.scheduler.kueue.counted import (
    READ_CONFIGURATION,
    CountedResources,
    CountedSet,
    counted,
    gang_requests,
    refused_claims,
)
from dra_lab.scheduler.kueue.queue_tree import READ_QUEUES, FoundQueue, find_queue, read_quota
from dra_lab.scheduler.kueue.quota import FlavorResource, QuotaTree, QuotaVerdict

MOST_ADMITTED = 1_000
"""The number of gangs at which counting ends."""

_NAMESPACE = "kubernetes.io/metadata.name"


def quota_verdict(
    cluster: Cluster,
    gang: Workload,
    queue: str = "",
    *,
    release: KubernetesRelease,
    hierarchies: Sequence[Hierarchy] = (),
    requests: Mapping[str, Mapping[str, QuantityText]] | None = None,
) -> QuotaAnswers:
    """Return what the quota of a queue says of a gang, with the amounts of each resource; all pods of the gang count.

    `queue` is a LocalQueue (`NAME` or `NAMESPACE/NAME`) or ClusterQueue; "": the only one. `hierarchies` have the
    levels above the nodes. `requests` are those of a pod of each group by the name of the workload. Raises InputError
    if there is no such queue, or several.
    """
    found = find_queue(cluster, queue)
    if found.cluster_queue is None:
        text = f"{found.unknown} Whether a quota stops the gang is not known."
        return QuotaAnswers(VerdictRow(QUOTA, Says.UNKNOWN, text, (f"To read the queues: {READ_QUEUES}",)), found.name)
    return _QuotaQuestion(cluster, gang, found, found.cluster_queue, release, hierarchies, requests or {}).answer()


class _Run(Struct, frozen=True):
    """The pod sets of one gang, assigned one after the other; `wanted` is what they need in these flavors."""

    verdict: QuotaVerdict
    wanted: Mapping[FlavorResource, int]
    flavors: Mapping[str, tuple[str, ...]]


class _QuotaQuestion:
    def __init__(
        self,
        cluster: Cluster,
        gang: Workload,
        found: FoundQueue,
        queue: ClusterQueue,
        release: KubernetesRelease,
        hierarchies: Sequence[Hierarchy],
        requests: Mapping[str, Mapping[str, QuantityText]],
    ) -> None:
        self.cluster, self.gang, self.found, self.queue = cluster, gang, found, queue
        self.release, self.hierarchies = release, hierarchies
        self.groups = [group.covered_resources for group in queue.spec.resource_groups]
        covered = frozenset(name for group in self.groups for name in group)
        self.counted: CountedResources = counted(cluster, gang, covered, release, requests)
        self.flavors = [one.name for group in queue.spec.resource_groups for one in group.flavors]
        self.known = {one.name: one for one in cluster.topologies if isinstance(one, ResourceFlavor)}
        topologies = (one for one in cluster.topologies if isinstance(one, Topology) and one.group == KUEUE)
        self.levels = {one.name: one.labels for one in topologies}
        self.notes = list(self.counted.notes)
        self.read = read_quota(cluster, queue)

    def answer(self) -> QuotaAnswers:
        """Return the answer: what Kueue refuses, what is not known, then the amounts."""
        if refusals := tuple(self._refusals()):
            return self._row(Says.INADMISSIBLE, refusals[0], refusals[1:])
        if unknown := (*self.counted.unknown, *filter(None, (self.read.unknown,))):
            read = (f"To read it: {READ_CONFIGURATION}",) if self.counted.unknown else ()
            text = f"{unknown[0]} Whether the quota is enough is not known."
            return self._row(Says.UNKNOWN, text, (*unknown[1:], *read))
        self.notes += [*self.read.notes, *self._later()]
        if blocked := self._no_flavor():
            return self._row(Says.NEVER, blocked)
        now = self._run(self.read.tree)
        idle = self._run(self.read.tree.idle())
        gangs = self._gangs(now)
        says, text = self._words(now, idle, gangs)
        if says is not Says.NEVER and (held := self._held_back()):
            says, text = Says.WAITS, f"{held} Kueue admits nothing from it until that changes."
            gangs = 0
        row = self._row(says, text)
        chosen = now.flavors if now.verdict is QuotaVerdict.FITS else None
        amounts = self._summed(idle if says is Says.NEVER else now)
        return replace(row, amounts=amounts, gangs=gangs, flavors=chosen)

    def _row(self, says: Says, text: str, more: Sequence[str] = ()) -> QuotaAnswers:
        lists = any(request.first_available for _, request in gang_requests(self.gang))
        assumed = f"{kueue_title(self.cluster.queues, *((ALTERNATIVES,) if lists else ()))} is assumed."
        row = VerdictRow(QUOTA, says, text, tuple(dict.fromkeys((*more, *self.notes, assumed))))
        return QuotaAnswers(row, self.found.name, self.queue.name)

    def _refusals(self) -> Iterator[str]:
        """Yield why Kueue refuses the gang or the queue as they are written."""
        for finding in refused_claims(self.cluster, self.gang, gang_requests(self.gang), self.release):
            yield f"{finding.message} ({finding.subject})."
        for name in self.counted.unmapped:
            yield f"Kueue refuses the gang: its Configuration maps no resource to the DeviceClass {name}."
        if self.read.refused:
            yield self.read.refused
        stopped = self.queue.spec.stop_policy != "None"
        for one in self.queue.status.conditions:
            if one.type == "Active" and one.status == "False" and not stopped:
                yield f"The ClusterQueue {self.queue.name} is not active ({one.reason or 'no reason is given'})."
        selector, local = self.queue.spec.namespace_selector, self.found.local_queue
        if selector is None:
            yield f"The ClusterQueue {self.queue.name} has no namespaceSelector, so no namespace may use it."
        elif local is not None and _selects(selector, local.metadata.namespace) is False:
            yield f"The ClusterQueue {self.queue.name} does not select the namespace {local.metadata.namespace}."

    def _held_back(self) -> str:
        """Return which queue is stopped; "" if none is."""
        local = self.found.local_queue
        if self.queue.spec.stop_policy != "None":
            return f"The ClusterQueue {self.queue.name} is stopped (stopPolicy {self.queue.spec.stop_policy})."
        if local is not None and local.spec.stop_policy != "None":
            return f"The LocalQueue {self.found.name} is stopped (stopPolicy {local.spec.stop_policy})."
        return ""

    def _later(self) -> Iterator[str]:
        """Yield what else decides and is not computed here."""
        spec, local = self.queue.spec, self.found.local_queue
        if waiting := self.queue.status.pending_workloads:
            yield f"{waiting:,} workloads wait in the ClusterQueue already; Kueue may admit them first."
        if checks := self.queue.checks:
            yield f"After quota, AdmissionChecks decide: {', '.join(checks)}."
        if spec.preemption.within_cluster_queue != "Never" or spec.preemption.reclaim_within_cohort != "Never":
            yield "Kueue may evict other workloads for this gang; that is not computed."
        selector = spec.namespace_selector
        if local is not None and selector is not None and _selects(selector, local.metadata.namespace) is None:
            yield f"Labels of the namespace {local.metadata.namespace} are not known; the queue selects by them."
        for name in self.flavors:
            flavor = self.known.get(name)
            if flavor is None:
                yield f"The ResourceFlavor {name} is not in this snapshot."
            elif any(one.get("effect") in ("NoSchedule", "NoExecute") for one in flavor.spec.node_taints):
                yield f"The pods must tolerate the taints of the ResourceFlavor {name}."
        if self.gang.least < self.gang.size:
            yield f"All {self.gang.size} pods were counted; the gang starts with {self.gang.least}."

    def _usable(self, pods: CountedSet) -> frozenset[str]:
        """Return the flavors that a pod set may use: with a level, only those whose Topology has it."""
        keys = {key for group in pods.groups for key in _keys(self.gang, group, self.hierarchies)}
        topology = {name: flavor.spec.topology_name for name, flavor in self.known.items()}
        only = all(topology.get(name) for name in self.flavors)
        usable = []
        for name in self.flavors:
            above = topology.get(name)
            if above is None:  # not in the snapshot
                usable.append(name)
            elif keys:
                levels = self.levels.get(above)
                usable += [name] if above and (levels is None or keys <= {*levels, HOSTNAME}) else []
            elif not above or only:
                usable.append(name)
        return frozenset(usable)

    def _no_flavor(self) -> str:
        """Return why no flavor of the queue may be used; "" if one may."""
        for pods in self.counted.sets:
            usable = self._usable(pods)
            for group in self.queue.spec.resource_groups:
                names = [one.name for one in group.flavors]
                if any(map(pods.wanted.get, group.covered_resources)) and not usable.intersection(names):
                    listed = ", ".join(names) or "none"
                    if not any(_keys(self.gang, one, self.hierarchies) for one in pods.groups):
                        return f"The flavors {listed} are only for gangs that name a level of their Topology."
                    return f"No flavor of the queue has a Topology with the level of the gang; it has: {listed}."
        return ""

    def _run(self, tree: QuotaTree) -> _Run:
        verdict, wanted = QuotaVerdict.FITS, Counter[FlavorResource]()
        flavors: dict[str, tuple[str, ...]] = {}
        for pods in self.counted.sets:
            answer = tree.answer(self.queue.name, self.groups, pods.wanted, self._usable(pods))
            verdict = max(verdict, answer.verdict, key=list(QuotaVerdict).index)
            chosen = {**answer.flavors, **answer.short}
            mine: Counter[FlavorResource] = Counter()
            for resource, amount in pods.wanted.items():
                # all resources of a group share a flavor; "" if the queue counts none of them
                group = next((group for group in self.groups if resource in group), ())
                if amount:
                    mine[next((chosen[one] for one in group if one in chosen), ""), resource] += amount
            wanted.update(mine)
            tree = tree.with_usage(self.queue.name, mine)
            flavors |= {group.name: tuple(dict.fromkeys(answer.flavors.values())) for group in pods.groups}
        return _Run(verdict, wanted, flavors)

    def _gangs(self, run: _Run) -> int:
        """Return how many of the gangs that are wanted are admitted one after the other."""
        count, tree = 0, self.read.tree
        while run.verdict is QuotaVerdict.FITS and count < min(self.gang.replicas, MOST_ADMITTED):
            count += 1
            tree = tree.with_usage(self.queue.name, run.wanted)
            run = self._run(tree)
        return count

    def _words(self, now: _Run, idle: _Run, gangs: int) -> tuple[Says, str]:
        name = self.queue.name
        rows = self._summed(idle if idle.verdict is not QuotaVerdict.FITS else now)
        if not rows:
            return Says.YES, f"The gang needs nothing that the ClusterQueue {name} counts."
        if idle.verdict is not QuotaVerdict.FITS:
            row = max(rows, key=lambda one: one.wanted - one.most)
            if not row.flavor:
                text = f"The ClusterQueue {name} has no quota of {row.resource}"
                return Says.NEVER, f"{text}; the gang needs {amount_words(row.resource, row.wanted)}."
            text = f"{name} may use at most {_named(row, row.most)}"
            text += ", with all that its Cohorts lend" if self.queue.parent else ""
            return Says.NEVER, f"{text}; the gang needs {amount_words(row.resource, row.wanted)}."
        row = max(rows, key=lambda one: one.wanted - one.available)
        if now.verdict is not QuotaVerdict.FITS:
            text = f"{name} may use {_named(row, row.available, 'more ')} now; the gang needs"
            most = amount_words(row.resource, row.most)
            return Says.WAITS, (
                f"{text} {amount_words(row.resource, row.wanted)}. With nothing else in use it may use {most}."
            )
        text = f"{name} may use {_named(row, row.available, 'more ')}; the gang needs"
        text = f"{text} {amount_words(row.resource, row.wanted)}."
        if gangs < self.gang.replicas:
            return Says.WAITS, f"The quota admits {gangs:,} of {self.gang.replicas:,} gangs now. {text}"
        return Says.YES, text

    def _summed(self, run: _Run) -> tuple[QuotaAmount, ...]:
        """Return a row for each resource and flavor: what the whole gang needs, and what there is before it."""
        tree, queue = self.read.tree, self.queue.name
        node, found = tree.queues[queue], []
        for what, amount in run.wanted.items():
            flavor, resource = what
            nominal = node.quotas[what].nominal if what in node.quotas else 0
            left, most = (tree.available(queue, what), tree.potential(queue, what)) if flavor else (0, 0)
            classes = tuple(self.counted.classes.get(resource, ()))
            found.append(
                QuotaAmount(resource, flavor, amount, left, most, nominal, (node.usage or {}).get(what, 0), classes)
            )
        return tuple(found)


def amount_words(resource: str, amount: int) -> str:
    """Return an amount of a resource for people: CPUs, bytes with a unit, or a number."""
    if resource == "cpu":
        return f"{amount / 1000:,g} CPUs"
    if resource in ("memory", "ephemeral-storage"):
        for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
            if amount >= 1024**power:
                return f"{amount / 1024**power:,.4g} {unit}"
    return f"{amount:,}"


def _named(row: QuotaAmount, amount: int, more: str = "") -> str:
    own = [one for one in row.classes if one != row.resource]
    of = f"class {', '.join(own)}, " if own else ""
    number, _, unit = amount_words(row.resource, amount).partition(" ")
    name = unit if row.resource == "cpu" else f"{unit} {row.resource}".lstrip()
    return f"{number} {more}{name} ({of}flavor {row.flavor})"


def _keys(gang: Workload, group: PodGroup, hierarchies: Sequence[Hierarchy]) -> frozenset[str]:
    """Return the labels of the levels that a group names for Kueue."""
    levels = [group.level or gang.level or group.prefer_level or gang.prefer_level]
    levels += [level for _, level in group.slices]
    return frozenset(filter(None, (level_key(level, gang.hierarchy, hierarchies) for level in levels)))


def level_key(level: str, name: str, hierarchies: Sequence[Hierarchy]) -> str:
    """Return the node label of a level; "" if the level has none or is unknown."""
    if level in HOSTS:
        return HOSTNAME
    for hierarchy in hierarchies:
        for one in hierarchy.levels:
            if level and (not name or hierarchy.name == name) and level.casefold() in (one.name.casefold(), one.key):
                return one.key
    return ""


def _selects(selector: LabelSelector, namespace: str) -> bool | None:
    """Say whether a selector selects a namespace of which only the name is known; None if it reads other labels."""
    rules = (
        *(NodeSelectorRequirement(key=k, operator="In", values=(v,)) for k, v in selector.match_labels.items()),
        *selector.match_expressions,
    )
    own = tuple(rule for rule in rules if rule.key == _NAMESPACE)
    if own and namespace and not LabelSelector(match_expressions=own).matches({_NAMESPACE: namespace}):
        return False
    return True if len(own) == len(rules) and (namespace or not rules) else None


_ADVICE = {
    Says.WAITS: (Severity.WARNING, "Wait, free quota of the queue, or use another queue: --queue NAME."),
    Says.NEVER: (Severity.ERROR, "Raise the quota of the queue, or plan a smaller gang."),
    Says.INADMISSIBLE: (Severity.ERROR, "Correct the gang, the queue or Kueue's Configuration."),
    Says.UNKNOWN: (Severity.NOTE, "Add what is missing to the snapshot."),
}


def quota_findings(
    cluster: Cluster,
    gang: Workload,
    queue: str,
    *,
    release: KubernetesRelease,
    hierarchies: Sequence[Hierarchy] = (),
    requests: Mapping[str, Mapping[str, QuantityText]] | None = None,
) -> Iterator[Finding]:
    """Yield what the quota of the queue that a gang names says, if it stops the gang or is not known: at most once.

    There is none for the queue "", with which Kueue does not manage the gang, and none in a cluster without queues of
    Kueue, whose queue may be one of KAI or Volcano. The arguments are those of `quota_verdict`.
    """
    if not queue or not any(isinstance(one, ClusterQueue) for one in cluster.queues):
        return
    try:
        found = quota_verdict(cluster, gang, queue, release=release, hierarchies=hierarchies, requests=requests)
    except InputError as error:
        advice = "Correct the name, if Kueue is to start the gang."
        yield Finding("gang-queue-unknown", Severity.WARNING, gang.name, error.message, advice)
        return
    if found.row.says in _ADVICE:
        severity, advice = _ADVICE[found.row.says]
        yield Finding("gang-quota", severity, gang.name, found.row.sentence.removesuffix("."), advice)
