"""Snapshots: a cluster as a folder or a `.tar.gz` that can be sent, kept, and read like any other cluster."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from dra_lab.errors import DraLabError, ExportError
from dra_lab.manifests.documents import KINDS
from dra_lab.model.claims import DeviceAllocationResult, DeviceClass, ResourceClaim, ResourceClaimStatus
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.model.pods import Container, Pod, PodSpec, ResourceRequirements
from dra_lab.model.queues import CUSTOM_KINDS
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import PLURALS, CustomValue, ResourceFlavor
from dra_lab.sources.archives import archive_bytes, read_archive
from dra_lab.sources.drawing_files import put_whole
from dra_lab.sources.files import ARCHIVES, is_archive
from dra_lab.sources.snapshot_info import FILE, SnapshotInfo, decode_info, encode_info, kept_places, noted

FILES = {
    "DeviceClass": "deviceclasses.json",
    "DeviceTaintRule": "devicetaintrules.json",
    "Node": "nodes.json",
    "Pod": "pods.json",
    "ResourceClaim": "resourceclaims.json",
    "ResourceSlice": "resourceslices.json",
    **{kind: f"{PLURALS[kind]}.json" for kind in CUSTOM_KINDS},
}
"""The files of a snapshot next to its description, one per kind, each a `kind: List`."""

_LIST_HEAD = b'{"apiVersion":"v1","kind":"List","items":[\n'
_LIST_TAIL = b"\n]}\n"


class Snapshot(Struct, frozen=True):
    """A snapshot before it is written: what it says of itself, and the bytes of its files by name, sorted."""

    info: SnapshotInfo
    files: Mapping[str, bytes]


def make_snapshot(
    cluster: Cluster, *, replaced: Mapping[str, int] | None = None, left_out: Mapping[str, int] | None = None
) -> Snapshot:
    """Return the snapshot of a cluster: only what planning needs, in the API's own documents.

    `replaced` counts what was made anonymous in `cluster` before, None where nothing was; `left_out` what was left out
    of it then. The bytes of one cluster are always the same.
    """
    kept, dropped = portable(cluster)
    parts: dict[str, tuple[Any, ...]] = {
        "DeviceClass": kept.classes,
        "DeviceTaintRule": kept.taint_rules,
        "Node": kept.nodes,
        "Pod": kept.pods,
        "ResourceClaim": kept.claims,
        "ResourceSlice": kept.slices,
    }
    for kind, model in CUSTOM_KINDS.items():
        if found := tuple(item for item in (*kept.topologies, *kept.queues) if isinstance(item, model)):
            parts[kind] = found
    counts = {kind: len(items) for kind, items in parts.items()}
    counts["Device"] = sum(len(item.spec.devices or ()) for item in kept.slices)
    info = SnapshotInfo(
        captured_at=cluster.read_at,
        source=_source(cluster.name, anonymised=replaced is not None),
        anonymised=replaced is not None,
        claims_known=cluster.claims_known,
        counts=counts,
        left_out=dict(sorted((Counter(dropped) + Counter(left_out or {})).items())),
        replaced=dict(replaced or {}),
        findings=noted(cluster.findings, anonymised=replaced is not None),
        file_places=kept_places(cluster.file_places),
        server_version=cluster.server_version,
    )
    files = {}
    for kind, items in parts.items():
        # one object a line: as small as JSON is, and a change of one object is a change of one line
        head = f'{{"apiVersion":"{KINDS[kind][0]}","kind":"{kind}",'.encode()
        if kind in CUSTOM_KINDS:  # of several groups: they say themselves of which
            head = f'{{"kind":"{kind}",'.encode()
        rows = (head + msgspec.json.encode(item)[1:] for item in items)
        files[FILES[kind]] = _LIST_HEAD + b",\n".join(rows) + _LIST_TAIL
    return Snapshot(info, dict(sorted({**files, FILE: encode_info(info)}.items())))


def write_snapshot(snapshot: Snapshot, out: Path | str) -> None:
    """Write a snapshot to a folder, or to one file where the name ends in `.tar.gz` or `.tgz`: whole or not at all.

    Only its owner may read it, because it says much about a cluster. It is written next to `out` and renamed. What is
    at `out` already is replaced where it is a snapshot, and is left alone otherwise. Raises ExportError, and then `out`
    is as it was.
    """
    out = Path(out)
    try:
        _check_place(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        if is_archive(out):
            put_whole(out, archive_bytes(snapshot.files), 0o600)
        else:
            _write_folder(out, snapshot.files)
    except OSError as error:
        raise ExportError(f"{str(out)!r} cannot be written: {error.strerror or error}; nothing was changed") from None


def _source(name: str, *, anonymised: bool) -> str:
    """Return where a cluster came from without the folders of a path, which may name people and projects."""
    scheme, colon, _ = name.partition(":")
    if colon and scheme in ("context", "sample"):
        return f"{scheme}:" if anonymised and scheme == "context" else name
    return "files" if anonymised else Path(name).name


def _check_place(out: Path) -> None:
    if not out.exists() and not out.is_symlink():
        return
    if is_archive(out):
        ours = out.is_file() and _is_snapshot_archive(out)
    else:
        ours = out.is_dir() and (not any(out.iterdir()) or _is_snapshot_folder(out))
    if not ours:
        what = "is not a snapshot" if not out.is_dir() else "contains something other than a snapshot"
        raise ExportError(
            f"{str(out)!r} exists and {what}, so nothing is written. Move it away, or give another name"
            f" (a folder, or a file ending in {' or '.join(ARCHIVES)})"
        )


def _is_snapshot_folder(folder: Path) -> bool:
    with suppress(OSError, DraLabError):
        if decode_info((folder / FILE).read_bytes(), FILE) is not None:
            return all(entry.is_file() and entry.suffix == ".json" for entry in folder.iterdir())
    return False


def _is_snapshot_archive(path: Path) -> bool:
    with suppress(DraLabError), path.open("rb") as data:
        infos = (one for one in read_archive(data, str(path)) if one[0].rpartition("/")[2] == FILE)
        return any(decode_info(content, name) is not None for name, content in infos)
    return False


def _write_folder(out: Path, files: Mapping[str, bytes]) -> None:
    temporary = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".tmp"))
    try:
        for name, content in files.items():
            put_whole(temporary / name, content, 0o600)
        before = temporary.with_suffix(".old")
        if out.exists():
            out.rename(before)
        try:
            temporary.rename(out)
        except BaseException:
            if before.exists():
                before.rename(out)
            raise
        shutil.rmtree(before, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


# --------------------------------------------------------------------- what is kept

_STATUS_KEYS = ("driver", "pool", "device", "shareID", "conditions")
_CONDITION_KEYS = ("type", "status", "observedGeneration", "lastTransitionTime")
_TAINT_KEYS = ("key", "value", "effect")
_TOLERATION_KEYS = (*_TAINT_KEYS, "operator")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""The field of an affinity that kube-scheduler must obey."""

_Custom = TypeVar("_Custom", bound=CustomValue)


def portable(cluster: Cluster) -> tuple[Cluster, dict[str, int]]:
    """Return a cluster with what planning needs of it, and how much of what was left out, by its name in the API.

    All labels of nodes stay, since a pod's nodeSelector may name any; other objects keep none.
    """
    left_out: Counter[str] = Counter()
    left_out["config"] += sum(len(item.spec.config) for item in cluster.classes)
    kept = replace(
        cluster,
        slices=tuple(ResourceSlice(_meta(item.metadata, left_out), item.spec) for item in cluster.slices),
        classes=tuple(
            DeviceClass(metadata=_meta(item.metadata, left_out), spec=structs.replace(item.spec, config=()))
            for item in cluster.classes
        ),
        nodes=tuple(_node(item, left_out) for item in cluster.nodes),
        claims=tuple(_claim(item, left_out) for item in cluster.claims),
        taint_rules=tuple(DeviceTaintRule(_meta(item.metadata, left_out), item.spec) for item in cluster.taint_rules),
        pods=tuple(_pod(item, left_out) for item in cluster.pods if item.uses_claims),
        topologies=tuple(_custom(item, left_out) for item in cluster.topologies),
        queues=tuple(_custom(item, left_out) for item in cluster.queues),
    )
    return kept, dict(sorted((name, count) for name, count in left_out.items() if count))


def _picked(entries: Iterable[Mapping[str, object]], keys: tuple[str, ...]) -> tuple[dict[str, object], ...]:
    """Return JSON objects with some of their keys."""
    return tuple({key: entry[key] for key in keys if key in entry} for entry in entries)


def _meta(meta: ObjectMeta, left_out: Counter[str], *, labels: bool = False) -> ObjectMeta:
    left_out["annotations"] += len(meta.annotations)
    if not labels:
        left_out["labels"] += len(meta.labels)
    return ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        labels=meta.labels if labels else {},
        deletion_timestamp=meta.deletion_timestamp,
    )


def _node(item: Node, left_out: Counter[str]) -> Node:
    spec = NodeSpec(unschedulable=item.spec.unschedulable, taints=_picked(item.spec.taints, _TAINT_KEYS))
    return Node(metadata=_meta(item.metadata, left_out, labels=True), spec=spec, status=item.status)


def _claim(item: ResourceClaim, left_out: Counter[str]) -> ResourceClaim:
    devices, allocation = item.spec.devices, item.status.allocation
    left_out["config"] += len(devices.config) + (len(allocation.devices.config) if allocation is not None else 0)
    if allocation is not None:
        allocation = structs.replace(allocation, devices=DeviceAllocationResult(results=allocation.devices.results))
    status = ResourceClaimStatus(
        allocation=allocation,
        reserved_for=item.status.reserved_for,
        devices=tuple(_device_status(entry, left_out) for entry in item.status.devices),
    )
    spec = structs.replace(item.spec, devices=structs.replace(devices, config=()))
    return ResourceClaim(metadata=_meta(item.metadata, left_out), spec=spec, status=status)


def _device_status(entry: dict[str, object], left_out: Counter[str]) -> dict[str, object]:
    left_out["status.devices"] += sum(1 for key in entry if key not in _STATUS_KEYS)
    (kept,) = _picked([entry], _STATUS_KEYS)
    conditions = kept.get("conditions")
    if isinstance(conditions, list | tuple):
        kept["conditions"] = list(_picked((one for one in conditions if isinstance(one, dict)), _CONDITION_KEYS))
    return kept


def _custom(item: _Custom, left_out: Counter[str]) -> _Custom:
    kept = structs.replace(item, metadata=_meta(item.metadata, left_out))
    if isinstance(kept, ResourceFlavor):
        taints = _picked(kept.spec.node_taints, _TAINT_KEYS)
        tolerations = _picked(kept.spec.tolerations, _TOLERATION_KEYS)
        kept = structs.replace(kept, spec=structs.replace(kept.spec, node_taints=taints, tolerations=tolerations))
    return kept


def _pod(item: Pod, left_out: Counter[str]) -> Pod:
    spec, status = item.spec, item.status
    claimed = any(isinstance(one, dict) and one.get("persistentVolumeClaim") is not None for one in spec.volumes)
    containers, first = (
        tuple(Container(name=one.name, resources=_resources(one.resources)) for one in group)
        for group in (spec.containers, spec.init_containers)
    )
    kept = PodSpec(
        containers=containers,
        init_containers=first,
        resource_claims=spec.resource_claims,
        node_name=spec.node_name,
        node_selector=spec.node_selector,
        affinity=_affinity(spec.affinity),
        tolerations=_picked(spec.tolerations, _TOLERATION_KEYS),
        topology_spread_constraints=({},) if spec.topology_spread_constraints else (),
        volumes=({"persistentVolumeClaim": {}},) if claimed else (),
        overhead=spec.overhead,
        resources=spec.resources,
        scheduling_gates=tuple({"name": one.get("name")} for one in spec.scheduling_gates),
        scheduling_group={"": ""} if spec.scheduling_group else {},
        scheduler_name=spec.scheduler_name,
    )
    running, initial = (
        tuple(one for one in group if one.allocated_resources_status)
        for group in (status.container_statuses, status.init_container_statuses)
    )
    status = structs.replace(status, conditions=(), container_statuses=running, init_container_statuses=initial)
    return Pod(metadata=_meta(item.metadata, left_out), spec=kept, status=status)


def _resources(needs: ResourceRequirements) -> ResourceRequirements:
    return ResourceRequirements(claims=needs.claims, limits=needs.limits, requests=needs.requests)


def _affinity(affinity: dict[str, object]) -> dict[str, object]:
    """Return the required affinity of a pod; of that to other pods, only that there is one."""
    found: dict[str, object] = {}
    for field, value in affinity.items():
        required = value.get(REQUIRED) if isinstance(value, dict) else None
        if required:
            found[field] = {REQUIRED: required if field == "nodeAffinity" else [{}]}
    return found
