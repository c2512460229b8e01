"""Documents to a Cluster: what belongs to the snapshot, and what is missing from it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import KINDS, Documents
from dra_lab.model.claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node
from dra_lab.model.pods import Pod
from dra_lab.model.queues import QueueObject
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import CustomValue, TopologyObject
from dra_lab.sources.snapshot_info import FILE as SNAPSHOT
from dra_lab.sources.snapshot_info import SnapshotInfo, check_age, file_places_of, findings_of

KUBECTL = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json"
"""The command that writes everything that is needed into one file."""

NOT_USED = frozenset(("document-broken", "file-broken", "version-old", "version-unknown"))
"""Rules of the findings about a document or file that counts as absent."""


def assemble(documents: Documents, name: str, *, read_at: str = "", info: SnapshotInfo | None = None) -> Cluster:
    """Return the snapshot that documents make; `name` is what the person gave.

    `read_at` is when the cluster was read, as far as it is known. `info` is what the description of a captured
    snapshot says: then the time is that of the capture, and what was missing is what was missing then.

    Raises SourceError when they hold neither a ResourceSlice nor a Node.
    """
    findings = list(documents.findings)
    kept = _latest(documents, findings)
    slices, nodes = _of(kept, ResourceSlice), _of(kept, Node)
    if not slices and not nodes:
        first = next((str(f) for f in findings if f.rule in NOT_USED), "")
        reason = f" First problem: {first}" if first else ""
        raise SourceError(f"there are no ResourceSlices and no Nodes in {name!r}; write them with: {KUBECTL}.{reason}")
    claims = _of(kept, ResourceClaim)
    if info is None:
        known = _check_claims(claims, slices, name, findings)
    else:
        read_at, known = info.captured_at, info.claims_known
        findings += findings_of(info, name)
        found = Counter(map(_kind_of, kept))
        for kind, count in sorted(info.counts.items()):
            if kind in KINDS and found[kind] != count:
                message = f"{found[kind]:,} of the {count:,} captured objects of kind {kind} are left"
                advice = (
                    "The snapshot is damaged or was changed; capture the cluster again, or download the snapshot again."
                )
                where = Origin(name, object=SNAPSHOT)
                findings.append(Finding("snapshot-incomplete", Severity.WARNING, name, message, advice, where))
    findings += check_age(read_at, name, datetime.now().astimezone())
    return Cluster(
        slices,
        _of(kept, DeviceClass),
        nodes,
        claims,
        _of(kept, DeviceTaintRule),
        name,
        read_at,
        tuple(findings),
        known,
        _of(kept, Pod),
        file_places=file_places_of(info.file_places) if info is not None else {},
        topologies=_of(kept, TopologyObject),
        queues=_of(kept, QueueObject),
        templates=_of(kept, ResourceClaimTemplate) or None,
        server_version=info.server_version if info is not None else "",
    )


def _of(items: list[Any], kind: Any) -> tuple[Any, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def _kind_of(item: object) -> str:
    return item.kind if isinstance(item, CustomValue) else type(item).__name__


def _latest(documents: Documents, findings: list[Finding]) -> list[Any]:
    seen: dict[tuple[str, str, str], tuple[Any, Origin]] = {}
    for item, origin in documents.objects:
        kind = _kind_of(item)
        # one name may be there in two groups
        key = (
            f"{kind} {item.group}" if isinstance(item, CustomValue) else kind,
            item.metadata.namespace,
            item.metadata.name or str(origin),  # `generateName`: several manifests without a name are several objects
        )
        before = seen.pop(key, None)
        seen[key] = (item, origin)
        if before is not None and before[0] != item:
            message = f"{kind} {item.metadata.name!r} appears twice with different content; dra-lab uses the later one"
            advice = f"The earlier one is in {before[1]}; remove one of them."
            findings.append(Finding("object-twice", Severity.WARNING, item.metadata.name, message, advice, origin))
    return [item for item, _ in seen.values()]


def _check_claims(
    claims: tuple[ResourceClaim, ...], slices: tuple[ResourceSlice, ...], name: str, findings: list[Finding]
) -> bool:
    if not slices or name.startswith("sample:"):
        return True
    if not claims:
        message = "no ResourceClaims were read, so it is not known which devices are in use; all devices look free"
        findings.append(Finding("claims-missing", Severity.WARNING, name, message, f"Read them with: {KUBECTL}"))
        return False
    namespaces = {claim.metadata.namespace for claim in claims}
    if len(namespaces) == 1:
        namespace = next(iter(namespaces))
        whence = f"are from the namespace {namespace!r}" if namespace else "have no namespace"
        message = f"all ResourceClaims {whence}; if other namespaces have claims, their devices look free"
        findings.append(
            Finding("claims-one-namespace", Severity.WARNING, name, message, f"Read all with -A: {KUBECTL}")
        )
    return True
