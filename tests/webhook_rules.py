"""What the webhooks of Kueue, KAI and Volcano refuse beyond their schemas, written down from their sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

KUEUE = "kueue.x-k8s.io/podset-"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
LABEL = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")


def refusals(document: dict[str, Any]) -> Iterator[str]:
    """Yield why an object is refused although its schema accepts it."""
    metadata = document.get("metadata", {})
    name = metadata.get("name", "")
    if document["kind"] != "Configuration" and (not NAME.match(name) or len(name) > 63):
        yield f"{document['kind']}: the name {name!r}"
    for value in metadata.get("labels", {}).values():
        if not LABEL.match(value) or len(value) > 63:
            yield f"{document['kind']}: the label {value!r}"
    version = document["apiVersion"]
    if version == "batch/v1":
        yield from _kueue([(document["spec"]["parallelism"], document["spec"]["template"])])
    elif version.startswith("jobset.x-k8s.io/"):
        jobs = document["spec"]["replicatedJobs"]
        yield from _kueue(
            [(one["template"]["spec"]["parallelism"], one["template"]["spec"]["template"]) for one in jobs]
        )
        for one in jobs:
            if len(f"{name}-{one['name']}-0-9999-abcde") > 63:
                yield f"JobSet: the pods of {one['name']} have too long names"
    elif version.startswith("scheduling.run.ai/"):
        yield from _kai(document["spec"])
    elif version.startswith("batch.volcano.sh/"):
        yield from _volcano(name, document["spec"])


def _kueue(pod_sets: list[tuple[int, dict[str, Any]]]) -> Iterator[str]:
    """Yield what `tas_validation.go` of Kueue 0.20 and its scheduler refuse."""
    groups: dict[str, list[tuple[int, str, str]]] = {}
    for count, template in pod_sets:
        notes = template["metadata"].get("annotations", {})
        required, preferred = notes.get(f"{KUEUE}required-topology"), notes.get(f"{KUEUE}preferred-topology")
        size, level = notes.get(f"{KUEUE}slice-size"), notes.get(f"{KUEUE}slice-required-topology")
        layers = notes.get(f"{KUEUE}slice-required-topology-constraints")
        group = notes.get(f"{KUEUE}group-name")
        if required and preferred:
            yield "Kueue: required and preferred"
        if (size is None) != (level is None) or (layers and size):
            yield "Kueue: half of a slice, or both forms"
        sizes = [row["size"] for row in json.loads(layers)] if layers else [int(size)] if size else []
        if (
            len(sizes) > 3
            or min(sizes, default=1) < 1
            or any(outer % inner for outer, inner in zip([count, *sizes], sizes, strict=False))
        ):
            yield f"Kueue: {count} pods in slices of {sizes}"
        if group is not None:
            groups.setdefault(group, []).append((count, required or "", preferred or ""))
            if not (required or preferred) or group.isdigit():
                yield f"Kueue: the group {group}"
    for members in groups.values():
        if len(members) != 2 or min(members)[0] != 1 or len({one[1:] for one in members}) > 1:
            yield f"Kueue: the group has {members}"


def _kai(spec: dict[str, Any]) -> Iterator[str]:
    """Yield what `podgroup_webhook.go` of KAI 0.17.0 refuses."""
    groups = {one["name"]: one for one in spec.get("subGroups", ())}
    roots = [one for one in groups.values() if "parent" not in one]
    if len(groups) != len(spec.get("subGroups", ())) or ("minMember" in spec) == ("minSubGroup" in spec):
        yield "KAI: names that are there twice, or not one minimum"
    if "minSubGroup" in spec and not 1 <= spec["minSubGroup"] <= len(roots):
        yield "KAI: minSubGroup of the PodGroup"
    for one in groups.values():
        children = [other for other in groups.values() if other.get("parent") == one["name"]]
        if "parent" in one and one["parent"] not in groups:
            yield f"KAI: the parent of {one['name']}"
        if ("minMember" in one) == bool(children) or ("minSubGroup" in one and one["minSubGroup"] > len(children)):
            yield f"KAI: the minimum of {one['name']}"


def _volcano(name: str, spec: dict[str, Any]) -> Iterator[str]:
    """Yield what `admit_job.go` of Volcano 1.15.1 refuses."""
    tasks = spec["tasks"]
    if len({one["name"] for one in tasks}) < len(tasks):
        yield "Volcano: tasks of one name"
    if not 1 <= spec["minAvailable"] <= sum(one["replicas"] for one in tasks):
        yield "Volcano: minAvailable of the Job"
    topologies = [spec.get("networkTopology", {})]
    for one in tasks:
        if one["minAvailable"] > one["replicas"] or len(f"{name}-{one['name']}-9999") > 63:
            yield f"Volcano: the task {one['name']}"
        if cut := one.get("partitionPolicy"):
            topologies.append(cut["networkTopology"])
            whole, least = cut["totalPartitions"] * cut["partitionSize"], cut["minPartitions"] * cut["partitionSize"]
            if whole != one["replicas"] or (least and least != one["minAvailable"]):
                yield f"Volcano: the partitions of {one['name']}"
    if any({"highestTierAllowed", "highestTierName"} <= set(one) for one in topologies):
        yield "Volcano: a tier by number and by name"
