"""A gang as a person's own workload: the annotations, labels and fields of a scheduler, written into its file.

Sources:

- kubernetes-sigs/kueue v0.19.2, `pkg/controller/jobframework/tas_validation.go`
- kai-scheduler/KAI-Scheduler v0.17.0, `pkg/common/constants/constants.go`, `docs/topology/README.md`
- volcano-sh/volcano v1.15.1, `staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/types.go`
- kubernetes/api v0.36.3, `core/v1/types.go` (`PodSchedulingGroup`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dra_lab.errors import InputError
from dra_lab.exports.gangs import volcano
from dra_lab.exports.gangs.gang_parts import GangParts, Object, Places
from dra_lab.exports.workload import Patched, patch_copy
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.manifests.yaml_text import load_yaml, value_at
from dra_lab.model.queues import KUEUE_VERSION

EXAMPLES = ("job.yaml", "jobset.yaml", "volcano-job.yaml", "computedomain.yaml")
"""Files with example pods, and what belongs to them, which a person's own workload replaces."""

_LEADER_SETS = "LeaderWorkerSet"
_ADMITTED = (
    "Job", "JobSet", _LEADER_SETS, "MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "RayJob",
    "RayCluster", "RayService", "SparkApplication", "TrainJob", "Pod", "Deployment", "StatefulSet", "AppWrapper",
)  # fmt: skip
"""The kinds that Kueue 0.20 admits (`pkg/controller/jobs`)."""

_WITH_GROUP = ("Pod", "Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "JobSet", _LEADER_SETS)
"""The kinds whose pod templates have `schedulingGroup`: those of Kubernetes 1.36, JobSet 0.12, LeaderWorkerSet 0.10."""


Edit = Callable[[Any, GangParts, Places], None]


def own_workload(
    scheduler: str,
    parts: GangParts,
    workload: WorkloadFile,
    made: Mapping[str, list[Object]],
    change: Edit,
    *,
    has_claims: bool,
) -> tuple[Patched, Mapping[str, list[Object]], tuple[str, ...]]:
    """Return a person's workload as one gang for a scheduler, the objects of `made` beside it, and what its kind lacks.

    The gang has one copy or, for a LeaderWorkerSet, as many as it has replicas. The chosen templates of the file are
    those of the groups in their order, or all those of one group. `change` writes the fields of the scheduler into the
    parsed object. `has_claims`: the pods have their claims already. Raises InputError for a file without the pods of
    the gang, or with a PodGroup of its own.
    """
    places = _places(parts, workload)
    _check(scheduler, parts, workload)
    shared = parts.every_shared(0)
    claims = () if has_claims else (*parts.groups[0].claims, *(claim for claim, _ in shared))
    entries = () if has_claims else (*parts.groups[0].entries, *(name for _, name in shared))

    def edit(value: Any) -> None:
        change(value, parts, places)
        for field, _ in places if parts.priority_class else ():
            value_at(value, field.path)["priorityClassName"] = parts.priority_class

    patched = patch_copy(workload, claims, affinity=parts.pins[0], entries=entries, edit=edit)
    objects = {file: items for file, items in made.items() if file not in EXAMPLES}
    for group in objects.get("podgroup.yaml", ()) if has_claims else ():
        group["spec"].pop("resourceClaims", None)  # the pods name what they share
    if scheduler == "kai":
        objects.pop("podgroup.yaml")  # KAI makes one for the owner of the pods
    if scheduler == "volcano" and not _is_volcano(workload):
        objects["podgroup.yaml"] = [volcano.own_group(parts)]
    return patched, objects, tuple(_not_expressed(scheduler, parts, workload))


def _places(parts: GangParts, workload: WorkloadFile) -> Places:
    fields, groups = workload.templates, parts.groups
    if len(groups) > 1 and len(fields) != len(groups):
        message = (
            f"{workload.title} has {len(fields)} pod templates with devices, and the gang has {len(groups)} groups"
        )
        raise InputError(f"{message}; give --claim the same file")
    if workload.pods != parts.gang.size * parts.gang.replicas:
        wanted = f"{parts.gang.size:,}" + (f" in each of {parts.gang.replicas}" if parts.gang.replicas > 1 else "")
        message = f"{workload.title} runs {workload.pods:,} pods, and the gang has {wanted}"
        raise InputError(f"{message}; give --gang the number of its pods")
    return [(field, groups[at if len(groups) > 1 else 0]) for at, field in enumerate(fields)]


def _check(scheduler: str, parts: GangParts, workload: WorkloadFile) -> None:
    if workload.kind == "Workload":
        raise InputError(f"{workload.title} starts no pods, because Kueue makes it for a Job; give the file of the Job")
    several = parts.gang.replicas > 1
    if several and (workload.kind != _LEADER_SETS or scheduler not in ("kueue", "kai")):
        raise InputError(
            f"one pod template cannot name {parts.gang.replicas} PodGroups; write one object for each gang"
        )
    if several and any(parts.pins):
        raise InputError("the pods of all gangs have one template, so they cannot be held to several domains")
    kinds = [one.value.get("kind") for one in load_yaml(workload.text) if isinstance(one.value, Mapping)]
    if "PodGroup" in kinds and scheduler != "kueue":
        raise InputError(f"{workload.name} has a PodGroup of its own; change its level there, or remove it")


def _is_volcano(workload: WorkloadFile) -> bool:
    return any(
        one.value.get("apiVersion") == volcano.JOB for one in load_yaml(workload.text) if isinstance(one.value, Mapping)
    )


def _not_expressed(scheduler: str, parts: GangParts, workload: WorkloadFile) -> Iterator[str]:
    """Yield what the kind of a workload cannot express, besides what the scheduler cannot."""
    kind, elastic = workload.kind, parts.gang.least < parts.gang.size
    if scheduler == "kueue":
        if kind not in _ADMITTED:
            yield f"{KUEUE_VERSION} does not admit a {kind}."
        if elastic and kind != "Job":
            yield f"Kueue starts all pods of a {kind} or none."
    own_group = scheduler == "kai" or (scheduler == "volcano" and not _is_volcano(workload))
    for group in parts.groups if own_group else ():
        if group.slices:
            yield f"The pods of one template are in one PodGroup, so the slices of {group.name} are left out."
        if group.own and len(parts.groups) > 1:
            yield f"The pods of a {kind} are in one PodGroup, so {group.own} of {group.name} is left out."
    if scheduler == "kai" and elastic and kind != "Job":
        yield f"KAI takes the minimum of a {kind} from its own fields, so {parts.gang.least} pods are left out."
    if scheduler == "kube-scheduler" and (kind not in _WITH_GROUP or _is_volcano(workload)):
        yield f"dra-lab does not know that the schema of {kind} has schedulingGroup; without, the API server drops it."
    if parts.channels:
        yield f"dra-lab writes no ComputeDomain for a {kind} of yours; its pods need one to use NVLink between nodes."
