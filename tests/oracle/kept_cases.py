"""Random cases that found a mistake once, written out as they were drawn by generators that are gone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec

from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.workload import Workload

CASES = Path(__file__).with_name("kept_cases.ndjson.gz")
KINDS = {
    "slices": ResourceSlice,
    "classes": DeviceClass,
    "nodes": Node,
    "claims": ResourceClaim,
    "taint_rules": DeviceTaintRule,
}


def kept_case(name: str) -> tuple[Cluster, tuple[Workload, ...]]:
    """Return the cluster and the workloads of a kept case."""
    with gzip.open(CASES) as lines:
        case = next(case for case in map(json.loads, lines) if case["name"] == name)
    objects = {kind: msgspec.convert(case["cluster"][kind], tuple[made, ...]) for kind, made in KINDS.items()}
    workloads = tuple(
        Workload(f"w{number}", msgspec.convert(one["claims"], tuple[ClaimSketch, ...]), replicas=one["replicas"])
        for number, one in enumerate(case["workloads"])
    )
    return Cluster(**objects, name=name), workloads
