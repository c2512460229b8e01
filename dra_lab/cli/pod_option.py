"""A pod with its claims on the command line: `--claim FILE` of a Pod or workload with its ResourceClaimTemplates."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_lab.cli.options import cluster_of, refuse_pod, release_of, setting_of
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.waiting import command_waits

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import ReadPod

_SECONDS = 60.0


class PodAnswer(Struct, frozen=True):
    """The plan of a pod's claims, the cluster that it is for, and its findings."""

    pod: ReadPod
    plan: Plan
    release: KubernetesRelease
    findings: tuple[Finding, ...]

    @property
    def cluster(self) -> Cluster:
        """Return the cluster, with the classes of the file."""
        return self.pod.cluster

    @property
    def manifests(self) -> str:
        """Return the claims of the pod as YAML, one manifest after the other."""
        from dra_lab.exports.manifests import manifest_yaml

        texts = [manifest_yaml(sketch, self.cluster, self.release).text for sketch in self.pod.claims.values()]
        return "---\n".join(texts)


def pod_of(options: argparse.Namespace) -> ReadPod | None:
    """Return the pod in a command's --claim, None where that is one claim or drawing alone; without one, --pod's.

    Raises what `cluster_of` and `gitops.claims_of_file.read_pod` raise.
    """
    name = options.claims[0].pod or getattr(options, "pod", "") if "claims" in options else options.pod
    found = None
    if not options.claim:
        from dra_lab.gitops.claims_of_file import read_cluster_pod

        return read_cluster_pod(cluster_of(options), name, release_of(options))
    if may_be_pod(options.claim):
        from dra_lab.gitops.claims_of_file import read_pod

        found = read_pod(options.claim, cluster_of(options), release_of(options), pod=name)
    if found is None:
        refuse_pod(options.claim, name)
    return found


def plan_pod(options: argparse.Namespace) -> PodAnswer | None:
    """Return the answer for the pod in a command's --claim, None where that is one claim or drawing alone.

    Raises what `pod_of` and `make_plan` raise.
    """
    from dra_lab.checks.cluster_checks import check_cluster
    from dra_lab.pinning.pod_start import searched
    from dra_lab.planner import make_plan

    pod = pod_of(options)
    if pod is None:
        return None
    read = cluster_of(options)
    release, time_limit = release_of(options), getattr(options, "time_limit", None) or _SECONDS
    with command_waits() as (show, cancel):
        plan = make_plan(
            pod.cluster,
            pod.planned,
            release=release,
            node=options.node,
            goals=setting_of(options, "goals"),
            time_limit=time_limit,
            progress=show,
            cancel=cancel,
        )
        found = pod.search(plan, release, time_limit=time_limit, cancel=cancel)
    every = (*pod.findings, *read.findings, *check_cluster(read), *plan.findings, *found)
    plan, findings = searched(plan, sort_findings(dict.fromkeys(every)))
    return PodAnswer(pod, plan, release, findings)


def may_be_pod(claim: str) -> bool:
    """Say whether a --claim may be a file with a pod."""
    return not claim.startswith("sample:") and not claim.endswith(".dralab.yaml")
