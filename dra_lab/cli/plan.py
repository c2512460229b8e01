"""`dra-lab plan`: the best allocation of a claim, or of many replicas, on a cluster, or the reason why not."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.cli.options import (
    add_cluster,
    add_detail,
    add_planning,
    findings_of,
    plan_with_bar,
    seconds,
    session_of,
    status_of,
)
from dra_lab.cli.pods import plan_pod, refuse_output
from dra_lab.cli.workloads import add_workloads, is_fleet, run_fleet
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan

if TYPE_CHECKING:
    from dra_lab.gitops.asked import AskedPod


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    add_planning(parser)
    add_workloads(parser)
    parser.add_argument("--time-limit", type=seconds, metavar="S", help="seconds after which the best so far is given")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_detail(parser)
    parser.add_argument("--output", type=Path, metavar="DIR", help="write the manifests to this folder as well")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plan, print the answer, write the manifests where asked; replicas are the business of `workloads`."""
    if is_fleet(options):
        return run_fleet(options)
    from dra_lab.exports.starts import searched

    pod = plan_pod(options)
    if pod is not None:
        refuse_output(options)
        _tell(options, pod.plan, pod.cluster, (*_one_of_many(options, pod.pod), *pod.findings))
        return status_of(pod.plan)
    session = session_of(options)
    plan = plan_with_bar(session)
    session.wait()
    plan, findings = searched(plan, findings_of(options, session))
    _tell(options, plan, session.cluster, findings)
    if options.output:
        from dra_lab.session.outputs import export

        for path in export(session, options.output):
            print(f"wrote {path}", file=sys.stderr)
    return status_of(plan)


def _one_of_many(options: argparse.Namespace, pod: AskedPod) -> Iterator[Finding]:
    """Yield that one pod was planned where its workload runs several."""
    if pod.replicas < 2:
        return
    message = f"{options.claim} says {pod.replicas} replicas; this is the plan of one of them"
    if pod.allocated or pod.shared:
        names = ", ".join(sorted({*pod.shared, *(claim.metadata.name for claim in pod.allocated)}))
        advice = f"They share {names}, which is allocated once: dra-lab check answers such pods together."
    else:
        advice = f"--replicas {pod.replicas} behind --claim places all of them; dra-lab check asks how many fit."
    yield Finding("one-replica-planned", Severity.NOTE, pod.subject, message, advice)


def _tell(options: argparse.Namespace, plan: Plan, cluster: Cluster, findings: Iterable[Finding]) -> None:
    """Print the answer, and on standard error what was noticed."""
    if options.format == "json":
        from dra_lab.words.plan_json import plan_json

        print(json.dumps(plan_json(plan), indent=2, ensure_ascii=False))
    else:
        from dra_lab.words.plan_document import NAMES, plan_text

        # those of the plan are among the findings that go to standard error
        print(plan_text(replace(plan, findings=()), cluster, names=NAMES, detail=options.detail), end="")
    for finding in findings:
        print(finding, file=sys.stderr)
