"""The README of an export: what was planned, what was run, what is pinned, and how to apply it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dra_lab.exports.simulation import simulation_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch, asks, claims_of
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.pinning.replay_result import Replay
from dra_lab.sketch.manifest_target import ADMIN_LABEL, KINDS, MEANING, Target
from dra_lab.words.document import Lines, as_markdown, marked_up, printable
from dra_lab.words.fleet_document import fleet_goals_table
from dra_lab.words.gang_document import workloads_table
from dra_lab.words.plan_document import answer_sentence, goals_table


def readme_text(
    sketch: ClaimSketch,
    cluster: Cluster,
    target: Target,
    files: Sequence[str],
    *,
    plan: Plan | None = None,
    replay: Replay | None = None,
    pinned_plan: PinnedPlan | None = None,
) -> str:
    """Return the README as Markdown; names from a cluster are escaped, the same plan gives the same text."""
    parts = [
        f"# {marked_up(sketch.name)}",
        *_answer(cluster, plan, replay),
        *_pins(pinned_plan),
        *_use(claims_of(sketch), target),
    ]
    return "\n\n".join([*parts, *_files(files)]) + "\n"


def fleet_readme(
    plan: FleetPlan,
    target: Target,
    files: Sequence[str],
    *,
    replay: Replay | None = None,
    pinned_plan: PinnedPlan | None = None,
) -> str:
    """Return the README of several workloads as Markdown; the same plan gives the same text."""
    parts = [f"# {marked_up(', '.join(workload.name for workload in plan.workloads))}"]
    parts.append(as_markdown([workloads_table(plan), fleet_goals_table(plan)]))
    parts += _simulated(plan, replay)
    parts += _pins(pinned_plan)
    parts += _use([sketch for workload in plan.workloads for sketch in workload.claims], target)
    return "\n\n".join([*parts, *_files(files)]) + "\n"


def _files(files: Sequence[str]) -> Iterator[str]:
    yield "## Files"
    yield "\n".join(f"- `{printable(name).replace('`', '')}`" for name in files)
    yield "`plan.json` contains the plan, the result of the simulation, and the digest of each file."


def _answer(cluster: Cluster, plan: Plan | None, replay: Replay | None) -> Iterator[str]:
    if plan is not None:
        yield marked_up(answer_sentence(plan, cluster))
        if plan.fits and plan.node in cluster.node_by_name:
            yield f"![The plan on {marked_up(plan.node)}](picture.svg)"
        if plan.goals:
            yield as_markdown([goals_table(plan)])
    yield from _simulated(plan, replay)


def _simulated(plan: Plan | FleetPlan | None, replay: Replay | None) -> Iterator[str]:
    found = simulation_of(plan, replay)
    yield marked_up(f"{found.sentence} {found.detail}".rstrip())
    if replay is not None:
        yield f"Simulated with a copy of kube-scheduler's first fit: {marked_up(replay.sentence)}"


def _pins(pinned_plan: PinnedPlan | None) -> Iterator[str]:
    if pinned_plan is None:
        return
    yield "## Pins"
    if not pinned_plan.pins:
        plain = "None: kube-scheduler allocates the plan without any."
        yield plain if pinned_plan.replay.as_planned else "None: dra-lab found no pins that help every replica."
        return
    pins = (f"{pin.text}: {pin.reason}. Price: {pin.price}." for pin in pinned_plan.pins)
    yield as_markdown([Lines("", [*pins])])


def _use(sketches: Sequence[ClaimSketch], target: Target) -> Iterator[str]:
    yield "## Use"
    kind = KINDS[target.kind]
    yield f"For Kubernetes {target.release}, resource.k8s.io/{target.api_version}. {kind}: {MEANING[target.kind]}."
    namespace = f" -n {target.namespace}" if target.namespace else ""
    yield f"    kubectl apply -k .{namespace}"
    yield "The spec of an existing claim or template cannot be changed. Delete and create it again, or rename it."
    if any(ask.admin_access for sketch in sketches for request in sketch.requests for ask in asks(request)):
        yield f"    kubectl label namespace {target.namespace or 'NAMESPACE'} {ADMIN_LABEL}=true"
