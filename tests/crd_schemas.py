"""The schemas of other schedulers: what an API server would say of an object, with the CEL rules over `self`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import kubernetes_validate
import pytest
import yaml
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional
from small_nodes import SHARED
from strict_schemas import validate_strictly

from dra_lab.cel.functions import declarations
from dra_lab.cel.values import POOL

FILES = {
    "kueue.x-k8s.io/v1beta2/Topology": "kueue/kueue.x-k8s.io_topologies.yaml",
    "kueue.x-k8s.io/v1beta2/ResourceFlavor": "kueue/kueue.x-k8s.io_resourceflavors.yaml",
    "kueue.x-k8s.io/v1beta2/ClusterQueue": "kueue/kueue.x-k8s.io_clusterqueues.yaml",
    "kueue.x-k8s.io/v1beta2/Cohort": "kueue/kueue.x-k8s.io_cohorts.yaml",
    "kueue.x-k8s.io/v1beta2/LocalQueue": "kueue/kueue.x-k8s.io_localqueues.yaml",
    "kai.scheduler/v1alpha1/Topology": "kai/kai.scheduler_topologies.yaml",
    "scheduling.run.ai/v2alpha2/PodGroup": "kai/scheduling.run.ai_podgroups.yaml",
    "batch.volcano.sh/v1alpha1/Job": "volcano/batch.volcano.sh_jobs.yaml",
    "topology.volcano.sh/v1alpha1/HyperNode": "volcano/topology.volcano.sh_hypernodes.yaml",
    "scheduling.volcano.sh/v1beta1/PodGroup": "volcano/scheduling.volcano.sh_podgroups.yaml",
    "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet": "lws/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    "jobset.x-k8s.io/v1alpha2/JobSet": "jobset/jobset.x-k8s.io_jobsets.yaml",
    "autoscaling.x-k8s.io/v1/ProvisioningRequest": "autoscaler/autoscaling.x-k8s.io_provisioningrequests.yaml",
    "karpenter.sh/v1alpha1/NodeOverlay": "karpenter/karpenter.sh_nodeoverlays.yaml",
    "resource.nvidia.com/v1beta1/ComputeDomain": "nvidia/resource.nvidia.com_computedomains.yaml",
}
"""Where `../shared/crds` has the schema of each version and kind."""

CONFIGURATION = "config.kueue.x-k8s.io/v1beta2/Configuration"
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def kind_of(document: dict[str, Any]) -> str:
    """Return `apiVersion/Kind`."""
    return f"{document['apiVersion']}/{document['kind']}"


def problems(document: dict[str, Any], release: str = "1.36") -> list[str]:
    """Return why an API server would refuse an object or drop a field of it; skips without the schemas."""
    kind = kind_of(document)
    if kind == CONFIGURATION:
        return list(_configuration(document))
    if kind not in FILES:
        try:
            validate_strictly(document, release)
        except kubernetes_validate.ValidationError as error:
            return [f"{kind}: {error.message}"]
        return []
    known = {**document, "metadata": {}}
    return [f"{kind}: {problem}" for problem in _problems(schema(kind), known, "")]


@cache
def schema(kind: str) -> dict[str, Any]:
    """Return the schema of a version and kind; skips where the file is absent."""
    path = SHARED / "crds" / FILES[kind]
    if not path.exists():
        pytest.skip(f"the schemas of other schedulers are not at hand ({path})")
    definition = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    version = kind.split("/")[-2]
    found = next(one for one in definition["spec"]["versions"] if one["name"] == version)
    return found["schema"]["openAPIV3Schema"]


def fields(kind: str, path: str) -> set[str]:
    """Return the fields that a schema has at a path such as `spec.tasks[*]`."""
    here = schema(kind)
    for step in path.replace("[*]", ".[*]").split("."):
        here = here["items"] if step == "[*]" else here["properties"][step]
    return set(here["properties"])


def rules(kind: str) -> tuple[list[str], list[str]]:
    """Return the CEL rules of a schema that are evaluated, and those that compare with the object before."""
    every = sorted(set(_rules(schema(kind))))
    return [rule for rule in every if "oldSelf" not in rule], [rule for rule in every if "oldSelf" in rule]


def _rules(here: Any) -> Iterator[str]:
    if isinstance(here, dict):
        for name, value in here.items():
            if name == "x-kubernetes-validations" and isinstance(value, list):
                yield from (one["rule"] for one in value)
            else:
                yield from _rules(value)
    elif isinstance(here, list):
        for one in here:
            yield from _rules(one)


def _problems(here: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if here.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str) or isinstance(value, bool):
            yield f"{path}: {value!r} is neither a number nor text"
        return
    wanted = here.get("type")
    if wanted and (not isinstance(value, TYPES[wanted]) or (wanted == "integer" and isinstance(value, bool))):
        yield f"{path}: {value!r} is not of type {wanted}"
        return
    if isinstance(value, dict):
        yield from _of_object(here, value, path)
    elif isinstance(value, list):
        if not here.get("minItems", 0) <= len(value) <= here.get("maxItems", 10**9):
            yield f"{path}: {len(value)} items"
        keys = here.get("x-kubernetes-list-map-keys")
        named = [tuple(str(item.get(key)) for key in keys) for item in value] if keys else []
        if len(set(named)) < len(named):
            yield f"{path}: items with the same {keys}"
        for index, item in enumerate(value):
            yield from _problems(here.get("items", {}), item, f"{path}[{index}]")
    else:
        yield from _of_scalar(here, value, path)
    yield from _broken_rules(here, value, path)


def _of_object(here: dict[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    known = here.get("properties", {})
    others = here.get("additionalProperties", {} if here.get("x-kubernetes-preserve-unknown-fields") else None)
    yield from (f"{path}: {name} is missing" for name in here.get("required", ()) if name not in value)
    if len(value) > here.get("maxProperties", 10**9):
        yield f"{path}: {len(value)} fields"
    for name, item in value.items():
        inner = known.get(name, others if isinstance(others, dict) else None)
        if inner is not None:
            yield from _problems(inner, item, f"{path}.{name}")
        elif not (path.endswith("metadata") and not known):
            yield f"{path}: there is no field {name}"


def _of_scalar(here: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if "enum" in here and value not in here["enum"]:
        yield f"{path}: {value!r} is none of {here['enum']}"
    if isinstance(value, str):
        if not here.get("minLength", 0) <= len(value) <= here.get("maxLength", 10**9):
            yield f"{path}: {value!r} has {len(value)} characters"
        if "pattern" in here and not re.search(here["pattern"], value):
            yield f"{path}: {value!r} is not {here['pattern']}"
    elif not here.get("minimum", -(10**18)) <= value <= here.get("maximum", 10**18):
        yield f"{path}: {value!r} is out of range"


def _broken_rules(here: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    for one in here.get("x-kubernetes-validations", ()):
        if "oldSelf" not in one["rule"] and not holds(one["rule"], value):
            yield f"{path}: {one.get('message', one['rule'])}"


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Return the environment of our own selectors with the one variable `self`."""
    extensions = [ext_bindings.ExtBindings(), ext_optional.ExtOptional()]
    functions = declarations(typed=False)
    return cel.NewEnv(POOL, variables={"self": cel.Type.DYN}, extensions=extensions, functions=functions)


@cache
def _program(rule: str) -> Any:
    return _environment().compile(rule)


def holds(rule: str, value: Any) -> bool:
    """Evaluate a rule of a schema over a value."""
    return _program(rule).eval(data={"self": value}).value() is True


def _configuration(document: dict[str, Any]) -> Iterator[str]:
    """Yield what is no part of Kueue's Configuration (`DeviceClassMapping` in its Go source)."""
    if set(document) != {"apiVersion", "kind", "resources"} or set(document["resources"]) != {"deviceClassMappings"}:
        yield "Configuration has other fields"
    for row in document["resources"]["deviceClassMappings"]:
        if set(row) != {"name", "deviceClassNames"} or not row["deviceClassNames"] or len(row["name"]) > 253:
            yield f"Configuration: {row}"
