"""An export as a folder for Git: manifests, a workload that uses them, kustomization, and the record of the plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from dra_lab.errors import InputError
from dra_lab.exports.manifests import ManifestFiles, manifest_files
from dra_lab.exports.readme import FRAGMENTS, extra_texts, gang_readme, planned_domains
from dra_lab.exports.simulation import UNKNOWN, export_answer, simulation_of
from dra_lab.exports.workload import kustomize_patch, patch_copy, requested_twice
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.exports.written_files import write_files
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.file_text import expanded
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import QuantityText
from dra_lab.model.sketch import ClaimSketch, claims_of, pod_drawing
from dra_lab.model.workload import Workload
from dra_lab.pinning.pin_plan import PinnedPlan, Written
from dra_lab.pinning.pod_start import RUN_TIME_ERROR
from dra_lab.sketch.claim_objects import KINDS, Affinity, Target
from dra_lab.words.facts import sentence
from dra_lab.words.plan_json import FITS, plan_json, plan_outcome
from dra_lab.words.scheduler_sentences import Simulation

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
        gang: The gang that is written, alone. Default: every workload of the plan, none of which is a gang.
        scheduler: The scheduler that a gang is written for, one of SCHEDULERS.
        queue: The LocalQueue of Kueue, which may have a namespace, or the Queue of KAI or Volcano.
        held: Hold the pods of a gang to the planned domain.
        has_claims: The pods of `workload` have the claims of the gang already.
        requests: What a pod of each group of a gang requests of a node besides devices, by the group's name.
    """

    example: str = "pod"
    workload: WorkloadFile | None = None
    container: str = ""
    patch: bool = False
    extra: tuple[str, ...] = ()
    annotate: bool = False
    gang: Workload | None = None
    scheduler: str = ""
    queue: str = ""
    held: bool = False
    has_claims: bool = False
    requests: Mapping[str, Mapping[str, QuantityText]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bundle:
    """The files of an export by name, what `plan.json` records, and what a person must know.

    `simulation` is what kube-scheduler does with them, `pinned_plan` the pins that were found, None if none were looked
    for. `scheduler` is the one that a gang is written for, "" for other pods.
    """

    texts: Mapping[str, str]
    record: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    simulation: Simulation = UNKNOWN
    pinned_plan: PinnedPlan | None = None
    scheduler: str = ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings for which the scheduler of a gang refuses the files."""
        return tuple(one for one in self.findings if self.scheduler and one.severity is Severity.ERROR)

    @property
    def is_worse(self) -> bool:
        """Say whether it does less than the plan, or may do: then it is written only if a person accepts that."""
        return bool(self.errors) or not self.simulation.achieves

    @property
    def worse(self) -> str:
        """Return what must stand beside the button that writes it all the same, "" if it does what the plan says."""
        if self.errors:
            return f"Correct {'the error' if len(self.errors) == 1 else f'the {len(self.errors)} errors'} above."
        return self.simulation.sentence if self.is_worse else ""

    def refusal(self, pin: str, accept: str) -> str:
        """Return why it is not written, with the words for looking for pins and for accepting it; "" if it is."""
        if not self.is_worse:
            return ""
        fits = self.record.get("answer", {}).get("outcome") == FITS
        ways = f"{pin} to pin the plan, or {accept}" if fits and self.pinned_plan is None else accept
        why = sentence(self.errors[0].message) if self.errors else self.simulation.sentence
        return f"nothing is written. {why} Use {ways} to write the manifests as they are"


@dataclass(frozen=True)
class _Subject:
    """One workload of an export: its claims as drawn and as written, and what its pods require of a node.

    `named` is the name of its objects, "" for that of the drawing. `replicas` are all pods.
    """

    name: str
    claims: tuple[ClaimSketch, ...]
    replicas: int
    named: str = ""
    written: ClaimSketch = field(default_factory=ClaimSketch)
    affinity: Affinity = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def make_bundle(
    what: ClaimSketch | Plan,
    cluster: Cluster,
    target: Target,
    wanted: Wanted | None = None,
    *,
    written: Written | None = None,
) -> Bundle:
    """Return an export: the same drawings and target give the same bytes of every manifest, whatever is in use.

    Only `written` depends on the cluster: what a person asked to have pinned, and what keeps pods off nodes on which
    kube-scheduler would give up; without it the claims are as drawn, not simulated. Only the record contains the plan,
    its proofs, runs and pins, our version and the digests of the inputs, so that a new version changes no manifest.
    `Wanted.annotate` adds them to the manifests too.

    `what` is a plan, or a drawing without one. If more than one pod is planned, each workload has its templates and an
    example, named after it. A gang (`Wanted.gang`) has templates and the objects of its scheduler. A person's own
    workload (`Wanted.workload`) gets the claims in place of an example; their names then end in a digest, because a
    template's spec is immutable. Raises InputError if a workload or target cannot be written, replicas would share one
    claim, or two objects would have the same name.
    """
    wanted, written = wanted or Wanted(), written or Written()
    plan, gang = what if isinstance(what, Plan) else None, wanted.gang
    subjects = _subjects(what, written, gang)
    if target.kind == "claim" and any(one.replicas > 1 for one in subjects):
        raise InputError("kind claim: replicas would share the devices of one ResourceClaim; write a template")
    if wanted.workload is not None and len(subjects) != 1:
        raise InputError("dra-lab can patch the file of one workload only; leave it out, or export each workload alone")
    target = _in_namespace(target, wanted.workload)
    files, findings = _files(subjects, cluster, target, wanted, plan)
    texts = {name: text for one in files for name, text in one.texts.items()}
    findings = [*_of_plan(plan, findings, gang), *written.findings, *findings]
    drawing = what if isinstance(what, ClaimSketch) else what.drawn
    drawings = [drawing] if drawing else [claim for one in subjects for claim in one.claims]
    if wanted.annotate:
        inputs = _inputs(drawings, cluster)
        texts |= {name: _annotated(texts[name], inputs) for one in files for name in one.claim_files}
    patch = ""
    if wanted.workload is not None and gang is None:
        make, own = kustomize_patch if wanted.patch else patch_copy, subjects[0]
        claims, entries = files[0].claims, own.written.claims
        made = make(wanted.workload, claims, container=wanted.container, affinity=own.affinity, entries=entries)
        texts[made.name], patch = made.text, made.name if wanted.patch else ""
        findings += made.findings
        findings += (twice for claim in claims for twice in requested_twice(wanted.workload, claim))
    applied = [name for name in texts if name != patch and name not in FRAGMENTS]
    texts[KUSTOMIZATION] = kustomization(applied, patch, wanted.workload)
    title, simulation = ", ".join(one.name for one in subjects), simulation_of(plan, written.replay, gang)
    record = target_record(title, drawings, cluster, target) | _run_record(plan, written, gang)
    if plan is not None and gang is not None:
        record |= {"scheduler": wanted.scheduler, "notExpressed": list(files[0].not_expressed)}
        texts |= gang_readme(files[0], texts, gang, plan, target, wanted.scheduler, held=wanted.held)
    else:
        drawn = [claim for one in subjects for claim in claims_of(one.written)]
        texts |= extra_texts(wanted.extra, [*texts], title, drawn, cluster, target, plan, written, simulation)
    return Bundle(texts, record, sort_findings(findings), simulation, written.pinned_plan, wanted.scheduler)


def write_bundle(
    folder: str | Path, bundle: Bundle, *, overwrite: bool = False, without: Collection[str] = ()
) -> tuple[Path, ...]:
    """Write an export to a folder; return the files, `plan.json` last. See `write_files`. Raises ExportError."""
    return write_files(expanded(folder), bundle.texts, bundle.record, overwrite=overwrite, without=without)


def _subjects(what: ClaimSketch | Plan, written: Written, gang: Workload | None) -> list[_Subject]:
    if gang is not None:
        return [_Subject(gang.name, (*gang.claims, *gang.every_shared_claim), gang.size * gang.replicas)]
    if isinstance(what, Plan) and what.drawn is None:
        pods = [(one.name, one.name, one.claims, one.replicas) for one in what.workloads]
    else:
        drawing = what if isinstance(what, ClaimSketch) else what.sketch
        pods = [(drawing.name, "", claims_of(drawing), 1)]
    found = []
    for number, (name, named, claims, replicas) in enumerate(pods):
        pins = written.pinned_plan.pins if written.pinned_plan else ()
        notes = tuple(f"  Pinned: {pin.text}" for pin in pins if pin.workload == number)
        own = written.exported[number] if written.exported else None
        drawn, affinity, findings = (own.sketches, own.affinity, own.findings) if own else (claims, (), ())
        found.append(_Subject(name, claims, replicas, named, pod_drawing(name, drawn), affinity, notes, findings))
    return found


def _in_namespace(target: Target, workload: WorkloadFile | None) -> Target:
    if workload is None or not workload.namespace or workload.namespace == target.namespace:
        return target
    if target.namespace:
        raise InputError(
            f"{workload.name} is in the namespace {workload.namespace!r} and the claim in {target.namespace!r}, so "
            "its pods cannot use it; leave the claim's namespace out, or change the workload's"
        )
    return msgspec.structs.replace(target, namespace=workload.namespace)


def _files(
    subjects: Sequence[_Subject], cluster: Cluster, target: Target, wanted: Wanted, plan: Plan | None
) -> tuple[list[ManifestFiles], list[Finding]]:
    """Return the manifests of each workload, and what a person must know of them.

    Raises InputError if a file of one workload would replace one of another; classes are the same.
    """
    if plan is not None and wanted.gang is not None:
        return _of_gang(wanted.gang, plan, cluster, target, wanted)
    own = wanted.workload is not None
    found, seen = list[ManifestFiles](), set[str]()
    for one in subjects:
        files = manifest_files(
            one.written,
            cluster,
            target,
            plan=plan,
            example_kind="none" if own else wanted.example,
            affinity=one.affinity,
            name=one.named,
            notes=one.notes,
            replicas=one.replicas,
            several=sum(each.replicas for each in subjects) > 1 and not own,
            by_spec=own,
        )
        for name in (name for name in files.texts if not name.startswith("deviceclass-")):
            if name in seen:
                kind, wrong = ("claims" if name in files.claim_files else "examples"), name[:-5].partition("-")[2]
                raise InputError(f"two {kind} would have the name {wrong!r}; give the workloads other names")
            seen.add(name)
        found.append(files)
    every = [*(one.findings for one in found), *(one.findings for one in subjects)]
    return found, [finding for findings in every for finding in findings]


def _of_gang(
    gang: Workload, plan: Plan, cluster: Cluster, target: Target, wanted: Wanted
) -> tuple[list[ManifestFiles], list[Finding]]:
    """Return the files of a gang for its scheduler, and what a person must know of them and of its quota."""
    from dra_lab.exports.gangs.gang_files import gang_files
    from dra_lab.scheduler.kueue.quota_verdict import quota_findings
    from dra_lab.topology.hierarchies import gang_with_levels

    gang, hierarchy = gang_with_levels(gang, cluster, gang.name)
    made = gang_files(
        gang,
        wanted.scheduler,
        hierarchy,
        cluster=cluster,
        namespace=target.namespace,
        queue=wanted.queue.rpartition("/")[2],  # Kueue's label has the name of the LocalQueue without its namespace
        pin=planned_domains(gang, plan) if wanted.held else None,
        release=target.release,
        workload=wanted.workload,
        has_claims=wanted.has_claims,
    )
    trees, queue = [hierarchy] if hierarchy else [], wanted.queue if wanted.scheduler == "kueue" else ""
    quota = quota_findings(cluster, gang, queue, release=target.release, hierarchies=trees, requests=wanted.requests)
    return [made], [*made.findings, *quota]


def _of_plan(plan: Plan | None, findings: Sequence[Finding], gang: Workload | None) -> Iterator[Finding]:
    """Yield the findings of a plan, for a drawing those of its files; and replicas of pods without a place."""
    # whether a selector ends the search was found out with what is written, not with what was drawn
    found = plan.findings if plan is not None and plan.drawn is None else findings
    yield from (one for one in found if one.rule != RUN_TIME_ERROR)
    if plan is None or plan.replicas == 1 or gang is not None:
        return
    for workload in plan.workloads:
        if left := workload.replicas - plan.placed[workload.name]:
            message = f"{left} of {workload.replicas} replicas have no place in the plan"
            yield Finding("replicas-unplaced", Severity.WARNING, workload.name, message, "Plan fewer replicas.")


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


def _run_record(plan: Plan | None, written: Written, gang: Workload | None) -> dict[str, Any]:
    """Return what `plan.json` says of the plan, of the run of first fit, and of pins; a gang is not simulated."""
    record: dict[str, Any] = {} if written.replay is None else {"loop": written.replay.as_json()}
    if plan is not None:
        outcome = plan_outcome(plan)  # of the plan alone: pins may change what its manifest comes to
        record["plan"] = plan_json(plan) | {"fits": outcome == FITS, "outcome": outcome}
        record |= {"answer": export_answer(plan, written.replay)} if gang is None else {}
    if written.pinned_plan is not None:
        names = [one.name for one in plan.workloads] if plan is not None else [""]
        pins = written.pinned_plan.pins
        record["pins"] = [{"workload": names[pin.workload]} | pin.as_json() for pin in pins]
    return record
