"""An export as a folder for Git: manifests, a workload that uses them, kustomization, and the record of the plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.exports.extra_files import Exported, extra_texts
from dra_lab.exports.manifests import ManifestFiles, manifest_files
from dra_lab.exports.outcome import export_answer
from dra_lab.exports.requested_twice import requested_twice
from dra_lab.exports.simulation import UNKNOWN, Simulation, simulation_of
from dra_lab.exports.workload import kustomize_patch, patch_copy
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.exports.written_files import write_files
from dra_lab.findings import Finding, sort_findings
from dra_lab.manifests.file_text import expanded
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, claims_of, pod_drawing
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.pinning.replay_result import Replay
from dra_lab.pinning.search_budget import WithinSearchBudget
from dra_lab.pinning.written_manifests import Written
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.manifest_target import KINDS, Target
from dra_lab.words.plan_json import plan_json
from dra_lab.words.plan_outcome import FITS, plan_outcome

KUSTOMIZATION = "kustomization.yaml"
ANNOTATION = "dra-lab"
"""Prefix of the annotations that `annotate` writes."""


@dataclass(frozen=True)
class Wanted:
    """The files of an export besides the claim or template, `kustomization.yaml` and `plan.json`.

    Args:
        example: The example that uses the claim: "pod", "deployment", "statefulset", "job" or "none".
        workload: A workload from `read_workload`; its copy with the claim replaces the example. Default: none.
        container: The container that gets the devices; default "": the first.
        patch: Write a kustomize component that changes the workload where it is, instead of a copy.
        extra: Names of the extra files, for example "report" for README.md and a picture of the plan.
        annotate: Add the version of dra-lab and the digests of the inputs as annotations.

    Example:
        >>> from contextlib import closing
        >>> from dra_lab import Session, export
        >>> from dra_lab.exports.bundle import Wanted
        >>> with closing(Session("sample:two-sockets")) as session:
        ...     _ = session.plan()
        ...     files = export(session, "manifests", wanted=Wanted(example="job"))
        >>> [file.name for file in files]
        ['resourceclaimtemplate.yaml', 'job.yaml', 'kustomization.yaml', 'plan.json']
    """

    example: str = "pod"
    workload: WorkloadFile | None = None
    container: str = ""
    patch: bool = False
    extra: tuple[str, ...] = ()
    annotate: bool = False


@dataclass(frozen=True)
class Bundle:
    """The files of an export by name, what `plan.json` records, and what a person must know.

    `simulation` is what kube-scheduler does with them, `pinned_plan` the pins that were found, None if none were looked
    for.
    """

    texts: Mapping[str, str]
    record: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    simulation: Simulation = UNKNOWN
    pinned_plan: PinnedPlan | None = None

    @property
    def is_worse(self) -> bool:
        """Say whether it does less than the plan, or may do: then it is written only if a person accepts that."""
        return not self.record.get("answer", {}).get("asPlanned")

    @property
    def worse(self) -> str:
        """Return what must stand beside the button that writes it all the same, "" if it does what the plan says."""
        return self.simulation.sentence if self.is_worse else ""

    def refusal(self, pin: str, accept: str) -> str:
        """Return why it is not written, with the words for looking for pins and for accepting it; "" if it is."""
        if not self.is_worse:
            return ""
        fits = self.record.get("answer", {}).get("outcome") == FITS
        ways = f"{pin} to pin the plan, or {accept}" if fits and self.pinned_plan is None else accept
        return f"nothing is written. {self.simulation.sentence} Use {ways} to write the manifests as they are"


def make_bundle(
    sketch: ClaimSketch,
    cluster: Cluster,
    target: Target,
    wanted: Wanted | None = None,
    *,
    plan: Plan | None = None,
    written: Written | None = None,
) -> Bundle:
    """Return an export: the same drawing and target give the same bytes of every manifest, whatever is in use.

    Only `written` depends on the cluster: what a person asked to have pinned, and what keeps pods off nodes on which
    kube-scheduler would give up. Only the record contains the plan, its proofs, runs and pins, our
    version and the digests of the inputs, so that a new version changes no manifest. `annotate` adds them to the
    manifests too. Where a workload is patched in the same export the claim's name ends in a digest of its spec, because
    a template's spec is immutable. Raises InputError for a workload or target that cannot be written.
    """
    wanted, written = wanted or Wanted(), written or Written()
    replay, pinned_plan = written.replay, written.pinned_plan
    exported = written.exported[0] if written.exported else WithinSearchBudget(claims_of(sketch), ())
    drawn = pod_drawing(sketch.name, exported.sketches)
    workload = wanted.workload
    if workload is not None and workload.namespace and target.namespace not in ("", workload.namespace):
        raise InputError(
            f"{workload.name} is in the namespace {workload.namespace!r} and the claim in {target.namespace!r}, so "
            "its pods cannot use it; leave the claim's namespace out, or change the workload's"
        )
    if workload is not None and not target.namespace:
        target = Target(target.release, target.api_version, target.kind, workload.namespace)
    notes = tuple(f"  Pinned: {pin.text}" for pin in pinned_plan.pins) if pinned_plan else ()
    affinity = exported.affinity
    files = _manifests(drawn, cluster, target, wanted, plan, affinity, notes)
    texts = dict(files.texts)
    findings = [*files.findings, *written.findings, *exported.findings]
    patch = ""
    if workload is not None:
        make = kustomize_patch if wanted.patch else patch_copy
        made = make(workload, files.claims, container=wanted.container, affinity=affinity, entries=drawn.claims)
        texts[made.name], patch = made.text, made.name if wanted.patch else ""
        findings += (*made.findings, *(one for claim in files.claims for one in requested_twice(workload, claim)))
    if wanted.annotate:
        inputs = _inputs([sketch], cluster)
        texts |= {name: _annotated(texts[name], inputs) for name in files.claim_files}
    texts[KUSTOMIZATION] = kustomization([name for name in texts if name != patch], patch, workload)
    record = target_record(sketch.name, [sketch], cluster, target) | run_record(replay)
    if plan is not None:
        outcome = plan_outcome(plan)  # of the plan alone: pins may change what its manifest comes to
        record["plan"] = plan_json(plan) | {"outcome": outcome, "fits": outcome == FITS}
        record["answer"] = export_answer(plan, replay)
    simulation = simulation_of(plan, replay)
    if pinned_plan is not None:
        record["pins"] = pinned_plan.as_json()
    texts |= extra_texts(wanted.extra, Exported(cluster, target, [*texts], plan, drawn, replay, pinned_plan))
    return Bundle(texts, record, sort_findings(dict.fromkeys(findings)), simulation, pinned_plan)


def write_bundle(folder: str | Path, bundle: Bundle, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write an export to a folder; return the files, `plan.json` last. See `files.write_files`. Raises ExportError."""
    return write_files(expanded(folder), bundle.texts, bundle.record, overwrite=overwrite)


def write_manifests(
    folder: str | Path,
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    plan: Plan | None = None,
    namespace: str = "",
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write a template, an example pod, missing classes and `kustomization.yaml` to a folder; return the files.

    Raises ExportError.
    """
    target = Target(release, namespace=namespace)
    return write_bundle(folder, make_bundle(sketch, cluster, target, plan=plan), overwrite=overwrite)


def _manifests(
    sketch: ClaimSketch,
    cluster: Cluster,
    target: Target,
    wanted: Wanted,
    plan: Plan | None,
    affinity: Affinity,
    notes: tuple[str, ...],
) -> ManifestFiles:
    kind = "none" if wanted.workload is not None else wanted.example

    def files(names: Sequence[str] = ()) -> ManifestFiles:
        return manifest_files(
            sketch, cluster, target, plan=plan, example_kind=kind, affinity=affinity, objects=names, notes=notes
        )

    found = files()
    if wanted.workload is None:
        return found
    renamed = files([_with_digest(claim) for claim in found.claims])
    texts, claims = dict(renamed.texts), []
    for before, claim, file in zip(found.claims, renamed.claims, renamed.claim_files, strict=True):
        # the labels keep the name of the drawing, so that a later export knows what it replaces
        own, label = before.metadata.name, "app.kubernetes.io/name"
        texts[file] = texts[file].replace(f"{label}: {claim.metadata.name}\n", f"{label}: {own}\n")
        claims.append(replace(claim, metadata=replace(claim.metadata, labels={**claim.metadata.labels, label: own})))
    return replace(renamed, texts=texts, claims=tuple(claims))


def _with_digest(claim: ResourceClaimTemplate | ResourceClaim) -> str:
    """Return the name of a claim with a digest of its spec."""
    spec = claim.spec.spec if isinstance(claim, ResourceClaimTemplate) else claim.spec
    mark = hashlib.sha256(msgspec.json.encode(spec)).hexdigest()[:8]
    return f"{claim.metadata.name[:54].rstrip('-')}-{mark}"


def kustomization(names: list[str], patch: str = "", workload: WorkloadFile | None = None) -> str:
    """Return the `kustomization.yaml` of files, or with `patch` the component that patches a workload where it is."""
    resources = [name for name in names if name.endswith((".yaml", ".yml", ".json"))]
    if not patch or workload is None:
        head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
        return dump_yaml({**head, "resources": resources})
    head = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
    target = {"kind": workload.kind, "name": workload.subject}
    return dump_yaml({**head, "resources": resources, "patches": [{"path": patch, "target": target}]})


def _inputs(drawings: Sequence[ClaimSketch], cluster: Cluster) -> dict[str, str]:
    parts = (cluster.slices, cluster.classes, cluster.nodes, cluster.claims, cluster.taint_rules)
    whole = hashlib.sha256()
    for part in parts:
        whole.update(msgspec.json.encode(part))
    drawn = hashlib.sha256(b"".join(msgspec.json.encode(sketch) for sketch in drawings))
    return {"drawing": drawn.hexdigest(), "cluster": whole.hexdigest()}


def _annotated(text: str, inputs: Mapping[str, str]) -> str:
    rows = {"version": metadata.version("dra-lab"), **{f"{name}-digest": value for name, value in inputs.items()}}
    lines = "".join(f"    {ANNOTATION}/{key}: {json.dumps(value)}\n" for key, value in rows.items())
    return text.replace("\nspec:\n", f"\n  annotations:\n{lines}spec:\n", 1)


def target_record(name: str, drawings: Sequence[ClaimSketch], cluster: Cluster, target: Target) -> dict[str, Any]:
    """Return what `plan.json` says of the inputs: what it is written for, which cluster, the digests of both."""
    return {
        "name": name,
        "writtenBy": f"dra-lab {metadata.version('dra-lab')}",
        "target": {
            "release": str(target.release),
            "apiVersion": f"resource.k8s.io/{target.api_version}",
            "kind": KINDS[target.kind],
        },
        "cluster": cluster.name,
        "readAt": cluster.read_at,
        "inputs": _inputs(drawings, cluster),
    }


def run_record(replay: Replay | None) -> dict[str, Any]:
    """Return what `plan.json` says of a run of first fit."""
    return {} if replay is None else {"loop": replay.as_json()}
