"""Gangs on the command line: `--claim FILE --gang 16 --level rack`, or a file that asks for gangs itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from msgspec import Struct
from msgspec.structs import replace as changed

from dra_lab.cli.options import ClaimOptions, cluster_of, plan_files, release_of
from dra_lab.cli.workload_options import asks_for_gangs, workloads_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import PodDrawing
from dra_lab.model.workload import PodGroup, Workload, workload_of

Requests = Mapping[str, Mapping[str, str | int | float]]
"""By the name of a group, what one of its pods requests of its node: CPUs, memory, extended resources."""


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
    """The gangs and the other workloads of a command, the cluster to plan them on, and findings.

    `written` are the workloads whose claims are manifests, not drawings.
    """

    gangs: tuple[GangInput, ...]
    workloads: tuple[Workload, ...]
    cluster: Cluster
    findings: tuple[Finding, ...] = ()
    written: frozenset[str] = frozenset()

    @property
    def every(self) -> tuple[Workload, ...]:
        """Return all workloads, the gangs first."""
        return (*(one.gang for one in self.gangs), *self.workloads)


class _Found(Struct, frozen=True):
    """What one --claim asks for."""

    gangs: tuple[GangInput, ...] = ()
    workloads: tuple[Workload, ...] = ()
    cluster: Cluster | None = None
    findings: tuple[Finding, ...] = ()


def asked_of(options: argparse.Namespace) -> Asked:
    """Return the gangs and the other workloads of a command, each level found in a hierarchy of the cluster.

    Raises InputError for levels that the cluster lacks, and for pods that are admitted to different nodes.
    """
    cluster, release = cluster_of(options), release_of(options)
    found = [_read(options, one, cluster, release) for one in options.claims]
    plain = [one for one, of_file in zip(options.claims, found, strict=True) if of_file is None]
    given = workloads_of([one._replace(replicas=_pods(one)) for one in plain], cluster, release) if plain else None
    clusters = [given.cluster] if given else []
    ours = iter(given.workloads if given else ())
    gangs: list[GangInput] = []
    workloads: list[Workload] = []
    findings = list(given.findings) if given else []
    for one, of_file in zip(options.claims, found, strict=True):
        if of_file is None:
            pod = next(ours)
            gangs += [_of_workload(one, pod)] if one.gang is not None else []
            workloads += [] if one.gang is not None else [pod]
            continue
        gangs += [_overridden(each, one) for each in of_file.gangs]
        workloads += of_file.workloads
        findings += of_file.findings
        clusters.append(of_file.cluster or cluster)
    if sum(each.gang.replicas for each in gangs) > MOST_GANGS:
        raise InputError(f"at most {MOST_GANGS:,} gangs are planned at a time; give --replicas N after --claim")
    on = clusters[0]
    for each in clusters[1:]:
        on = _joined(on, each)
    names = _own_names([*(each.gang.name for each in gangs), *(pod.name for pod in workloads)])
    gangs = [_with_hierarchy(replaced_gang(each, name=next(names)), on) for each in gangs]
    workloads = [Workload(next(names), pod.claims, replicas=pod.replicas) for pod in workloads]
    return Asked(tuple(gangs), tuple(workloads), on, tuple(findings), given.written if given else frozenset())


def _read(
    options: argparse.Namespace, one: ClaimOptions, cluster: Cluster, release: KubernetesRelease
) -> _Found | None:
    """Return what a file says of gangs, None for a claim or pod that --gang or --replicas is for."""
    if not asks_for_gangs(options, one):
        return None
    if one.pod:
        raise InputError(f"--pod {one.pod} is for a file without gangs; {one.claim} is planned with all its pods")
    drawing = plan_files(options).get(one.claim)
    if drawing is not None:
        return _of_drawing(one.claim, drawing.workloads, cluster)
    from dra_lab.gitops.gangs_of_file import read_gangs

    read = read_gangs(one.claim, cluster, release)
    on = read[0].cluster
    for each in read[1:]:
        on = _joined(on, each.cluster)
    gangs = tuple(GangInput(each.gang, None, each.queue, one.claim, each.requests, True) for each in read)
    return _Found(gangs, (), on, tuple(finding for each in read for finding in each.findings))


def _of_drawing(source: str, pods: Sequence[PodDrawing], cluster: Cluster) -> _Found:
    """Return the gangs and the other workloads of a plan file."""
    from dra_lab.session.fleet_files import fleet_cluster

    gangs = [GangInput(workload_of(pod), None, pod.gang.queue, source, {}) for pod in pods if pod.gang]
    others = [workload_of(pod) for pod in pods if pod.gang is None and pod.claims]
    return _Found(tuple(gangs), tuple(others), fleet_cluster(cluster, pods))


def _pods(one: ClaimOptions) -> int | None:
    """Return how many pods of a claim are wanted, so that claims which pods cannot share are refused."""
    return one.replicas if one.gang is None else one.gang


def _of_workload(one: ClaimOptions, pod: Workload) -> GangInput:
    copies = 1 if one.replicas is None else one.replicas
    worker = PodGroup(_WORKER, pod.claims, pod.replicas)
    gang = Workload(pod.name, [worker], level=one.level or "", prefer_level=one.prefer_level or "", replicas=copies)
    return GangInput(gang, None, one.queue or "", one.claim, {})


def replaced_gang(given: GangInput, **fields: object) -> GangInput:
    """Return a gang of a command with other fields."""
    return changed(given, gang=replace(given.gang, **fields))  # type: ignore[arg-type]


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
    if one.level is not None:
        gang = replace(gang, level=one.level, hierarchy="")
    if one.prefer_level is not None:
        gang = replace(gang, prefer_level=one.prefer_level, hierarchy="")
    if one.replicas is not None:
        gang = replace(gang, replicas=one.replicas)
    return changed(given, gang=gang, queue=given.queue if one.queue is None else one.queue)


def _joined(one: Cluster, other: Cluster) -> Cluster:
    """Return the cluster of two claims, with the classes and topologies of both.

    Raises InputError if they admit different nodes.
    """
    from dra_lab.index.documented_classes import with_given_classes

    if one.node_names != other.node_names:
        raise InputError("the pods of these claims may run on different nodes; plan the claims one by one")
    given = {(item.resource, item.name): item for item in (*one.topologies, *other.topologies)}
    return replace(with_given_classes(one, other.classes), topologies=tuple(given.values()))


def _own_names(names: Sequence[str]) -> Iterator[str]:
    """Yield each name, with a number if it is there already."""
    taken: set[str] = set()
    for name in names:
        own = next(one for one in chain((name,), (f"{name}-{n}" for n in count(2))) if one not in taken)
        taken.add(own)
        yield own


def _with_hierarchy(given: GangInput, cluster: Cluster) -> GangInput:
    """Return a gang of a command with the hierarchy that has its levels. Raises InputError if none has them."""
    from dra_lab.topology.gang_levels import gang_with_levels

    gang, hierarchy = gang_with_levels(given.gang, cluster, given.source)
    return changed(given, gang=gang, hierarchy=hierarchy)


def refuse_options(options: argparse.Namespace) -> None:
    """Raise InputError for an option that has no meaning for gangs."""
    if options.node:
        raise InputError("--node is for one claim; a gang goes to any domain, or with --level host to one node")
    if options.goals:
        raise InputError("--goals is not for gangs, whose goals have a fixed order; leave it out")
    if options.objective != "replicas":
        raise InputError("--objective is for replicas; gangs have an order of goals of their own; leave it out")
    if getattr(options, "measured", None):
        raise InputError("--measured is for the plan of one claim; leave it out")
