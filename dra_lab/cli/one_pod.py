"""The plan of one pod on the command line: `--claim FILE` of a claim, a drawing, or a pod with its claims."""

from __future__ import annotations

import argparse
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_lab.cli.options import (
    cluster_of,
    node_of,
    plan_files,
    refuse_pod,
    release_of,
    setting_of,
    with_cluster_findings,
)
from dra_lab.errors import DraLabError, InputError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, claims_of
from dra_lab.planner.budget import command_waits

if TYPE_CHECKING:
    from dra_lab.exports.manifests import ManifestText
    from dra_lab.gitops.claims_of_file import Question

_SECONDS = 60.0


class PodAnswer(Struct, frozen=True):
    """The plan of one pod, the cluster that it is for, with the classes of the file, and its findings.

    `pod` is the pod of the file or of the cluster, None for a claim or drawing alone, which is then `sketch`.
    """

    plan: Plan
    cluster: Cluster
    release: KubernetesRelease
    sketch: ClaimSketch
    findings: tuple[Finding, ...]
    pod: Question | None = None

    @property
    def manifests(self) -> ManifestText:
        """Return the claims of the pod as YAML, one manifest after the other."""
        from dra_lab.exports.manifests import ManifestText, manifest_yaml

        if self.pod is None:
            return manifest_yaml(self.sketch, self.cluster, self.release, plan=self.plan)
        texts = [manifest_yaml(sketch, self.cluster, self.release).text for sketch in self.pod.claims.values()]
        return ManifestText("---\n".join(texts))


def pod_of(options: argparse.Namespace) -> Question | None:
    """Return the pod in a command's --claim, None where that is one claim or drawing alone; without one, --pod's.

    Raises what `cluster_of` and `gitops.claims_of_file.read_pod` raise.
    """
    name = options.claims[0].pod or getattr(options, "pod", "") if "claims" in options else options.pod
    if not options.claim:
        from dra_lab.gitops.claims_of_file import read_cluster_pod

        return read_cluster_pod(cluster_of(options), name, release_of(options))
    found = None
    if may_be_pod(options.claim):
        from dra_lab.gitops.claims_of_file import read_pod

        found = read_pod(options.claim, cluster_of(options), release_of(options), pod=name)
    if found is None:
        refuse_pod(options.claim, name)
    return found


def plan_pod(options: argparse.Namespace, *, search: bool = True) -> PodAnswer:
    """Return the answer for the pod, claim or drawing of a command. Raises what `pod_of` and `make_plan` raise.

    Without `search`, kube-scheduler's search on every node is not part of the answer.
    """
    from dra_lab.gitops.folder import with_own_classes
    from dra_lab.pinning.pod_start import searched
    from dra_lab.planner.plan_pod import plan_pod as plan_on
    from dra_lab.session import read_sketch

    pod, read = pod_of(options), cluster_of(options)
    if pod is None:
        sketch, cluster = read_sketch(options.claim), with_own_classes(options.claim, read)
    else:
        sketch, cluster = ClaimSketch(), pod.cluster
    release, time_limit = release_of(options), getattr(options, "time_limit", None) or _SECONDS
    with command_waits() as (show, cancel):
        plan = plan_on(
            cluster,
            sketch if pod is None else pod.planned,
            release=release,
            node=node_of(options),
            goals=setting_of(options, "goals"),
            time_limit=time_limit,
            progress=show,
            cancel=cancel,
        )
        if pod is not None:
            found = (*pod.findings, *pod.search(plan, time_limit=time_limit, cancel=cancel))
        else:
            written = options.claim not in plan_files(options)
            found = _of_manifest(sketch, cluster, plan, release, cancel, written=written, search=search)
    findings = with_cluster_findings(options, (*plan.findings, *found))
    if search:
        plan, findings = searched(plan, findings)
    return PodAnswer(plan, cluster, release, sketch, findings, pod)


def with_measured(plan: Plan, with_link: float, without_link: float) -> Plan:
    """Return a plan with a person's own bandwidths, with the drawn links and without them.

    Raises InputError if the answer has no path that can be measured.
    """
    from dra_lab.model.placement import measured_path
    from dra_lab.model.placement import with_measured as measured

    path = measured_path(plan.regrets)
    if not path:
        raise InputError("without the link kube-scheduler allocates no GPU and NIC whose path can be measured")
    return replace(plan, regrets=measured(plan.regrets, {path: (with_link, without_link)}))


def _of_manifest(
    sketch: ClaimSketch,
    cluster: Cluster,
    plan: Plan,
    release: KubernetesRelease,
    cancel: threading.Event,
    *,
    written: bool,
    search: bool,
) -> tuple[Finding, ...]:
    """Return what is wrong with the manifest of a drawing or claim, and what kube-scheduler's search for it does.

    A claim of a file is searched as the file has it (`written`), a drawing as its manifest will be.
    """
    from dra_lab.checks.document_checks import check_text
    from dra_lab.exports.manifests import manifest_yaml
    from dra_lab.pinning.node_search import start_findings

    # cancelled, or what no manifest can express: the plan says so
    with suppress(DraLabError):
        invalid = check_text(manifest_yaml(sketch, cluster, release).text, "the manifest", release)
        if not search:
            return invalid
        claims, fits = claims_of(sketch), plan.fits
        found = start_findings(claims, cluster, release, sketch.name, written=written, fits=fits, cancel=cancel)
        return (*invalid, *found)
    return ()


def may_be_pod(claim: str) -> bool:
    """Say whether a --claim may be a file with a pod."""
    return not claim.startswith("sample:") and not claim.endswith(".dralab.yaml")
