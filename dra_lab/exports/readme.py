"""The files of an export for a person: a README, and a picture of the plan of one pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_lab.errors import InputError
from dra_lab.exports.manifests import ManifestFiles
from dra_lab.exports.workload import COMPONENT_PATCH
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.workload import Workload
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pinning.pin_plan import PinnedPlan, Written
from dra_lab.sketch.claim_objects import ADMIN_LABEL, KINDS, MEANING, Target
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.document import Lines, as_markdown, marked_up, printable
from dra_lab.words.plan_document import goals_table, workloads_table
from dra_lab.words.scheduler_sentences import Simulation


@dataclass(frozen=True)
class ExtraFiles:
    """Files that the option of this name adds: what they are, and what of them a fleet has if that is less."""

    words: str
    of_fleet: str


EXTRA_FILES: Mapping[str, ExtraFiles] = {"report": ExtraFiles("README and picture of the plan", of_fleet="README")}
"""Every choice of extra files, for the command line, the Export sheet and Python."""

_PICTURE, _README = "picture.svg", "README.md"
FRAGMENTS = ("kueue-configuration.yaml",)
"""Files that are a part of a configuration, which must not be applied."""


def extra_texts(
    wanted: Sequence[str],
    files: Sequence[str],
    title: str,
    claims: Sequence[ClaimSketch],
    cluster: Cluster,
    target: Target,
    plan: Plan | None,
    written: Written,
    simulation: Simulation,
) -> dict[str, str]:
    """Return the texts of the wanted extra files by name; `files` are those that the folder has besides.

    `plan` is None for an export that was not planned. Raises InputError for a name that is not in `EXTRA_FILES`.
    """
    if unknown := next((name for name in wanted if name not in EXTRA_FILES), None):
        raise InputError(f"there are no extra files {unknown!r}; use {', '.join(EXTRA_FILES)}")
    if "report" not in wanted:
        return {}
    texts, replay = {}, written.replay
    if plan is not None and plan.replicas == 1 and plan.node in cluster.node_by_name:
        texts[_PICTURE] = hardware_svg(cluster, plan.node, plan=plan)
    parts = [
        f"# {marked_up(title)}",
        *_answer(cluster, plan, has_picture=_PICTURE in texts),
        marked_up(f"{simulation.sentence} {simulation.detail}".rstrip()),
        *([f"Simulated with a copy of kube-scheduler's first fit: {marked_up(replay.sentence)}"] if replay else ()),
        *_pins(written.pinned_plan),
        *_use(claims, target, is_component=COMPONENT_PATCH in files),
        "## Files",
        file_list([*files, *texts]),
        "`plan.json` contains the plan, the result of the simulation, and the digest of each file.",
    ]
    return {**texts, _README: "\n\n".join(parts) + "\n"}


def file_list(names: Sequence[str]) -> str:
    """Return the names of files as a list in Markdown."""
    return "\n".join(f"- `{printable(name).replace('`', '')}`" for name in names)


def _answer(cluster: Cluster, plan: Plan | None, *, has_picture: bool) -> Iterator[str]:
    if plan is None:
        return
    yield marked_up(answer_sentence(plan, cluster))
    if has_picture:
        yield f"![The plan on {marked_up(plan.node)}]({_PICTURE})"
    tables = [*([workloads_table(plan)] if plan.replicas > 1 else ()), *([goals_table(plan)] if plan.goals else ())]
    if tables:
        yield as_markdown(tables)


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


def _use(sketches: Sequence[ClaimSketch], target: Target, *, is_component: bool) -> Iterator[str]:
    yield "## Use"
    kind = KINDS[target.kind]
    yield f"For Kubernetes {target.release}, resource.k8s.io/{target.api_version}. {kind}: {MEANING[target.kind]}."
    namespace = f" -n {target.namespace}" if target.namespace else ""
    if is_component:
        yield "This folder is a kustomize component. Add it to `components` in the kustomization of your workload."
    else:
        yield f"    kubectl apply -k .{namespace}"
    yield "The spec of an existing claim or template cannot be changed. Delete and create it again, or rename it."
    if any(ask.admin_access for sketch in sketches for request in sketch.requests for ask in asks(request)):
        yield f"    kubectl label namespace {target.namespace or 'NAMESPACE'} {ADMIN_LABEL}=true"


def gang_readme(
    files: ManifestFiles,
    names: Iterable[str],
    gang: Workload,
    plan: Plan,
    target: Target,
    scheduler: str,
    *,
    held: bool,
) -> dict[str, str]:
    """Return the README of a gang for a scheduler, whose pods are `held` to the planned domains or not."""
    from dra_lab.exports.gangs.gang_files import title_of

    title = title_of(scheduler)
    place, domains = "The scheduler chooses the domain.", planned_domains(gang, plan)
    if held and domains:
        every = ", ".join("/".join(domains[number]) or "any node" for number in sorted(domains))
        place = marked_up(f"The pods are held to the planned {'domain' if len(domains) == 1 else 'domains'}: {every}.")
    names = [*names, _README]
    fragments = [name for name in names if name in FRAGMENTS]
    parts = [
        f"# {marked_up(gang.name)}",
        f"A gang of {gang.size:,} pods for {title} and Kubernetes {target.release}.",
        marked_up(answer_sentence(plan)),
        place,
        *_section(f"What {title} cannot express", files.not_expressed),
        *_section("Before you apply", [str(finding) for finding in files.findings]),
        "## Files",
        file_list(names),
        *(f"`{one}` is a part of Kueue's Configuration. Merge it by hand; do not apply it." for one in fragments),
        f"`{printable(files.workload)}` is your workload with the claims and levels of the gang."
        if files.workload
        else "The pods are examples that sleep. Replace their image and command with yours.",
        "Apply the files with `kubectl apply -k .` in this folder.",
    ]
    return {_README: "\n\n".join(parts) + "\n"}


def planned_domains(gang: Workload, plan: Plan) -> Mapping[int, tuple[str, ...]]:
    """Return the path of the planned domain of each copy of a gang that has a place, by its number."""
    return {one.replica: one.domain for one in plan.placed_gangs if one.workload == gang.name}


def not_pinnable(gang: Workload, plan: Plan) -> str:
    """Return why there is no planned domain to hold a gang to, "" if there is one."""
    if not gang.level:
        return "this gang requires no level"
    return "" if planned_domains(gang, plan) else "this gang has no place in the plan"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield "\n".join(f"- {marked_up(line)}" for line in lines)
