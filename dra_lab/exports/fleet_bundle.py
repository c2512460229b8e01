"""An export of several workloads as one folder: a template for every claim of a pod, classes once, one record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dra_lab.errors import InputError
from dra_lab.exports.bundle import KUSTOMIZATION, Bundle, Wanted, kustomization, make_bundle, run_record, target_record
from dra_lab.exports.extra_files import Exported, extra_texts
from dra_lab.exports.manifests import ManifestFiles, manifest_files
from dra_lab.exports.outcome import export_answer
from dra_lab.exports.simulation import simulation_of
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.sketch import pod_drawing
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.pinning.replay_result import Replay
from dra_lab.pinning.search_budget import WithinSearchBudget
from dra_lab.pinning.written_manifests import Written
from dra_lab.sketch.claim_objects import example
from dra_lab.sketch.manifest_target import Target
from dra_lab.sketch.object_names import ObjectNames, object_name
from dra_lab.words.fleet_json import fleet_json


def make_fleet_bundle(
    plan: FleetPlan,
    cluster: Cluster,
    target: Target,
    wanted: Wanted | None = None,
    *,
    written: Written | None = None,
) -> Bundle:
    """Return the export of a fleet: templates, an example per workload with its replicas, and one record of the plan.

    The same workloads and target give the same bytes of every manifest, as in `make_bundle`;
    claims are named as in `make_bundle`, after their workload. A person's own workload
    (`Wanted.workload`) is patched where there is one workload. Raises InputError where it cannot be, for
    shared claims (replicas need devices of their own), and for two claims or examples of one name.
    """
    wanted, written = wanted or Wanted(), written or Written()
    replay, pinned_plan = written.replay, written.pinned_plan
    if target.kind == "claim":
        raise InputError("kind claim: replicas would share the devices of one ResourceClaim; write a template")
    if wanted.workload is not None:
        return _of_one(plan, cluster, target, wanted, written)
    texts: dict[str, str] = {}
    findings = [*plan.findings, *written.findings, *_unplaced(plan)]
    used, shown_names = ObjectNames(), ObjectNames()
    for number, workload in enumerate(plan.workloads):
        exported = written.exported[number] if written.exported else WithinSearchBudget(workload.claims, ())
        drawn = pod_drawing(workload.name, exported.sketches)
        made = manifest_files(
            drawn, cluster, target, example_kind="none", name=workload.name, notes=_notes(number, pinned_plan)
        )
        for claim in made.claims:
            if used.one(claim.metadata.name) != claim.metadata.name:
                twice = claim.metadata.name
                raise InputError(f"two claims would have the name {twice!r}; give the workloads other names")
        texts |= _files(made)
        findings += (*made.findings, *exported.findings)
        if wanted.example != "none":
            name, (first, *more), replicas = object_name(workload.name), made.claims, workload.replicas
            if shown_names.one(name) != name:
                raise InputError(f"two examples would have the name {name!r}; give the workloads other names")
            shown = example(
                first, wanted.example, exported.affinity, more=more, replicas=replicas, name=name, entries=drawn.claims
            )
            texts[f"{wanted.example}-{name}.yaml"] = dump_yaml(shown)
    texts[KUSTOMIZATION] = kustomization(list(texts))
    record = _record(plan, cluster, target, replay, pinned_plan)
    texts |= extra_texts(
        wanted.extra, Exported(cluster, target, [*texts], plan, replay=replay, pinned_plan=pinned_plan)
    )
    return Bundle(texts, record, sort_findings(dict.fromkeys(findings)), simulation_of(plan, replay), pinned_plan)


def _of_one(
    plan: FleetPlan,
    cluster: Cluster,
    target: Target,
    wanted: Wanted,
    written: Written,
) -> Bundle:
    """Return the export of one workload, for which a person's own object is patched."""
    if len(plan.workloads) != 1:
        raise InputError("dra-lab can patch the file of one workload only; leave it out, or export each workload alone")
    sketch = pod_drawing(plan.workloads[0].name, plan.workloads[0].claims)
    made = make_bundle(sketch, cluster, target, wanted, written=written)
    record = {**made.record, **_record(plan, cluster, target, written.replay, written.pinned_plan)}
    findings = sort_findings(dict.fromkeys((*plan.findings, *made.findings)))
    return Bundle(made.texts, record, findings, simulation_of(plan, written.replay), written.pinned_plan)


def _unplaced(plan: FleetPlan) -> Iterator[Finding]:
    for workload in plan.workloads:
        left = workload.replicas - plan.placed[workload.name]
        if left:
            message = f"{left} of {workload.replicas} replicas have no place in the plan"
            yield Finding("replicas-unplaced", Severity.WARNING, workload.name, message, "Plan fewer replicas.")


def _files(files: ManifestFiles) -> Mapping[str, str]:
    """Return the files under names that tell the workloads apart; classes keep theirs, so that each is written once."""
    own = dict(zip(files.claim_files, files.claims, strict=True)) if len(files.claims) == 1 else {}
    return {
        f"{Path(name).stem}-{own[name].metadata.name}.yaml" if name in own else name: text
        for name, text in files.texts.items()
    }


def _notes(workload: int, pinned_plan: PinnedPlan | None) -> tuple[str, ...]:
    if pinned_plan is None:
        return ()
    return tuple(f"  Pinned: {pin.text}" for pin in pinned_plan.pins if pin.workload == workload)


def _record(
    plan: FleetPlan, cluster: Cluster, target: Target, replay: Replay | None, pinned_plan: PinnedPlan | None
) -> dict[str, Any]:
    drawings = [sketch for workload in plan.workloads for sketch in workload.claims]
    names = ", ".join(workload.name for workload in plan.workloads)
    record = {**target_record(names, drawings, cluster, target), "plan": fleet_json(plan), **run_record(replay)}
    record["answer"] = export_answer(plan, replay)
    if pinned_plan is not None:
        record["pins"] = [{"workload": plan.workloads[pin.workload].name, **pin.as_json()} for pin in pinned_plan.pins]
    return record
