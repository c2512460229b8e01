"""The export of a gang as a folder: its files, kustomization, README with what the scheduler cannot express, record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dra_lab.exports.bundle import KUSTOMIZATION, Bundle, kustomization, target_record
from dra_lab.exports.gangs.gang_files import SCHEDULERS, GangFiles, gang_files
from dra_lab.exports.readme import file_list
from dra_lab.exports.simulation import Simulation
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import QuantityText
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Workload
from dra_lab.scheduler.kueue.quota_verdict import quota_findings
from dra_lab.sketch.claim_objects import Target
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.document import marked_up, printable
from dra_lab.words.facts import counted
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, plan_json, plan_outcome

FRAGMENTS = ("kueue-configuration.yaml",)
"""Files that are a part of a configuration, which must not be applied."""

NOT_SIMULATED = "dra-lab does not simulate the files of gangs"


class PlannedGang(Struct, frozen=True):
    """A gang with its plan and all else that its files are made from.

    `cluster` is the one that was planned on, with the nodes and DeviceClasses of the gang's pods; `read` is the one
    that the record names. `queue` may have a namespace. `requests` are those of a pod of each group, by its name.
    `findings` are those about what was read.
    """

    gang: Workload
    hierarchy: Hierarchy | None
    plan: Plan
    cluster: Cluster
    read: Cluster
    release: KubernetesRelease
    queue: str = ""
    requests: Mapping[str, Mapping[str, QuantityText]] = {}
    findings: tuple[Finding, ...] = ()

    @property
    def domains(self) -> Mapping[int, tuple[str, ...]]:
        """Return the path of the planned domain of each copy of the gang that has a place, by its number."""
        return {one.replica: one.domain for one in self.plan.placed_gangs if one.workload == self.gang.name}

    @property
    def not_pinnable(self) -> str:
        """Return why there is no planned domain to hold the gang to, "" if there is one."""
        if not self.gang.level:
            return "this gang requires no level"
        return "" if self.domains else "this gang has no place in the plan"


def gang_bundle(
    planned: PlannedGang,
    scheduler: str,
    *,
    namespace: str = "",
    pin: bool = False,
    workload: WorkloadFile | None = None,
    has_claims: bool = False,
) -> Bundle:
    """Return the files of a planned gang as a folder for Git.

    Args:
        planned: The gang with its plan.
        scheduler: "kueue", "kai", "volcano" or "kube-scheduler".
        namespace: The namespace of the objects; default "": that of the workload, or none.
        pin: Hold the pods to the planned domain; default: the scheduler chooses.
        workload: The workload that gets the levels of the gang. Default: Jobs with example pods.
        has_claims: Whether the pods of `workload` have the claims already.

    Returns:
        The texts, which are the same for the same gang and plan, and what `plan.json` records.

    Raises:
        InputError: The files cannot be written for this scheduler, release or workload.
    """
    gang, plan, release = planned.gang, planned.plan, planned.release
    files = gang_files(
        gang,
        scheduler,
        planned.hierarchy,
        cluster=planned.cluster,
        namespace=namespace or (workload.namespace if workload is not None else ""),
        queue=planned.queue.rpartition("/")[2],  # Kueue's label has the name of the LocalQueue without its namespace
        pin=planned.domains if pin else None,
        release=release,
        workload=workload,
        has_claims=has_claims,
    )
    pinned = [planned.domains[number] for number in sorted(planned.domains)] if pin else []
    applied = [name for name in files.documents if name not in FRAGMENTS]
    texts = dict(files.documents) | {KUSTOMIZATION: kustomization(applied)}
    texts["README.md"] = _readme(files, gang, plan, release, pinned, [*texts, "README.md"])
    drawings = [claim for group in gang.pods for claim in group.claims]
    target = Target(release)
    record: dict[str, Any] = target_record(gang.name, [*drawings, *gang.every_shared_claim], planned.read, target)
    record["scheduler"] = files.scheduler
    record["notExpressed"] = list(files.not_expressed)
    record["plan"] = plan_json(plan)
    findings = dict.fromkeys((*files.findings, *planned.findings, *plan.findings, *_quota(planned, scheduler)))
    return Bundle(texts, record, sort_findings(findings), _outcome(gang, plan), scheduler=scheduler)


def _quota(planned: PlannedGang, scheduler: str) -> Iterator[Finding]:
    """Yield what the quota of the queue says, which only Kueue has."""
    if scheduler == "kueue":
        trees = [planned.hierarchy] if planned.hierarchy else []
        common: dict[str, Any] = {"release": planned.release, "hierarchies": trees, "requests": planned.requests}
        yield from quota_findings(planned.cluster, planned.gang, planned.queue, **common)


def _outcome(gang: Workload, plan: Plan) -> Simulation:
    """Return whether the gang has its place; what the scheduler does with the files is not simulated.

    A gang that has its place is written even if others of the same plan have none.
    """
    achieves, words = {FITS: True, DOES_NOT_FIT: False}.get(plan_outcome(plan)), answer_sentence(plan)
    if len(plan.workloads) > 1:
        placed = plan.placed[gang.name]
        achieves = True if placed == gang.replicas else achieves
        words = f"{gang.name}: {placed:,} of {counted(gang.replicas, 'gang')} placed. All workloads: {words}"
    return Simulation(achieves, words, f"{NOT_SIMULATED}.")


def title_of(scheduler: str) -> str:
    """Return the name of a scheduler as people write it, with its version: `Kueue 0.19`."""
    return SCHEDULERS[scheduler].title


def _readme(
    files: GangFiles,
    gang: Workload,
    plan: Plan,
    release: KubernetesRelease,
    pinned: Sequence[Sequence[str]],
    names: Sequence[str],
) -> str:
    title = title_of(files.scheduler)
    parts = [
        f"# {marked_up(gang.name)}",
        f"A gang of {gang.size:,} pods for {title} and Kubernetes {release}.",
        marked_up(answer_sentence(plan)),
        *_pins(pinned),
        *_section(f"What {title} cannot express", files.not_expressed),
        *_section("Before you apply", [str(finding) for finding in files.findings]),
        "## Files",
        file_list(names),
        *_fragments(names),
        f"`{printable(files.workload)}` is your workload with the claims and levels of the gang."
        if files.workload
        else "The pods are examples that sleep. Replace their image and command with yours.",
        "Apply the files with `kubectl apply -k .` in this folder.",
    ]
    return "\n\n".join(parts) + "\n"


def _pins(pinned: Sequence[Sequence[str]]) -> Iterator[str]:
    if not pinned:
        yield "The scheduler chooses the domain."
        return
    every = ", ".join("/".join(path) or "any node" for path in pinned)
    yield marked_up(f"The pods are held to the planned {'domain' if len(pinned) == 1 else 'domains'}: {every}.")


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield "\n".join(f"- {marked_up(line)}" for line in lines)


def _fragments(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name in FRAGMENTS:
            yield f"`{name}` is a part of Kueue's Configuration. Merge it by hand; do not apply it."
