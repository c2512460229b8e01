"""`dra-lab export --gang`: the files of a gang for Kueue, KAI, Volcano or kube-scheduler."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.cli.claim_options import namespace_of, refuse_options
from dra_lab.cli.options import cluster_of, release_of
from dra_lab.cli.workloads import Asked, GangInput, asked_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.plan import Plan
from dra_lab.planner.waiting import command_waits

if TYPE_CHECKING:
    from dra_lab.exports.bundle import Bundle
    from dra_lab.exports.workload_file import WorkloadFile

_SECONDS = 60.0


def planned_gang_bundle(options: argparse.Namespace) -> tuple[Bundle, Plan, str, tuple[Finding, ...]]:
    """Plan the gang of a command; return its files, its plan, the answer in words, and the findings.

    Raises InputError for options that have no meaning for gangs.
    """
    from dra_lab.exports.gangs.gang_files import PlannedGang, gang_bundle
    from dra_lab.planner.questions import plan_workloads
    from dra_lab.words.answer_sentence import answer_sentence

    _refuse(options)
    gangs, release = asked_of(options), release_of(options)
    one = _only(gangs)
    if options.pin and not one.gang.level:
        raise InputError("--pin holds a gang to its planned domain, and this gang requires no level; give --level NAME")
    workload, has_claims = _workload(options, one)
    with command_waits() as (show, cancel):
        plan = plan_workloads(
            gangs.cluster, [one.gang], release=release, time_limit=_SECONDS, progress=show, cancel=cancel
        )
    findings = (*(_placeholders(one) if workload is None else ()), *gangs.findings)
    given: dict[str, Any] = {"queue": one.queue, "requests": one.requests, "findings": findings}
    planned = PlannedGang(one.gang, one.hierarchy, plan, gangs.cluster, cluster_of(options), release, **given)
    pods: dict[str, Any] = {"namespace": namespace_of(options), "workload": workload, "has_claims": has_claims}
    made = gang_bundle(planned, options.scheduler, pin=options.pin, **pods)
    return made, plan, answer_sentence(plan), made.findings


def _refuse(options: argparse.Namespace) -> None:
    """Raise InputError for what an export of a gang lacks or cannot use."""
    from dra_lab.exports.gangs.gang_files import SCHEDULERS

    refuse_options(options)
    if not options.scheduler:
        raise InputError(f"--scheduler is missing: a gang is written for one of {', '.join(SCHEDULERS)}")
    given = {
        "--container": options.container,
        "--patch": options.patch,
        "--measure": options.measure,
        "--example": options.example,
        "--annotate": options.annotate,
        **{f"--{name}": True for name in options.extra},
        "--kind claim": options.kind != "template",
        f"--api-version {options.api_version}": options.api_version != "v1",
    }
    for name, value in given.items():
        if value:
            raise InputError(f"{name} is not for the files of a gang; leave it out")


def _only(given: Asked) -> GangInput:
    """Return the gang of a command. Raises InputError if there are several, or workloads beside it."""
    if len(given.gangs) > 1 or given.workloads:
        names = ", ".join([*(one.gang.name for one in given.gangs), *(pod.name for pod in given.workloads)])
        raise InputError(f"one gang is exported at a time, and these are several: {names}; give each its own --dir")
    return given.gangs[0]


def _workload(options: argparse.Namespace, one: GangInput) -> tuple[WorkloadFile | None, bool]:
    """Return the workload that gets the levels of the gang (None without --workload), and whether it has the claims.

    Raises InputError if the claims of another file's pods would be lost.
    """
    from dra_lab.exports.workload_file import pod_templates, read_workload
    from dra_lab.manifests.device_asks import requested_devices

    if options.workload is None:
        return None, False
    source, file = Path(one.source).resolve(), options.workload.resolve()
    if source == file or source in file.parents:
        asking = [field.template for field in pod_templates(options.workload) if requested_devices(field.spec)]
        return read_workload(options.workload, options.template or asking), True
    if one.of_pods:
        message = f"the pods of {one.source} have their own claims"
        raise InputError(f"{message}; give --workload the same file, or --claim a claim")
    return read_workload(options.workload, options.template), False


def _placeholders(one: GangInput) -> Iterator[Finding]:
    """Yield that the pods of a file are not among the files that are written."""
    if one.of_pods:
        message = f"the files have example pods; the containers of {one.source} are not in them"
        advice = "--workload FILE with the same file writes the levels and the node affinity into it."
        yield Finding("gang-example-pods", Severity.WARNING, one.gang.name, message, advice)
