"""The export of a gang as a folder: its files, kustomization, README with what the scheduler cannot express, record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dra_lab.exports.bundle import KUSTOMIZATION, Bundle, kustomization, target_record
from dra_lab.exports.gangs.gang_files import SCHEDULERS, GangFiles
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import Gang, GangPlan
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.manifest_target import Target
from dra_lab.words.document import marked_up, printable
from dra_lab.words.gang_document import gang_sentence
from dra_lab.words.gang_json import gang_json

FRAGMENTS = ("kueue-configuration.yaml",)
"""Files that are a part of a configuration, which must not be applied."""


def gang_bundle(
    files: GangFiles,
    gang: Gang,
    plan: GangPlan,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    pinned: Sequence[Sequence[str]] = (),
    findings: Sequence[Finding] = (),
) -> Bundle:
    """Return the files of a gang as a folder for Git.

    Args:
        files: The files for one scheduler.
        gang: The gang.
        plan: The plan of the gang.
        cluster: The cluster that was planned on.
        release: The release of Kubernetes that the files are for.
        pinned: The domains to which the gangs are held; (): the scheduler chooses.
        findings: What else a person must know.

    Returns:
        The texts, which are the same for the same gang and plan, and what `plan.json` records.
    """
    every = tuple(dict.fromkeys((*files.findings, *findings)))
    applied = [name for name in files.documents if name not in FRAGMENTS]
    texts = dict(files.documents) | {KUSTOMIZATION: kustomization(applied)}
    texts["README.md"] = _readme(files, gang, plan, release, pinned, [*texts, "README.md"])
    drawings = [claim for group in gang.groups for claim in group.workload.claims]
    record: dict[str, Any] = target_record(gang.name, [*drawings, *gang.every_shared_claim], cluster, Target(release))
    record["scheduler"] = files.scheduler
    record["notExpressed"] = list(files.not_expressed)
    record["plan"] = gang_json(plan)
    return Bundle(texts, record, sort_findings(every))


def title_of(scheduler: str) -> str:
    """Return the name of a scheduler as people write it, with its version: `Kueue 0.19`."""
    return SCHEDULERS[scheduler].title.removesuffix(" and").removesuffix(" of")


def _readme(
    files: GangFiles,
    gang: Gang,
    plan: GangPlan,
    release: KubernetesRelease,
    pinned: Sequence[Sequence[str]],
    names: Sequence[str],
) -> str:
    title = title_of(files.scheduler)
    parts = [
        f"# {marked_up(gang.name)}",
        f"A gang of {gang.size:,} pods for {title} and Kubernetes {release}.",
        marked_up(gang_sentence(plan)),
        *_pins(pinned),
        *_section(f"What {title} cannot express", files.not_expressed),
        *_section("Before you apply", [str(finding) for finding in files.findings]),
        "## Files",
        "\n".join(f"- `{printable(name)}`" for name in names),
        *_fragments(names),
        f"`{printable(files.workload)}` is your workload with the claims and levels of the gang."
        if files.workload
        else "The pods are examples that sleep. Replace their image and command with yours.",
        "Apply the files with `kubectl apply -k .` in this folder.",
    ]
    return "\n\n".join(parts) + "\n"


def _pins(pinned: Sequence[Sequence[str]]) -> Iterator[str]:
    if not pinned:
        yield "The scheduler chooses the domain."
        return
    every = ", ".join("/".join(path) or "any node" for path in pinned)
    yield marked_up(f"The pods are held to the planned {'domain' if len(pinned) == 1 else 'domains'}: {every}.")


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield "\n".join(f"- {marked_up(line)}" for line in lines)


def _fragments(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name in FRAGMENTS:
            yield f"`{name}` is a part of Kueue's Configuration. Merge it by hand; do not apply it."
