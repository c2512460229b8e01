"""A gang as files for one scheduler: what these cannot express, and the folder with its README and record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct

from dra_lab.errors import InputError, did_you_mean
from dra_lab.exports.bundle import KUSTOMIZATION, Bundle, kustomization, target_record
from dra_lab.exports.gangs import kai, kueue, pod_group, volcano
from dra_lab.exports.gangs.gang_parts import Cannot, GangParts, Object, gang_parts, priority_class
from dra_lab.exports.gangs.level_keys import (
    channel_findings,
    compute_domain,
    drawn_channel_finding,
    draws_channel,
    needs_nvlink,
    pin_affinity,
    same_level,
)
from dra_lab.exports.gangs.own_workload import Edit, own_workload
from dra_lab.exports.readme import file_list
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.yaml_text import dump_all
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import KUEUE_VERSION
from dra_lab.model.release import DEFAULT_RELEASE, KubernetesRelease, release_of
from dra_lab.model.workload import Workload
from dra_lab.scheduler.kueue.quota_verdict import quota_findings
from dra_lab.sketch.claim_objects import Target
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.document import marked_up, printable
from dra_lab.words.facts import counted
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, plan_json, plan_outcome
from dra_lab.words.scheduler_sentences import Simulation

Pin = Sequence[str] | Mapping[int, Sequence[str]]
"""The path of a planned domain, or that of each copy of the gang by its number."""


class Scheduler(Struct, frozen=True):
    """A scheduler that gangs are written for.

    `objects` writes the objects of a gang by file, and `edit` its fields into a person's own workload. `cannot` yields
    what it cannot express, most important first, and `findings` what it refuses or needs. `shared_templates` says that
    it makes claims that pods share from templates.
    """

    title: str
    objects: Callable[[GangParts], dict[str, list[Object]]]
    edit: Edit
    cannot: Callable[[GangParts], Iterator[Cannot]]
    findings: Callable[[GangParts], Iterator[Finding]]
    shared_templates: bool = False


SCHEDULERS: Mapping[str, Scheduler] = {
    "kueue": Scheduler(KUEUE_VERSION, kueue.objects, kueue.edit, kueue.cannot, kueue.findings),
    "kai": Scheduler("KAI 0.17", kai.objects, kai.edit, kai.cannot, kai.findings),
    "volcano": Scheduler("Volcano 1.15", volcano.objects, volcano.edit, volcano.cannot, volcano.findings),
    "kube-scheduler": Scheduler(
        "kube-scheduler", pod_group.objects, pod_group.edit, pod_group.cannot, pod_group.findings, shared_templates=True
    ),
}
"""The schedulers that a gang can be written for."""

_RESERVED = ("kustomization.yaml", "README.md", "plan.json")


def gang_files(
    gang: Workload,
    scheduler: str,
    hierarchy: Hierarchy | None = None,
    *,
    cluster: Cluster | None = None,
    namespace: str = "",
    queue: str = "",
    pin: Pin | None = None,
    release: KubernetesRelease | str | None = None,
    workload: WorkloadFile | None = None,
    has_claims: bool = False,
) -> Bundle:
    """Return a gang as files for one scheduler, one of SCHEDULERS; the same gang gives the same bytes every time.

    `hierarchy` has the levels that the gang names; default: none, if it names no level but `host`. `cluster` has the
    DeviceClasses, those that it lacks are written. `queue` is the LocalQueue of Kueue, or the Queue of KAI or Volcano.
    `pin` is the path of the planned domain to which all pods are held, or by number that of each copy of the gang;
    default: the scheduler chooses. `workload` has the pods of the gang (`read_workload`) and gets the claims, unless it
    `has_claims` already, and the levels; it keeps its comments and names. Default: Jobs with example pods. Raises
    InputError for an unknown scheduler, level, domain or release, and for a gang that makes no sense.
    """
    if scheduler not in SCHEDULERS:
        similar = did_you_mean(scheduler, SCHEDULERS)
        raise InputError(f"scheduler {scheduler!r} is not known{similar}; use one of {', '.join(SCHEDULERS)}")
    if hierarchy is not None and gang.hierarchy not in ("", hierarchy.name):
        raise InputError(f"gang {gang.name!r} names the hierarchy {gang.hierarchy!r}; this is {hierarchy.name!r}")
    target = release_of(release, DEFAULT_RELEASE)
    if scheduler == "kube-scheduler":
        pod_group.pod_group_version(target)
    if isinstance(pin, str):
        raise InputError(f"the pin {pin!r} must be a path, such as ({pin!r},)")
    paths = [pin.get(number, ()) if isinstance(pin, Mapping) else pin or () for number in range(gang.replicas)]
    pins = [pin_affinity(hierarchy, path) if path else () for path in paths]
    once = SCHEDULERS[scheduler].shared_templates
    where = Target(target, namespace=namespace)
    parts = gang_parts(gang, hierarchy, where, cluster=cluster, queue=queue, pins=pins, shared_templates=once)
    found = _examples(scheduler, parts) if workload is None else _own(scheduler, parts, workload, has_claims=has_claims)
    return replace(found, findings=sort_findings([*found.findings, *_pin_findings(parts, pin)]))


def _examples(scheduler: str, parts: GangParts) -> Bundle:
    """Return a gang with example pods."""
    made, found = SCHEDULERS[scheduler].objects(parts), list[Finding]()
    if parts.channels:
        made = {"computedomain.yaml": [compute_domain(one, parts.metadata(one)) for one in parts.copies], **made}
        found += channel_findings(parts.copies[0])
    groups = parts.gang.pods
    if any(needs_nvlink(parts.gang, one, parts.hierarchy) and draws_channel(parts.gang, one) for one in groups):
        found.append(drawn_channel_finding(parts.gang.name))
    return _written(scheduler, parts, made, found, {**parts.texts})


def _own(scheduler: str, parts: GangParts, workload: WorkloadFile, *, has_claims: bool) -> Bundle:
    """Return a gang as a person's own workload."""
    chosen = SCHEDULERS[scheduler]
    patched, objects, lacking = own_workload(
        scheduler, parts, workload, chosen.objects(parts), chosen.edit, has_claims=has_claims
    )
    texts = {file: text for file, text in parts.texts.items() if not has_claims or file.startswith("deviceclass-")}
    found = _written(scheduler, parts, objects, patched.findings, texts)
    name = patched.name if patched.name not in (*found.texts, *_RESERVED) else f"workload-{patched.name}"
    sentences = (*found.not_expressed, *lacking)
    return replace(found, texts={**found.texts, name: patched.text}, not_expressed=sentences, workload=name)


def _written(
    scheduler: str,
    parts: GangParts,
    made: Mapping[str, list[Object]],
    more: Iterable[Finding],
    texts: Mapping[str, str],
) -> Bundle:
    """Return the objects of a gang as files, beside those of its claims, and what the scheduler makes of them."""
    chosen = SCHEDULERS[scheduler]
    if parts.priority_class:
        made = {"priorityclass.yaml": [priority_class(parts)], **made}
    joined = "of" if scheduler == "kube-scheduler" else "and"
    head = f"# Gang {parts.name}: for {chosen.title} {joined} Kubernetes {parts.target.release}, drawn with dra-lab.\n"
    cannot = tuple(chosen.cannot(parts))
    return Bundle(
        {**texts, **{file: head + dump_all(items) for file, items in made.items()}},
        findings=(*parts.findings, *chosen.findings(parts), *_lost_levels(parts, cannot), *more),
        scheduler=scheduler,
        not_expressed=tuple(dict.fromkeys(one.sentence for one in cannot)),
    )


def _lost_levels(parts: GangParts, cannot: Sequence[Cannot]) -> Iterator[Finding]:
    """Yield required levels that the files lack and no pin keeps: then pods may start in several domains."""
    for level in dict.fromkeys(level for one in cannot for level in one.lost):
        if parts.pinned and same_level(parts.hierarchy, level, parts.required):
            continue
        message = f"the files do not keep the required level {level}: pods that need one {level} may get several"
        yield Finding(
            "gang-level-lost", Severity.ERROR, parts.gang.name, message, "Pin a planned domain, or change the gang."
        )


def _pin_findings(parts: GangParts, pin: Pin | None) -> tuple[Finding, ...]:
    if pin is None or parts.pinned:
        return ()
    free = [name for name, found in zip(parts.copies, parts.pins, strict=True) if not found]
    message = f"{len(free)} of {len(parts.copies)} gangs have no planned domain, so they are not pinned: {free[0]}"
    return (
        Finding("gang-not-pinned", Severity.WARNING, parts.gang.name, message, "Plan more of them, or export fewer."),
    )


FRAGMENTS = ("kueue-configuration.yaml",)
"""Files that are a part of a configuration, which must not be applied."""

NOT_SIMULATED = "dra-lab does not simulate the files of gangs"


class PlannedGang(Struct, frozen=True):
    """A gang with its plan and all else that its files are made from.

    `cluster` is the one that was planned on, with the nodes and DeviceClasses of the gang's pods; `read` is the one
    that the record names. `queue` may have a namespace. `requests` are those of a pod of each group, by its name.
    `findings` are those about what was read.
    """

    gang: Workload
    hierarchy: Hierarchy | None
    plan: Plan
    cluster: Cluster
    read: Cluster
    release: KubernetesRelease
    queue: str = ""
    requests: Mapping[str, Mapping[str, QuantityText]] = {}
    findings: tuple[Finding, ...] = ()

    @property
    def domains(self) -> Mapping[int, tuple[str, ...]]:
        """Return the path of the planned domain of each copy of the gang that has a place, by its number."""
        return {one.replica: one.domain for one in self.plan.placed_gangs if one.workload == self.gang.name}

    @property
    def not_pinnable(self) -> str:
        """Return why there is no planned domain to hold the gang to, "" if there is one."""
        if not self.gang.level:
            return "this gang requires no level"
        return "" if self.domains else "this gang has no place in the plan"


def gang_bundle(
    planned: PlannedGang,
    scheduler: str,
    *,
    namespace: str = "",
    pin: bool = False,
    workload: WorkloadFile | None = None,
    has_claims: bool = False,
) -> Bundle:
    """Return the files of a planned gang as a folder for Git, the same for the same gang and plan.

    `namespace` is that of the workload by default. `pin` holds the pods to the planned domain. The rest is that of
    `gang_files`. Raises InputError if the files cannot be written for this scheduler, release or workload.
    """
    gang, plan, release = planned.gang, planned.plan, planned.release
    files = gang_files(
        gang,
        scheduler,
        planned.hierarchy,
        cluster=planned.cluster,
        namespace=namespace or (workload.namespace if workload is not None else ""),
        queue=planned.queue.rpartition("/")[2],  # Kueue's label has the name of the LocalQueue without its namespace
        pin=planned.domains if pin else None,
        release=release,
        workload=workload,
        has_claims=has_claims,
    )
    pinned = [planned.domains[number] for number in sorted(planned.domains)] if pin else []
    applied = [name for name in files.texts if name not in FRAGMENTS]
    texts = {**files.texts, KUSTOMIZATION: kustomization(applied)}
    texts["README.md"] = _readme(files, gang, plan, release, pinned, [*texts, "README.md"])
    drawings = [claim for group in gang.pods for claim in group.claims]
    target = Target(release)
    record = target_record(gang.name, [*drawings, *gang.every_shared_claim], planned.read, target)
    record |= {"scheduler": scheduler, "notExpressed": list(files.not_expressed), "plan": plan_json(plan)}
    quota: tuple[Finding, ...] = ()
    if scheduler == "kueue":
        trees = [planned.hierarchy] if planned.hierarchy else []
        common: dict[str, Any] = {"release": release, "hierarchies": trees, "requests": planned.requests}
        quota = tuple(quota_findings(planned.cluster, gang, planned.queue, **common))
    findings = sort_findings(dict.fromkeys((*files.findings, *planned.findings, *plan.findings, *quota)))
    return replace(files, texts=texts, record=record, findings=findings, simulation=_outcome(gang, plan))


def _outcome(gang: Workload, plan: Plan) -> Simulation:
    """Return whether the gang has its place; what the scheduler does with the files is not simulated.

    A gang that has its place is written even if others of the same plan have none.
    """
    achieves, words = {FITS: True, DOES_NOT_FIT: False}.get(plan_outcome(plan)), answer_sentence(plan)
    if len(plan.workloads) > 1:
        placed = plan.placed[gang.name]
        achieves = True if placed == gang.replicas else achieves
        words = f"{gang.name}: {placed:,} of {counted(gang.replicas, 'gang')} placed. All workloads: {words}"
    return Simulation(achieves, words, f"{NOT_SIMULATED}.")


def title_of(scheduler: str) -> str:
    """Return the name of a scheduler as people write it, with its version: `Kueue 0.20`."""
    return SCHEDULERS[scheduler].title


def _readme(
    files: Bundle,
    gang: Workload,
    plan: Plan,
    release: KubernetesRelease,
    pinned: Sequence[Sequence[str]],
    names: Sequence[str],
) -> str:
    title, held = title_of(files.scheduler), "The scheduler chooses the domain."
    if pinned:
        every = ", ".join("/".join(path) or "any node" for path in pinned)
        held = marked_up(f"The pods are held to the planned {'domain' if len(pinned) == 1 else 'domains'}: {every}.")
    fragments = [name for name in names if name in FRAGMENTS]
    parts = [
        f"# {marked_up(gang.name)}",
        f"A gang of {gang.size:,} pods for {title} and Kubernetes {release}.",
        marked_up(answer_sentence(plan)),
        held,
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
    return "\n\n".join(parts) + "\n"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield "\n".join(f"- {marked_up(line)}" for line in lines)
