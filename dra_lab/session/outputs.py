"""What leaves a session: manifests, pictures, pages. Each is made by the room that knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.errors import ExportError, UnsupportedFeature
from dra_lab.exports.bundle import Bundle, Wanted, make_bundle, write_bundle
from dra_lab.exports.manifests import ManifestText, manifest_yaml
from dra_lab.exports.targets import Target
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.sources import write_whole

if TYPE_CHECKING:
    from dra_lab.exports.step_guard import Guarded
    from dra_lab.session.session import Session

LOOP_SECONDS = 10.0
"""How long first fit is run on an export; what was not run by then is said."""

GUARD_SECONDS = 30.0
"""How long the node states are searched for one on which kube-scheduler would give up the pod."""

FLEET_SECONDS = 30.0
"""How long first fit is run on an export of replicas, tightening included."""

PICTURES = (".svg", ".html")


def manifest(session: Session) -> ManifestText:
    """Return the manifests of the present drawing as YAML text, with the lines of each request and the findings."""
    plan = session.answer if session.is_answered else None
    return manifest_yaml(session.sketch, session.cluster, session.release, plan=plan)


def export(
    session: Session,
    folder: str | Path,
    *,
    overwrite: bool = False,
    api_version: str = "v1",
    kind: str = "template",
    namespace: str = "",
    wanted: Wanted | None = None,
    tighten: bool = False,
    gates: Mapping[str, bool] | None = None,
) -> tuple[Path, ...]:
    """Write the manifests of the present drawing to a folder; returns the files, `plan.json` last.

    Where there is an answer to the drawing, first fit is run on the manifests and `plan.json` says what came of it;
    `tighten` adds the pins that make it take what was planned. `api_version` and `kind` (`template`: each pod its own
    devices, `claim`: pods share them) are those of `exports.targets.Target`; `wanted` what else the folder holds;
    `gates` are feature gates that a person allows (`{"DRADerivedAttributes": True}`, alpha in 1.37).
    Raises ExportError when a file cannot be written, or was changed by a person and `overwrite` is not given, and
    InputError for a target or workload that cannot be written.
    """
    release = KubernetesRelease(session.release.version, {**session.release.gates, **(gates or {})})
    target = Target(release, api_version, kind, namespace)
    return write_bundle(folder, bundle(session, target, wanted, tighten=tighten), overwrite=overwrite)


def bundle(session: Session, target: Target, wanted: Wanted | None = None, *, tighten: bool = False) -> Bundle:
    """Return the files of an export, with what running first fit on them gave; see `export`."""
    from dra_lab.exports.loop_result import Loop
    from dra_lab.exports.step_guard import guard_steps
    from dra_lab.exports.tightening import tighten as tighten_plan
    from dra_lab.exports.written import what_is_written

    cluster, release = session.cluster, target.release
    plan = None if session.stale else session.answer
    if plan is not None and not plan.fits:
        plan = None
    loop, tightened, guarded = None, None, None
    try:
        if plan is None:
            guarded = guard_steps([session.sketch], cluster, release, time_limit=GUARD_SECONDS)
        else:
            pins = tighten_plan(cluster, plan, release, time_limit=LOOP_SECONDS) if tighten else None
            written = what_is_written(
                cluster, plan, release, pins, loop_seconds=LOOP_SECONDS, guard_seconds=GUARD_SECONDS
            )
            loop, tightened, guarded = written.loop, written.tightened, written.guarded[0]
    except UnsupportedFeature as error:
        loop = Loop(1, 0, not_run=str(error)) if plan else None
    known = session.answer if not session.stale else None
    return make_bundle(
        session.sketch, cluster, target, wanted, plan=known, loop=loop, tightened=tightened, guarded=guarded
    )


def fleet_bundle(
    cluster: Cluster,
    plan: FleetPlan,
    target: Target,
    wanted: Wanted | None = None,
    *,
    tighten: bool = False,
    split: bool = False,
) -> Bundle:
    """Return the files of several workloads of a plan, with what running first fit on them gave; see `export`.

    `split` (with `tighten`) lets a workload become several where one template cannot serve every replica as planned.
    Raises InputError for what cannot be written.
    """
    from dra_lab.exports.fleet_bundle import make_fleet_bundle
    from dra_lab.exports.loop_result import Loop
    from dra_lab.exports.split import tighten_in_groups
    from dra_lab.exports.tightening import tighten as tighten_plan
    from dra_lab.exports.written import what_is_written

    release, pins, tightened, whole = target.release, None, None, plan
    guarded: list[Guarded] = []
    try:
        if tighten and split and plan.replicas:
            groups = tighten_in_groups(cluster, plan, release, time_limit=FLEET_SECONDS)
            plan, pins = groups.plan, groups.tightened
        elif tighten and plan.replicas:
            pins = tighten_plan(cluster, plan, release, time_limit=FLEET_SECONDS)
        written = what_is_written(
            cluster, plan, release, pins, whole=whole, loop_seconds=FLEET_SECONDS, guard_seconds=GUARD_SECONDS
        )
        plan, loop, tightened = written.plan, written.loop, written.tightened
        guarded += written.guarded
    except UnsupportedFeature as error:
        loop = Loop(len(plan.replicas), 0, not_run=str(error))
    return make_fleet_bundle(plan, cluster, target, wanted, loop=loop, tightened=tightened, guarded=guarded)


def picture_page(cluster: Cluster, plan: Plan | None, node: str, path: Path, yaml_text: str = "") -> None:
    """Write the hardware picture (`.svg`) or the self-contained page (`.html`) of a node or a plan.

    Without a node, the plan's node is drawn, of a misfit the nearest one, else the cluster's first. Raises ExportError
    for another ending, and InputError for an unknown node or a cluster without nodes.
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
        write_whole(path, report_page(cluster, plan, yaml_text, node=name))
