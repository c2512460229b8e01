"""The pod templates of every kind of workload, how many pods each runs and what they are for: one table for all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dra_lab.manifests.documents import without_nulls
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.decoding import from_builtins
from dra_lab.model.pods import PodSpec

MAX_DEPTH = 24
RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
TRAINER_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
"""Label of a replicated job in a training runtime: which step of a TrainJob it runs (kubeflow/trainer, constants)."""

_COUNTS = ("replicas", "parallelism", "numNodes")
"""Fields next to or above a pod template that say how many pods run, in a kind that is not in the table."""

_STEP = re.compile(r"\[(?:\d+|\*)\]|[^.\[\]]+")


class PodField(Struct, frozen=True):
    """A field of an object that holds a pod's spec.

    `path` leads to the spec as written; `pods` is how many of these pods run at a time, and `counts` are the fields
    that say so. `helper` is what pods do that start, direct or prepare the work of others (launcher, head, submitter,
    initializer), "" for pods that do the work. `per_node` says that one pod runs on each node (DaemonSet).
    """

    path: str
    spec: Any
    pods: int
    counts: tuple[str, ...] = ()
    helper: str = ""
    per_node: bool = False

    @property
    def template(self) -> str:
        """Return the path of the pod template, as `--template` takes it; of a Pod the path of its spec."""
        return self.path.removesuffix(".spec")


Object = Mapping[str, Any]
Bound = Sequence[str]
"""The steps of a path that stand for the wildcards of a row, in their order."""


class _Row(Struct, frozen=True):
    """Where a kind has a pod's spec. `*` is any key and `[*]` any item of a list.

    The pods are the product of `counts`, unless `pods` computes them.
    """

    path: str
    counts: tuple[str, ...] = ()
    helper: str = ""
    pods: Callable[[Object, Bound], int] | None = None
    helps: Callable[[Object, Bound], str] | None = None


def pod_fields(value: Object) -> tuple[PodField, ...]:
    """Return the pod templates of an object, in the order of the table or, for other kinds, of the file.

    A kind that is not in the table has a template wherever a mapping `spec` or `podSpec` has a list `containers`. An
    object inside another (AppWrapper, List) counts by its own kind. A count that is no whole number above zero counts
    as 1, because it is then not known how many pods will run.
    """
    return tuple(_known(value)) or tuple(_search_templates(value, value, "", (), 0))


# ---------------------------------------------------------------- how many pods


def whole(value: Any, missing: int = 1) -> int:
    """Return a count; `missing` where there is none, none above zero, or one that the API server refuses."""
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31
    return value if counts else missing


def _product(value: Object, counts: Sequence[str]) -> int:
    pods = 1
    for path in counts:
        number = whole(value_at(value, path))
        if path.endswith("parallelism"):
            # a Job never runs more pods than it still has to complete
            number = min(number, whole(value_at(value, f"{path.removesuffix('parallelism')}completions"), number))
        pods *= number
    return pods


def _group_workers(group: str) -> Callable[[Object, Bound], int]:
    """Return the workers of a LeaderWorkerSet: `size` counts the leader, which has a template of its own or not."""

    def pods(value: Object, bound: Bound) -> int:
        spec = value_at(value, _filled(group, bound)) or {}
        leader = isinstance(value_at(spec, "leaderWorkerTemplate.leaderTemplate"), Mapping)
        size = whole(value_at(spec, "leaderWorkerTemplate.size")) - leader
        return whole(value.get("spec", {}).get("slices")) * whole(spec.get("replicas")) * size

    return pods


def _ray_workers(group: str) -> Callable[[Object, Bound], int]:
    """Return the pods of a group of Ray workers: KubeRay keeps `replicas` between its bounds, times `numOfHosts`."""

    def pods(value: Object, bound: Bound) -> int:
        spec = value_at(value, _filled(group, bound)) or {}
        replicas = max(whole(spec.get("replicas"), 0), whole(spec.get("minReplicas"), 0))
        most = spec.get("maxReplicas")
        replicas = min(replicas, whole(most, replicas))
        return (replicas or 1) * whole(spec.get("numOfHosts"))

    return pods


def _clique_pods(value: Object, bound: Bound) -> int:
    """Return the pods of a clique of a PodCliqueSet: a scaling group multiplies the cliques that it names."""
    template = value_at(value, "spec.template") or {}
    clique = value_at(template, f"cliques{bound[0]}") or {}
    pods = whole(value_at(value, "spec.replicas")) * whole(value_at(clique, "spec.replicas"))
    groups = template.get("podCliqueScalingGroups")
    for group in groups if isinstance(groups, list) else ():
        names = group.get("cliqueNames") if isinstance(group, Mapping) else None
        if isinstance(names, list) and clique.get("name") in names:
            pods *= whole(group.get("replicas"))
    return pods


def _runtime_step(value: Object, bound: Bound) -> str:
    labels = value_at(value, f"spec.template.spec.replicatedJobs{bound[0]}.template.metadata.labels")
    return str(labels.get(TRAINER_STEP) or "") if isinstance(labels, Mapping) else ""


def _mpi(value: Object) -> Object | None:
    mpi = value_at(value, "spec.mlPolicy.mpi")
    return mpi if isinstance(mpi, Mapping) else None


def _is_mpi_node(value: Object, bound: Bound) -> bool:
    job = value_at(value, f"spec.template.spec.replicatedJobs{bound[0]}.name")
    return _mpi(value) is not None and job == "node"


def _runtime_pods(value: Object, bound: Bound) -> int:
    """Return the pods of a training runtime's job: the trainer runs `numNodes`; with MPI its launcher may be one."""
    nodes, job = whole(value_at(value, "spec.mlPolicy.numNodes")), f"spec.template.spec.replicatedJobs{bound[0]}"
    mpi = _mpi(value)
    if mpi is not None and (_is_mpi_node(value, bound) or _runtime_step(value, bound) == "trainer"):
        launcher = not _is_mpi_node(value, bound)
        return 1 if launcher else max(nodes - 1, 1) if mpi.get("runLauncherAsNode") is True else nodes
    if _runtime_step(value, bound) == "trainer":
        return nodes
    return _product(value, (f"{job}.replicas", f"{job}.template.spec.parallelism"))


def _runtime_helper(value: Object, bound: Bound) -> str:
    step, mpi = _runtime_step(value, bound), _mpi(value)
    if step != "trainer":
        return step
    only_launches = mpi is not None and mpi.get("runLauncherAsNode") is not True and not _is_mpi_node(value, bound)
    return "launcher" if only_launches else ""


def _mpi_launcher(value: Object, bound: Bound) -> str:
    del bound
    return "" if value_at(value, "spec.runLauncherAsWorker") is True else "launcher"


# ---------------------------------------------------------------- the table


def _replica_specs(field: str) -> tuple[_Row, ...]:
    return (_Row(f"spec.{field}.*.template.spec", (f"spec.{field}.*.replicas",)),)


def _ray(cluster: str) -> tuple[_Row, ...]:
    group = f"{cluster}.workerGroupSpecs[*]"
    return (
        _Row(f"{cluster}.headGroupSpec.template.spec", helper="head"),
        _Row(f"{group}.template.spec", (f"{group}.replicas", f"{group}.numOfHosts"), pods=_ray_workers(group)),
    )


def _leader_workers(group: str, above: tuple[str, ...] = ()) -> tuple[_Row, ...]:
    inside, replicas = f"{group}.leaderWorkerTemplate", (*above, f"{group}.replicas")
    return (
        _Row(f"{inside}.leaderTemplate.spec", replicas),
        _Row(f"{inside}.workerTemplate.spec", (*replicas, f"{inside}.size"), pods=_group_workers(group)),
    )


_ONE = (_Row("spec.template.spec", ("spec.replicas",)),)
_JOB = "spec.jobTemplate.spec"
_JOBS = "spec.template.spec.replicatedJobs[*]"
_RUNTIME = (_Row(f"{_JOBS}.template.spec.template.spec", pods=_runtime_pods, helps=_runtime_helper),)
_SERVING = tuple(
    _Row(f"spec.{part}", (f"spec.{part}.minReplicas",)) for part in ("predictor", "transformer", "explainer")
)

_TABLE: Mapping[str, tuple[_Row, ...]] = {
    "Pod": (_Row("spec"),),
    "PodTemplate": (_Row("template.spec"),),
    "Deployment": _ONE,
    "ReplicaSet": _ONE,
    "ReplicationController": _ONE,
    "StatefulSet": _ONE,
    "DaemonSet": (_Row("spec.template.spec"),),
    # the second row is Volcano's Job
    "Job": (
        _Row("spec.template.spec", ("spec.parallelism",)),
        _Row("spec.tasks[*].template.spec", ("spec.tasks[*].replicas",)),
    ),
    "CronJob": (
        _Row(f"{_JOB}.template.spec", (f"{_JOB}.parallelism",)),
        _Row(f"{_JOB}.tasks[*].template.spec", (f"{_JOB}.tasks[*].replicas",)),
    ),
    "JobSet": (
        _Row(
            "spec.replicatedJobs[*].template.spec.template.spec",
            ("spec.replicatedJobs[*].replicas", "spec.replicatedJobs[*].template.spec.parallelism"),
        ),
    ),
    "MPIJob": (
        _Row("spec.mpiReplicaSpecs.Launcher.template.spec", helps=_mpi_launcher),
        *_replica_specs("mpiReplicaSpecs"),
    ),
    "PyTorchJob": _replica_specs("pytorchReplicaSpecs"),
    "TFJob": _replica_specs("tfReplicaSpecs"),
    "XGBoostJob": _replica_specs("xgbReplicaSpecs"),
    "PaddleJob": _replica_specs("paddleReplicaSpecs"),
    "JAXJob": _replica_specs("jaxReplicaSpecs"),
    **dict.fromkeys(RUNTIMES, _RUNTIME),
    "RayCluster": _ray("spec"),
    "RayJob": (*_ray("spec.rayClusterSpec"), _Row("spec.submitterPodTemplate.spec", helper="submitter")),
    "RayService": _ray("spec.rayClusterConfig"),
    "LeaderWorkerSet": _leader_workers("spec"),
    "DisaggregatedSet": _leader_workers("spec.roles[*].spec", ("spec.slices",)),
    "PodCliqueSet": (
        _Row(
            "spec.template.cliques[*].spec.podSpec",
            ("spec.replicas", "spec.template.cliques[*].spec.replicas"),
            pods=_clique_pods,
        ),
    ),
    "PodClique": (_Row("spec.podSpec", ("spec.replicas",)),),
    # Kueue's; the Workload of scheduling.k8s.io has no templates
    "Workload": (_Row("spec.podSets[*].template.spec", ("spec.podSets[*].count",)),),
    "InferenceService": _SERVING,
    "SparkApplication": (
        _Row("spec.driver.template.spec", helper="driver"),
        _Row("spec.executor.template.spec", ("spec.executor.instances",)),
    ),
}
"""Pod templates by kind. The schemas of these kinds say which fields count pods and what their defaults are."""


def _known(value: Object) -> Iterator[PodField]:
    """Yield the templates of an object by the rows of its kind; a template counts by the first row that has it."""
    kind = value.get("kind")
    seen: set[str] = set()
    for row in _TABLE.get(kind, ()) if isinstance(kind, str) else ():
        for path, spec, bound in _matches(value, _STEP.findall(row.path), "", ()):
            served = kind == "InferenceService" and isinstance(value_at(spec, "model"), Mapping)
            if path in seen or not (is_pod(spec) or served):
                continue
            seen.add(path)
            counts = tuple(_filled(count, bound) for count in row.counts)
            pods = row.pods(value, bound) if row.pods is not None else _product(value, counts)
            helper = row.helps(value, bound) if row.helps is not None else row.helper
            yield PodField(path, spec, pods, counts, helper, kind == "DaemonSet")


def matches(value: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield the paths of a pattern with their values; `*` is any key of a mapping and `[*]` any item of a list."""
    return ((path, found) for path, found, _ in _matches(value, _STEP.findall(pattern), "", ()))


def _matches(value: Any, steps: Sequence[str], path: str, bound: Bound) -> Iterator[tuple[str, Any, Bound]]:
    if not steps:
        yield path, value, bound
        return
    step, rest = steps[0], steps[1:]
    if step == "[*]":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _matches(item, rest, f"{path}[{index}]", (*bound, f"[{index}]"))
    elif isinstance(value, Mapping):
        for key in value if step == "*" else (step,) if step in value else ():
            more = (*bound, str(key)) if step == "*" else bound
            yield from _matches(value[key], rest, join_path(path, str(key)), more)


def _filled(pattern: str, bound: Bound) -> str:
    """Return a path with the wildcards replaced by the steps that another path of the same row has for them."""
    steps, found = iter(bound), ""
    for step in _STEP.findall(pattern):
        found = join_path(found, next(steps) if step in ("*", "[*]") else step)
    return found


def _search_templates(root: Object, value: Any, path: str, counts: tuple[str, ...], depth: int) -> Iterator[PodField]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _search_templates(root, item, f"{path}[{index}]", counts, depth + 1)
    if not isinstance(value, Mapping):
        return
    if depth and isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str):
        inside = [_within(root, found, path, counts) for found in _known(value)]
        if inside:
            yield from inside
            return
    here = (*counts, *(join_path(path, key) for key in _COUNTS if key in value))
    for key in ("spec", "podSpec"):
        if is_pod(value.get(key)):
            yield PodField(join_path(path, key), value[key], _product(root, here), here)
            return
    for key, child in value.items():
        if isinstance(key, str) and isinstance(child, (Mapping, list)) and key not in ("metadata", "status"):
            yield from _search_templates(root, child, join_path(path, key), here, depth + 1)


def _within(root: Object, found: PodField, path: str, counts: tuple[str, ...]) -> PodField:
    """Return a template of an inner object as one of the object around it."""
    inner = tuple(join_path(path, count) for count in found.counts)
    pods = found.pods * _product(root, counts)
    return replace(found, path=join_path(path, found.path), pods=pods, counts=(*counts, *inner))


def is_pod(spec: Any) -> bool:
    """Say whether a value is a pod's spec: a mapping with a list `containers`."""
    return isinstance(spec, Mapping) and isinstance(spec.get("containers"), list)


def join_path(path: str, step: str) -> str:
    """Return a path with another step: a key, or an item such as `[0]`."""
    return f"{path}{step}" if step.startswith("[") else f"{path}.{step}".lstrip(".")


def typed_spec(spec: Mapping[str, Any]) -> PodSpec | None:
    """Return a pod's spec as a model value, None for one that the API server would refuse."""
    try:
        return from_builtins(without_nulls(dict(spec)), PodSpec)
    except (msgspec.ValidationError, RecursionError):
        return None
