"""Manifests of a session's drawing and fleet, and the simulation of kube-scheduler on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dra_lab.errors import Cancelled, ExportError, InputError, UnsupportedFeature
from dra_lab.exports.autoscaler import autoscaler_files
from dra_lab.exports.bundle import Bundle, Wanted, make_bundle, write_bundle
from dra_lab.exports.manifests import ManifestText, manifest_yaml
from dra_lab.exports.measure import measure_files
from dra_lab.exports.readme import not_pinnable
from dra_lab.exports.written_files import write_files
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.manifests.file_text import expanded
from dra_lab.model.cluster import Cluster
from dra_lab.model.node_type import AddedNodes
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease, release_of_text
from dra_lab.model.sketch import ClaimSketch, Drawing, PodDrawing, claims_of
from dra_lab.model.workload import Workload
from dra_lab.sketch.claim_objects import Target
from dra_lab.sketch.object_names import object_name
from dra_lab.sources.drawing_files import write_whole
from dra_lab.sources.samples import is_shipped
from dra_lab.words.facts import counted
from dra_lab.words.plan_json import added_json
from dra_lab.words.workload_words import same_words

if TYPE_CHECKING:
    from dra_lab.pictures.report import SearchStep
    from dra_lab.pinning.pin_plan import Written
    from dra_lab.session.answering import Answering
    from dra_lab.session.answers import Answer
    from dra_lab.session.fleet import SessionFleet

POD_PINS: Rule = "pod-pins-not-written"
_MOST_NAMED = 3

EXPORT_SECONDS = 180.0
"""Seconds for pins, for long searches, and for running first fit on an export; what was not run by then is reported."""


def manifest(session: Answering) -> ManifestText:
    """Return the manifests of the present drawing as text, with the findings of its answer if that is current."""
    plan = session.answer if session.is_answered else None
    return manifest_yaml(session.sketch, session.cluster, session.release, plan=plan)


class Planned(NamedTuple):
    """A plan to be exported with its cluster, or a drawing without a plan; its pinned node and its goals."""

    cluster: Cluster
    plan: Plan | None
    sketch: ClaimSketch = ClaimSketch()
    node: str = ""
    goals: tuple[str, ...] = ()


Runs = dict[object, "Written"]
"""What is written, by what it depends on."""


def drawn_of(session: Answering) -> Planned:
    """Return what an export of a session is made of, as it is now."""
    plan = None if session.stale else session.answer
    return Planned(session.cluster, plan, session.sketch, session.drawing.node, session.drawing.goals)


def fleet_of(fleet: SessionFleet, gang: str = "") -> tuple[Planned, Wanted]:
    """Return what an export of a session's fleet, or of one gang of it, is made of, and what is wanted of the gang.

    Raises InputError if there is no workload or no plan of them, or if the gangs use different values, and what
    planning them raised.
    """
    if fleet.refusal is not None:
        raise fleet.refusal.with_traceback(None)
    answer = fleet.answer
    if answer is None or not fleet.is_current or (gang and answer.gangs is None):
        these = "gangs" if gang else "workloads"
        raise InputError(f"these {these} are not planned yet; continue planning in Fleet, then export")
    question, plan = answer.question, answer.plan
    if gang:
        return _gang_of(fleet, answer, gang)
    if answer.gangs is not None:
        raise InputError("a gang is written for one scheduler, alone; choose it in the Export sheet")
    if not plan.workloads:
        raise InputError("there is no workload yet; add one in Fleet, then export")
    # what an export simulates is kube-scheduler with its manifests, so the comparison of the screen is no part of it
    findings = [*plan.findings]
    for name, nodes in question.pins.items():
        pods = counted(sum(nodes.values()), "pod")
        where = ", ".join(nodes) if len(nodes) <= _MOST_NAMED else counted(len(nodes), "node")
        message = f"no manifest keeps the {pods} pinned to {where} there; kube-scheduler may choose other nodes"
        findings.append(Finding(POD_PINS, Severity.WARNING, name, message, "Give the workload a node selector."))
    findings += not_selected(question.pods)
    plan = replace(plan, first_fit=None, regrets=(), findings=tuple(findings))
    return Planned(question.cluster, plan), Wanted()


def _gang_of(fleet: SessionFleet, answer: Answer, name: str) -> tuple[Planned, Wanted]:
    """Return a gang with its plan. Raises InputError without its levels, or if its replicas use different values."""
    from dra_lab.topology.hierarchies import gang_with_levels

    plan, on, drawn = answer.plan, answer.question.cluster, fleet.workload(name)
    parts = [one.name for one in plan.gangs if answer.drawn(one.name).pod == name and plan.placed[one.name]]
    if len(parts) > 1:
        gang = next(one for one in plan.gangs if one.name == parts[0])
        words = same_words(drawn.gang.same) if drawn.gang is not None else ""
        raise InputError(
            f"the gangs of {name} do not all use the same {words}, and one file has one set; ask for "
            f"{gang.replicas:,} of them in Fleet, and draw the others as a workload of their own"
        )
    known = {gang.name: gang_with_levels(gang, on, gang.name)[0] for gang in plan.gangs}
    findings = (*plan.findings, *not_selected([drawn]))
    plan = replace(plan.with_workloads(known.get(one.name, one) for one in plan.workloads), findings=findings)
    queue = drawn.gang.queue if drawn.gang is not None else ""
    return Planned(on, plan), Wanted(gang=known[parts[0] if parts else name], queue=queue)


def not_selected(pods: Sequence[PodDrawing]) -> Iterator[Finding]:
    """Yield which workloads have a file whose node selector the examples do not have."""
    for pod in (pod for pod in pods if pod.nodes):
        message = f"its file chooses nodes by {', '.join(pod.nodes or ())}, and an example does not"
        yield Finding(POD_PINS, Severity.WARNING, pod.pod, message, "Export it alone, with its own file as workload.")


def export(
    answer: Answering | Plan | AddedNodes,
    folder: str | Path,
    *,
    pin: bool = False,
    allow_worse: bool = False,
    overwrite: bool = False,
    api_version: str = "v1",
    kind: str = "template",
    namespace: str = "",
    scheduler: str = "",
    queue: str = "",
    wanted: Wanted | None = None,
    gates: Mapping[str, bool] | None = None,
) -> tuple[Path, ...]:
    """Write the manifests of a plan, or of the present drawing of a Session, to a folder.

    For nodes that must be added, the files for an autoscaler are written instead: annotations for Cluster API and a
    NodeOverlay for Karpenter, with what each does not check.

    kube-scheduler is simulated on the manifests, and `plan.json` records the result. If it does not allocate the plan,
    or if there is no plan that fits, nothing is written unless `allow_worse` is True.

    Args:
        answer: What `make_plan` or `nodes_to_add` returned, or a Session with a current answer.
        folder: The folder, which is made if it does not exist. Untouched files of an earlier export are replaced.
        pin: Add the pins with which kube-scheduler allocates the plan , or hold a gang to its domain.
        allow_worse: Write the manifests even without a plan that kube-scheduler allocates.
        overwrite: Replace files that were edited by hand, or that are not from an export.
        api_version: "v1", "v1beta2" or "v1beta1" of resource.k8s.io.
        kind: "template" (each pod its own devices) or "claim" (pods share one ResourceClaim).
        namespace: The namespace of the objects; default "": that of the workload, or none.
        scheduler: For a gang: "kueue", "kai", "volcano" or "kube-scheduler" (PodGroups).
        queue: For a gang: its LocalQueue of Kueue, or its Queue of KAI or Volcano; default "": none.
        wanted: The other files of the folder; default: an example pod.
        gates: Feature gates that are on besides those of the plan, such as `{"DRADerivedAttributes": True}`.

    Returns:
        The paths of the files, `plan.json` last.

    Raises:
        ExportError: kube-scheduler does not allocate the plan, there is none, a file was edited, or a file cannot be
            written.
        InputError: The target or the workload is not valid.

    Example:
        >>> from dra_lab import export, load_cluster, make_plan, read_sketch
        >>> plan = make_plan(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> [file.name for file in export(plan, "manifests", pin=True)]
        ['resourceclaimtemplate.yaml', 'pod.yaml', 'kustomization.yaml', 'plan.json']
    """
    if isinstance(answer, AddedNodes):
        if pin or scheduler or queue or wanted:
            raise InputError("pin, scheduler, queue and wanted are for a plan; export added.plan with them")
        texts = autoscaler_files(answer, namespace=namespace)
        record = {"cluster": answer.name, "release": answer.release, "added": added_json(answer)}
        return write_files(expanded(folder), texts, record, overwrite=overwrite)
    if not isinstance(answer, Plan):
        asked, release = drawn_of(answer), answer.release
    elif answer.on is None:
        raise InputError("the plan has no cluster; plan again with make_plan, then export")
    else:
        asked, release = Planned(answer.on, answer, answer.sketch), release_of_text(answer.release)
    release = KubernetesRelease(release.version, {**release.gates, **(gates or {})})
    if isinstance(answer, Plan) and answer.gangs:
        wanted = replace(wanted or Wanted(), gang=_only_gang(answer, scheduler), scheduler=scheduler, queue=queue)
        if pin and (reason := not_pinnable(answer.gangs[0], answer)):
            raise InputError(f"pin: {reason}")
    elif scheduler or queue:
        raise InputError("scheduler and queue are for a gang; leave them out")
    made = bundle(asked, Target(release, api_version, kind, namespace), wanted, pin=pin)
    if made.is_worse and not allow_worse:
        raise ExportError(made.refusal("pin=True", "allow_worse=True"))
    return write_bundle(folder, made, overwrite=overwrite)


def _only_gang(plan: Plan, scheduler: str) -> Workload:
    """Return the gang of a plan. Raises InputError if the plan has other workloads, or without a scheduler."""
    from dra_lab.exports.gangs.gang_files import SCHEDULERS

    if len(plan.workloads) > 1:
        names = ", ".join(workload.name for workload in plan.workloads)
        raise InputError(f"one gang is exported at a time, and the plan has {names}; plan and export each alone")
    if not scheduler:
        raise InputError(f"a gang is written for one scheduler; give scheduler= one of {', '.join(SCHEDULERS)}")
    return plan.gangs[0]


def measure(
    session: Answering, folder: str | Path, *, namespace: str = "", overwrite: bool = False
) -> tuple[Path, ...]:
    """Write the Jobs that measure what the drawn links are worth; returns the files. Raises InputError, ExportError."""
    if session.answer is None or not session.is_answered:
        raise InputError("there is no answer yet; measure when it is there")
    texts = measure_files(session.cluster, session.answer, Target(session.release, namespace=namespace))
    return write_files(expanded(folder), texts, {"name": session.sketch.name}, overwrite=overwrite)


def bundle(
    asked: Planned,
    target: Target,
    wanted: Wanted | None = None,
    *,
    pin: bool = False,
    cancel: threading.Event | None = None,
    runs: Runs | None = None,
) -> Bundle:
    """Return the files of an export, with what running first fit on them gave; see `export`.

    The replicas of a workload's file are planned together. `runs` keeps runs from one export of a plan to the next.
    Raises Cancelled when `cancel` is set, and InputError for what cannot be written.
    """
    wanted = wanted or Wanted()
    if wanted.gang is not None and asked.plan is not None:
        return make_bundle(asked.plan, asked.cluster, target, replace(wanted, held=pin))
    workload, plan = wanted.workload, asked.plan
    alone = target.kind == "template" and not asked.node and (plan is None or plan.replicas == 1)
    replicas = workload.pods if workload is not None and alone else 1
    key = (target.release, replicas, pin)
    run = runs.get(key) if runs is not None else None
    if run is None:
        run = _written(asked, target.release, replicas, cancel, pin=pin)
        if cancel is not None and cancel.is_set():
            raise Cancelled("the export was cancelled")
        if runs is not None:
            runs[key] = run
    return make_bundle(run.plan or asked.sketch, asked.cluster, target, wanted, written=run)


def _written(
    asked: Planned, release: KubernetesRelease, replicas: int, cancel: threading.Event | None, *, pin: bool
) -> Written:
    """Return what is written of a plan; without one that fits, what kube-scheduler's search does with a drawing."""
    from dra_lab.pinning.pin_budget import budget_of
    from dra_lab.pinning.pin_plan import Written, what_is_written
    from dra_lab.pinning.search_budget import within_search_budget
    from dra_lab.planner.plan_workloads import plan_workloads

    budget, plan = budget_of(EXPORT_SECONDS, cancel), asked.plan
    if replicas > 1:
        pods = [Workload(object_name(asked.sketch.name), asked.sketch, replicas=replicas)]
        plan = plan_workloads(asked.cluster, pods, release=release, goals=asked.goals, first_fit=False)
    if plan is not None and plan.pods:
        return what_is_written(asked.cluster, plan, release, budget, pin=pin)
    drawn = [claims_of(asked.sketch)] if plan is None else [workload.claims for workload in plan.workloads]
    try:
        found = (within_search_budget(claims, asked.cluster, release, budget=budget) for claims in drawn)
        return Written(plan, exported=tuple(found))
    except UnsupportedFeature:
        return Written(plan)


def printed_answer(session: Answering, fleet: SessionFleet) -> str:
    """Return the page that prints the answer of the present mode: the fleet's in Fleet, else the drawing's.

    Raises InputError if there is no answer to the present question.
    """
    from dra_lab.pictures.report import printed_page

    if session.mode == "fleet":
        answer = fleet.answer if fleet.is_current else None
        found = (answer.question.cluster, answer.plan) if answer is not None else None
    else:
        plan = session.answer if session.is_answered and not session.hides_answer else None
        found = (session.cluster, plan) if plan is not None else None
    if found is None:
        raise InputError("there is no answer to print yet; draw a request, and wait for its answer")
    return printed_page(*found)


PICTURES = (".svg", ".html")


def picture_page(
    cluster: Cluster,
    plan: Plan | None,
    node: str,
    path: Path,
    manifests: ManifestText | None = None,
    drawing: Drawing | None = None,
    snapshot: Cluster | None = None,
) -> None:
    """Write the hardware picture (`.svg`) or the self-contained page (`.html`) of a node or a plan.

    The page carries `drawing` with the cluster that it is for, if that is no sample and small: `snapshot`, without the
    what-if changes of the drawing, or `cluster`. Without a node, the plan's node is drawn, of a misfit the nearest one,
    else the cluster's first. Raises ExportError for another ending, and InputError for an unknown node or a cluster
    without nodes.
    """
    from dra_lab.pictures.hardware import hardware_svg
    from dra_lab.pictures.report import node_to_draw, report_page

    if path.suffix.lower() not in PICTURES:
        raise ExportError(
            f"{str(path)!r}: the name must end in {' or '.join(PICTURES)} (PNG is a button in the browser)"
        )
    name = node or node_to_draw(plan) or next(iter(cluster.node_names), "")
    cluster.node_named(name)
    if path.suffix.lower() == ".svg":
        write_whole(path, hardware_svg(cluster, name, plan=plan))
    else:
        text = manifests or ManifestText("")
        page = report_page(
            cluster,
            plan,
            text.text,
            node=name,
            steps=_steps(cluster, plan, name),
            lines=text.lines,
            drawing=drawing,
            snapshot=_packed(snapshot or cluster) if plan is not None else b"",
        )
        write_whole(path, page)


_MOST_PACKED = 100_000
"""Bytes of a cluster that a page carries, packed; a larger one is only named."""

_MOST_NODES = 300
"""Nodes up to which a cluster is packed: that of more takes a second and is too large."""


def _packed(cluster: Cluster) -> bytes:
    """Return a cluster as the bytes of its snapshot, b"" for a sample, which everybody has, and for a large one."""
    from dra_lab.sources.archives import archive_bytes
    from dra_lab.sources.snapshots import make_snapshot

    if is_shipped(cluster.name) or len(cluster.node_names) > _MOST_NODES:
        return b""
    packed = archive_bytes(make_snapshot(cluster).files)
    return packed if len(packed) <= _MOST_PACKED else b""


_MOST_STEPS = 500
"""Folded steps of kube-scheduler's search that a page has."""

_STEPS_SECONDS = 2.0
"""How long the search runs for a page; one that goes on is there as far as it is recorded."""


def _steps(cluster: Cluster, plan: Plan | None, node: str) -> list[SearchStep]:
    """Return kube-scheduler's search on a node in words; none where it gives no trace."""
    from dra_lab.pictures.letters import request_signs
    from dra_lab.pictures.report import SearchStep
    from dra_lab.topology.locality import device_names
    from dra_lab.words.trace_words import Names, step_sentence

    if plan is None:
        return []
    try:
        trace = plan.trace(node, time_limit=_STEPS_SECONDS)
    except (InputError, UnsupportedFeature, Cancelled):
        return []
    names = Names(device_names(cluster, node), request_signs(plan.sketch, trace))
    steps = [SearchStep(step_sentence(row, names), row.devices) for row in trace.rows]
    if len(steps) > _MOST_STEPS:
        last, missing = steps[-1], len(steps) - _MOST_STEPS
        steps[_MOST_STEPS - 2 :] = [SearchStep(f"{missing + 1:,} further rows are not on this page."), last]
    return steps
