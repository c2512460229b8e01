"""What a command plans: each `--claim` with the options after it, as replicas of a pod or as gangs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace as changed

from dra_lab.cli.claim_options import ClaimOptions, asks_for_gangs, is_gang, only_workloads, what_to_try
from dra_lab.cli.options import cluster_of, plan_files, refuse_node, refuse_pod, release_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Origin
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import PodGroup, Workload, asked_name, workload_of

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import WrittenWorkload
    from dra_lab.model.plan import Plan
    from dra_lab.model.sketch import ClaimSketch, PodDrawing
    from dra_lab.pinning.gang_fills import Requests
    from dra_lab.planner.pod_claims import Planned

MOST_GANGS = 10_000
_WORKER = "worker"


class GangInput(Struct, frozen=True):
    """A gang of a command with the hierarchy of its levels (None: it names none), its queue and its file.

    `of_pods` says that the file has the pods of the gang, with their containers.
    """

    gang: Workload
    hierarchy: Hierarchy | None
    queue: str
    source: str
    requests: Requests
    of_pods: bool = False


class Asked(Struct, frozen=True):
    """What a command asks for, the cluster to plan it on, and findings: gangs and other workloads, or one pod.

    `written` are the workloads whose claims are manifests, not drawings. `pod` is the only pod that is asked for, with
    the claims that it holds and the nodes that it may use, and `drawing` a claim or drawing alone.
    """

    cluster: Cluster
    gangs: tuple[GangInput, ...] = ()
    workloads: tuple[Workload, ...] = ()
    findings: tuple[Finding, ...] = ()
    written: frozenset[str] = frozenset()
    pod: WrittenWorkload | None = None
    drawing: ClaimSketch | None = None

    @property
    def alone(self) -> Planned | None:
        """Return what is planned as one pod, None for workloads."""
        return self.drawing if self.pod is None else self.pod.planned

    @property
    def every(self) -> tuple[Workload, ...]:
        """Return all workloads, the gangs first."""
        return (*(one.gang for one in self.gangs), *self.workloads)

    def planned(self, plan: Plan) -> Asked:
        """Return the same with the gangs as they are planned: with selectors, and apart if they use other values."""
        if not any(one.gang.same for one in self.gangs):
            return self
        names = {one.name for one in self.every}
        gangs = (
            changed(one, gang=gang)
            for one in self.gangs
            for gang in plan.gangs
            if asked_name(gang.name, names) == one.gang.name
        )
        return changed(self, gangs=tuple(gangs))


def asked_of(options: argparse.Namespace, *, alone: bool = True) -> Asked:
    """Return what a command asks for: one pod, claim or drawing if that is all, else gangs and other workloads.

    Each level is found in a hierarchy of the cluster, and a name that comes again gets a number. Without `alone`, one
    pod is a workload too. Raises InputError without a --claim, for levels that the cluster lacks, for pods that are
    admitted to different nodes, and for what replicas cannot have: claims that are allocated already or that all share.
    """
    from dra_lab.topology.hierarchies import gang_with_levels

    if "claims" not in options:
        raise InputError(f"--claim is missing; {what_to_try(options.cluster)}")
    first = options.claims[0]
    several = is_gang(options) or len(options.claims) > 1 or first.replicas is not None
    if alone and not several and not only_workloads(plan_files(options).get(first.claim)):
        return asked_pod(options)
    reading = _Reading(options)
    for one in options.claims:
        if asks_for_gangs(options, one):
            reading.add_gangs(one)
        else:
            reading.add_pods(one)
    if sum(each.gang.replicas for each in reading.gangs) > MOST_GANGS:
        raise InputError(f"at most {MOST_GANGS:,} gangs are planned at a time; give --replicas N after --claim")
    on = reading.joined()
    gangs = []
    for each in reading.gangs:
        gang, hierarchy = gang_with_levels(each.gang, on, each.source)
        gangs.append(changed(each, gang=gang, hierarchy=hierarchy))
    return Asked(on, tuple(gangs), tuple(reading.workloads), tuple(reading.findings), frozenset(reading.written))


def asked_pod(options: argparse.Namespace) -> Asked:
    """Return the pod, claim or drawing in a command's --claim; without one, the pod of the cluster that --pod names.

    Raises what `cluster_of` and `gitops.claims_of_file.read_pod` raise.
    """
    from dra_lab.gitops.claims_of_file import read_cluster_pod

    claim, read, release = options.claim, cluster_of(options), release_of(options)
    name = (options.claims[0].pod if "claims" in options else "") or getattr(options, "pod", "")
    found = _read_claim(claim, name, read, release) if claim else read_cluster_pod(read, name, release)
    if not isinstance(found, tuple):
        return Asked(found.cluster, findings=found.findings, pod=found)
    drawing, on = found
    written = frozenset[str]() if claim in plan_files(options) else frozenset((drawing.name,))
    return Asked(on, drawing=drawing, written=written)


def _read_claim(
    claim: str, name: str, cluster: Cluster, release: KubernetesRelease
) -> WrittenWorkload | tuple[ClaimSketch, Cluster]:
    """Return the pod of a file, or a claim or drawing alone with the cluster and the classes of the file."""
    from dra_lab.gitops.claims_of_file import read_pod
    from dra_lab.gitops.folder import with_own_classes
    from dra_lab.session import read_sketch

    pod = read_pod(claim, cluster, release, pod=name) if may_be_pod(claim) else None
    if pod is not None:
        return pod
    refuse_pod(claim, name)
    return read_sketch(claim), with_own_classes(claim, cluster)


def may_be_pod(claim: str) -> bool:
    """Say whether a --claim may be a file with a pod."""
    return not claim.startswith("sample:") and not claim.endswith(".dralab.yaml")


class _Reading:
    """The claims of a command that are read so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.release = options, release_of(options)
        self.read = cluster_of(options)
        self.gangs: list[GangInput] = []
        self.workloads: list[Workload] = []
        self.findings: list[Finding] = []
        self.written: set[str] = set()
        self._cluster = self.read
        """The cluster with the classes of the pods."""
        self._of_gangs: list[Cluster] = []
        self._places: set[frozenset[str] | None] = set()
        self._named: set[tuple[str, str]] = set()
        self._pinned = False

    def joined(self) -> Cluster:
        """Return the cluster to plan on: with the classes of all files, and the nodes that all pods admit."""
        from dra_lab.planner.node_tests import only_nodes

        if len(self._places) > 1:
            raise InputError(
                "the node selectors of these workloads admit different nodes; plan the workloads one by one"
            )
        every = list(self._of_gangs)
        for admitted in self._places:
            on = self._cluster
            every.insert(0, on if admitted is None else only_nodes(on, sorted(admitted), tolerant=not self._pinned))
        found = every[0]
        for each in every[1:]:
            found = _joined(found, each)
        return found

    def _free(self, base: str) -> str:
        taken = {*(one.gang.name for one in self.gangs), *(one.name for one in self.workloads)}
        return next(name for name in chain((base,), (f"{base}-{n}" for n in count(2))) if name not in taken)

    # -- files that ask for gangs

    def add_gangs(self, one: ClaimOptions) -> None:
        """Add the gangs of a file, or of a plan file with its other workloads."""
        if one.pod:
            raise InputError(f"--pod {one.pod} is for a file without gangs; {one.claim} is planned with all its pods")
        drawing = plan_files(self.options).get(one.claim)
        if drawing is not None:
            self._add_drawn_gangs(one, drawing.workloads)
            return
        from dra_lab.gitops.workloads_of_file import read_workloads

        for each in read_workloads(one.claim, self.read, self.release):
            workload = each.workload
            if workload.is_gang or each.queue:
                self._add_gang(GangInput(workload, None, each.queue, one.claim, each.requests, True), one)
            else:
                number = workload.replicas if one.replicas is None else one.replicas
                self.written.add(self._add_workload(workload.name, workload.claims, number))
            self.findings += each.findings
            self._of_gangs.append(each.cluster)

    def _add_drawn_gangs(self, one: ClaimOptions, pods: Sequence[PodDrawing]) -> None:
        from dra_lab.session.drawings import fleet_cluster

        for pod in pods:
            if pod.gang:
                self._add_gang(GangInput(workload_of(pod), None, pod.gang.queue, one.claim, {}), one)
            elif pod.claims:
                drawn = workload_of(pod)
                self._add_workload(drawn.name, drawn.claims, drawn.replicas)
        self._of_gangs.append(fleet_cluster(self.read, pods))

    def _add_gang(self, given: GangInput, one: ClaimOptions) -> None:
        """Add the gang of a file with what the options say instead."""
        found = _overridden(given, one)
        self.gangs.append(changed(found, gang=replace(found.gang, name=self._free(found.gang.name))))

    # -- claims and pods

    def add_pods(self, one: ClaimOptions) -> None:
        """Add the pods of a claim, a pod with its claims, or a plan file with workloads alone."""
        from dra_lab.session import read_plan_file
        from dra_lab.session.drawings import fleet_cluster

        wanted = one.replicas if one.gang is None else one.gang
        drawn = only_workloads(read_plan_file(one.claim))
        if drawn:
            refuse_pod(one.claim, one.pod or "")
            if wanted is not None and len(drawn) > 1:
                message = f"{one.claim} has {len(drawn)} workloads, each with its replicas; leave --replicas out"
                raise InputError(message)
            self._cluster = fleet_cluster(self._cluster, drawn)
            self._places.add(_pinned_node(one.claim, self._cluster))
            for each in drawn:
                self._add(one, each.pod, each.claims, each.replicas if wanted is None else wanted)
            return
        pod = self._read_pod(one)
        number = pod.replicas if wanted is None else wanted
        self._refuse_shared(one.claim, pod, number)
        self._named |= {*pod.named.values()}
        self._cluster = pod.cluster
        self.findings += pod.findings
        base = pod.subject.partition(":")[0].rpartition("/")[2] or "-".join(pod.claims) or "claim"
        name = self._add(one, base, pod.claims.values(), number)
        if read_plan_file(one.claim) is None:
            self.written.add(name)

    def _add(self, one: ClaimOptions, base: str, claims: Iterable[Any], pods: int) -> str:
        """Add pods as replicas of a workload, or after --gang as those of a gang; return the name."""
        if one.gang is None:
            return self._add_workload(base, claims, pods)
        name, copies = self._free(base), 1 if one.replicas is None else one.replicas
        worker = PodGroup(_WORKER, tuple(claims), pods)
        level, prefer = one.level or "", one.prefer_level or ""
        same = _attributes(one)
        gang = Workload(name, [worker], level=level, prefer_level=prefer, replicas=copies, same=same)
        self.gangs.append(GangInput(gang, None, one.queue or "", one.claim, {}))
        return name

    def _add_workload(self, base: str, claims: Iterable[Any], pods: int) -> str:
        name = self._free(base)
        self.workloads.append(Workload(name, tuple(claims), replicas=pods))
        return name

    def _read_pod(self, one: ClaimOptions) -> WrittenWorkload:
        from dra_lab.gitops.claims_of_file import WrittenWorkload
        from dra_lab.index.not_read import refuse_not_read

        found = _read_claim(one.claim, one.pod or "", self._cluster, self.release)
        if not isinstance(found, tuple):
            if found.admitted is not None:
                refuse_not_read(self._cluster, (), selects_nodes=True)
            self._places.add(found.admitted)
            return found
        pinned = _pinned_node(one.claim, self._cluster)
        self._pinned = self._pinned or pinned is not None
        self._places.add(pinned)
        return WrittenWorkload("", Origin(), {found[0].name: found[0]}, found[1], self.release)

    def _refuse_shared(self, claim: str, pod: WrittenWorkload, number: int) -> None:
        """Raise InputError for claims of a pod that its replicas, or an earlier pod, would share."""
        if pod.allocated:
            names = ", ".join(c.metadata.name for c in pod.allocated)
            raise InputError(f"{claim}: {names} is already allocated, and replicas cannot share it; plan one pod")
        if pod.named and number > 1:
            names = ", ".join(sorted(pod.named))
            raise InputError(
                f"{claim}: {number} pods share the ResourceClaim {names}, which is allocated once; plan one pod "
                "(--replicas 1), or write a ResourceClaimTemplate so that each pod gets its own devices"
            )
        if shared := {*pod.named.values()} & self._named:
            names = ", ".join(sorted(name for _, name in shared))
            raise InputError(
                f"{claim}: its pod and an earlier one share the ResourceClaim {names}, which is allocated once; "
                "`dra-lab check` answers such pods together"
            )


def _overridden(given: GangInput, one: ClaimOptions) -> GangInput:
    """Return the gang of a file with what the options say instead. Raises InputError for a size of several groups."""
    gang = given.gang
    if one.gang is not None:
        if len(gang.pods) > 1:
            names = ", ".join(group.name for group in gang.pods)
            raise InputError(f"--gang {one.gang} is for one group of pods, and {one.claim} has {names}; leave it out")
        (group,) = gang.pods
        least = None if group.minimum is None else min(group.minimum, one.gang)
        gang = replace(gang, pods=(replace(group, count=one.gang, minimum=least),))
    for field in ("level", "prefer_level"):
        if getattr(one, field) is not None:
            gang = replace(gang, **{field: getattr(one, field), "hierarchy": ""})
    if one.same is not None:
        gang = replace(gang, same=_attributes(one))
    if one.replicas is not None:
        gang = replace(gang, replicas=one.replicas)
    return changed(given, gang=gang, queue=given.queue if one.queue is None else one.queue)


def _attributes(one: ClaimOptions) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, (one.same or "").split(","))))


def _joined(one: Cluster, other: Cluster) -> Cluster:
    """Return the cluster of two claims, with the classes and topologies of both.

    Raises InputError if they admit different nodes.
    """
    from dra_lab.index.documented_classes import with_given_classes

    if one.node_names != other.node_names:
        raise InputError("the pods of these claims may run on different nodes; plan the claims one by one")
    given = {(item.resource, item.name): item for item in (*one.topologies, *other.topologies)}
    return replace(with_given_classes(one, other.classes), topologies=tuple(given.values()))


def _pinned_node(claim: str, cluster: Cluster) -> frozenset[str] | None:
    """Return the node that a plan file pins, None for all. Raises SketchError for one that the cluster lacks."""
    from dra_lab.session import read_plan_file

    drawing = read_plan_file(claim)
    if drawing is None or not drawing.node:
        return None
    refuse_node(drawing.node, claim, cluster)
    return frozenset((drawing.node,))
