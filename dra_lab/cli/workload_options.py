"""Several claims, each with its replicas, on the command line: `--claim A --replicas 8 --claim B --replicas 4`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_lab.cli.claim_option import AddClaim, OfClaim
from dra_lab.cli.completion import complete_with, drawing_words
from dra_lab.cli.options import (
    CLAIM_HELP,
    POD_HELP,
    ClaimOptions,
    plan_files,
    refuse_node,
    refuse_pod,
    whole,
)
from dra_lab.errors import InputError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Workload

if TYPE_CHECKING:
    from dra_lab.model.sketch import Drawing, PodDrawing


class WorkloadsInput(Struct, frozen=True):
    """The workloads of a command, the cluster to plan them on, and findings.

    `written` are the workloads whose claims are manifests, not drawings.
    """

    workloads: tuple[Workload, ...]
    cluster: Cluster
    findings: tuple[Finding, ...]
    written: frozenset[str]


def add_workloads(parser: argparse.ArgumentParser) -> None:
    """Declare --claim, which may stand several times, --replicas behind each, and --objective."""
    claim = parser.add_argument(
        "--claim", action=AddClaim, metavar="FILE", help=f"required and repeatable: {CLAIM_HELP}"
    )
    complete_with(claim, drawing_words)
    text = "number of pods for the preceding --claim (default with several claims: 1)"
    parser.add_argument("--replicas", type=whole, action=OfClaim, metavar="N", help=text)
    parser.add_argument("--pod", action=OfClaim, metavar="NAME", help=f"for the preceding --claim, {POD_HELP}")
    text = "with replicas: place as many as possible (default), or all of them on the fewest nodes"
    parser.add_argument("--objective", choices=("replicas", "nodes"), default="replicas", help=text)


def add_gangs(parser: argparse.ArgumentParser) -> None:
    """Declare the options after a --claim that make it a gang."""
    group = parser.add_argument_group("gangs (each option is for the preceding --claim)")
    text = "number of pods that start together or not at all; --replicas N is then the number of such gangs"
    group.add_argument("--gang", type=whole, action=OfClaim, metavar="SIZE", help=text)
    text = "one domain of this level has all pods of a gang, for example rack (dra-lab topology CLUSTER lists levels)"
    group.add_argument("--level", action=OfClaim, metavar="NAME", help=text)
    text = "as few domains of this level as possible have pods of a gang"
    group.add_argument("--prefer-level", action=OfClaim, metavar="NAME", help=text)
    group.add_argument(
        "--queue", action=OfClaim, metavar="NAME", help="LocalQueue of Kueue, or Queue of KAI or Volcano"
    )


def is_gang(options: argparse.Namespace) -> bool:
    """Return whether gangs are asked for, by --gang or by a file.

    Raises InputError for an option of gangs after a claim that is none.
    """
    found = False
    for one in options.claims:
        asks = one.gang is not None or asks_for_gangs(options, one)
        if (given := _named(one)) and not asks:
            option = f"--{given[0].replace('_', '-')}"
            raise InputError(f"{option} is for a gang, and {one.claim} asks for none; write --gang SIZE after --claim")
        found = found or asks
    return found


def _named(one: ClaimOptions) -> list[str]:
    return [name for name in ("level", "prefer_level", "queue") if getattr(one, name) is not None]


def asks_for_gangs(options: argparse.Namespace, one: ClaimOptions) -> bool:
    """Return whether a file asks for gangs itself, or has the pods of a gang whose level or queue the options name."""
    drawing = plan_files(options).get(one.claim)
    if drawing is not None:
        return any(pod.gang is not None for pod in drawing.workloads)
    if not Path(one.claim).exists():
        return False
    from dra_lab.gitops.gangs_of_file import asks_for_gang

    return asks_for_gang(one.claim, named=one.gang is None and bool(_named(one)))


def is_fleet(options: argparse.Namespace) -> bool:
    """Return whether replicas are asked for; without, it is the plan of one claim.

    Raises InputError without a --claim, with the examples of the sample.
    """
    if "claims" not in options:
        raise InputError(f"--claim is missing; {what_to_try(options.cluster)}")
    first = options.claims[0]
    drawn = _only_workloads(plan_files(options).get(first.claim))
    return len(options.claims) > 1 or first.replicas is not None or bool(drawn)


def _only_workloads(drawing: Drawing | None) -> tuple[PodDrawing, ...]:
    """Return the workloads of a plan file without a claim of its own that is drawn."""
    if drawing is None or drawing.sketch.requests:
        return ()
    return tuple(pod for pod in drawing.workloads if pod.claims)


def namespace_of(options: argparse.Namespace) -> str:
    """Return the namespace of the files: that of the option, else of the claims and pods that were given.

    Raises InputError if these have several.
    """
    from dra_lab.gitops.folder import read_manifests

    paths = [one.claim for one in options.claims if Path(one.claim).exists()]
    if options.namespace or not paths:
        return str(options.namespace)
    found = sorted({document.namespace for document in read_manifests(paths).documents if document.namespace})
    if len(found) > 1:
        raise InputError(f"the files are for the namespaces {', '.join(found)}; choose one with --namespace NAME")
    return found[0] if found else ""


def what_to_try(cluster: str) -> str:
    """Return what to give as --claim: the examples of a sample, else what it can be."""
    from dra_lab.sources import samples

    for sample in samples():
        if cluster == f"sample:{sample.name}" and sample.examples:
            return "try " + " or ".join(f"--claim {cluster}/{example}" for example in sample.examples)
    return "give the file of a drawing, claim, pod or workload, or sample:NAME/EXAMPLE (dra-lab samples lists them)"


def workloads_of(claims: Sequence[ClaimOptions], cluster: Cluster, release: KubernetesRelease) -> WorkloadsInput:
    """Return what is asked for; a name that comes again gets a number.

    A file with a pod gives all its claims, and the replicas of its workload where none are given. Raises InputError for
    what replicas cannot have: claims that are allocated already or that all share, or nodes of their own for some of
    the workloads. A plan file that has workloads and no claim of its own gives these.
    """
    from dra_lab.gitops.claims_of_file import ReadPod, read_pod
    from dra_lab.gitops.folder import with_own_classes
    from dra_lab.index.not_read import refuse_not_read
    from dra_lab.planner.node_filter import only_nodes
    from dra_lab.session import read_plan_file, read_sketch
    from dra_lab.session.fleet_files import fleet_cluster

    found: list[Workload] = []
    findings: list[Finding] = []
    places: set[frozenset[str] | None] = set()
    named: frozenset[tuple[str, str]] = frozenset()
    written: set[str] = set()
    pinned = False
    for claim, replicas, named_pod, *_ in claims:
        drawn = _only_workloads(read_plan_file(claim))
        if drawn:
            refuse_pod(claim, named_pod or "")
            if replicas is not None and len(drawn) > 1:
                raise InputError(f"{claim} has {len(drawn)} workloads, each with its replicas; leave --replicas out")
            cluster = fleet_cluster(cluster, drawn)
            places.add(_pinned(claim, cluster))
            for one in drawn:
                found.append(
                    Workload(_free(one.pod, found), one.claims, replicas=one.replicas if replicas is None else replicas)
                )
            continue
        pod = read_pod(claim, cluster, release, pod=named_pod or "")
        if pod is None:
            refuse_pod(claim, named_pod or "")
            sketch = read_sketch(claim)
            pod = ReadPod("", {sketch.name: sketch}, with_own_classes(claim, cluster), nodes=_pinned(claim, cluster))
            pinned = pinned or pod.nodes is not None
        elif pod.nodes is not None:
            refuse_not_read(cluster, (), selects_nodes=True)
        if pod.allocated:
            names = ", ".join(c.metadata.name for c in pod.allocated)
            raise InputError(f"{claim}: {names} is already allocated, and replicas cannot share it; plan one pod")
        number = pod.replicas if replicas is None else replicas
        if pod.shared and number > 1:
            names = ", ".join(sorted(pod.shared))
            raise InputError(
                f"{claim}: {number} pods share the ResourceClaim {names}, which is allocated once; plan one pod "
                "(--replicas 1), or write a ResourceClaimTemplate so that each pod gets its own devices"
            )
        if pod.named & named:
            names = ", ".join(sorted(name for _, name in pod.named & named))
            raise InputError(
                f"{claim}: its pod and an earlier one share the ResourceClaim {names}, which is allocated once; "
                "`dra-lab check` answers such pods together"
            )
        named |= pod.named
        cluster = pod.cluster
        findings += pod.findings
        places.add(pod.nodes)
        base = pod.subject.partition(":")[0].rpartition("/")[2] or "-".join(pod.claims) or "claim"
        name = _free(base, found)
        found.append(Workload(name, tuple(pod.claims.values()), replicas=number))
        if read_plan_file(claim) is None:
            written.add(name)
    if len(places) > 1:
        raise InputError("the node selectors of these workloads admit different nodes; plan the workloads one by one")
    admitted = places.pop() if places else None
    on = cluster if admitted is None else only_nodes(cluster, sorted(admitted), tolerant=not pinned)
    return WorkloadsInput(tuple(found), on, tuple(findings), frozenset(written))


def _free(base: str, found: Sequence[Workload]) -> str:
    """Return a name, with a number if a workload has it already."""
    taken = {workload.name for workload in found}
    return next(name for name in chain((base,), (f"{base}-{n}" for n in count(2))) if name not in taken)


def _pinned(claim: str, cluster: Cluster) -> frozenset[str] | None:
    """Return the node that a plan file pins, None for all. Raises SketchError for one that the cluster lacks."""
    from dra_lab.session import read_plan_file

    drawing = read_plan_file(claim)
    if drawing is None or not drawing.node:
        return None
    refuse_node(drawing.node, claim, cluster)
    return frozenset((drawing.node,))
