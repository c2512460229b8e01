"""`dra-lab plan`: the best allocation of a claim, or of many replicas, on a cluster, or the reason why not."""

from __future__ import annotations

import argparse
import math
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as changed

from dra_lab.cli.claim_options import (
    add_question,
    refuse_node_of_replicas,
    refuse_options,
)
from dra_lab.cli.options import (
    cluster_of,
    plan_files,
    print_answer,
    release_of,
    seconds,
    setting_of,
)
from dra_lab.cli.output import add_output
from dra_lab.cli.plan_questions import after_plan, plan_asked, started
from dra_lab.cli.workloads import Asked, asked_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.planner.budget import command_waits
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import WrittenWorkload
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.model.running import Movable
    from dra_lab.words.plan_document import AfterPlan

EXAMPLES = (
    "dra-lab plan sample:eks-p4d --claim sample:eks-p4d/gpu-nic-pairs",
    "dra-lab plan cluster/ --claim claim.yaml --replicas 8 -v",
    'dra-lab plan sample:h100-pod --claim sample:h100-pod/eight-pairs --gang 3 --level "leaf switch"',
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_question(parser)
    parser.add_argument(
        "--time-limit", type=seconds, metavar="S", help="seconds after which to return the best plan so far"
    )
    group = parser.add_argument_group("running pods")
    group.add_argument(
        "--make-room",
        action="store_true",
        help="the fewest running pods that have to move so that it fits; nothing is carried out",
    )
    text = "only pods of this namespace may move (repeatable; default: all but kube-system)"
    group.add_argument("--movable-namespace", action="append", default=[], metavar="NS", help=text)
    text = "only pods with this label may move (repeatable)"
    group.add_argument("--movable-label", action="append", type=label, default=[], metavar="KEY=VALUE", help=text)
    text = "write the moves as steps with kubectl lines to a Markdown file"
    group.add_argument("--steps", type=Path, metavar="FILE", help=text)
    text = "if it does not fit: write what lets Cluster Autoscaler or Karpenter add the missing nodes to a folder"
    parser.add_argument("--export-autoscaler", type=Path, metavar="FOLDER", help=text)
    text = "bandwidths that you measured with the link and without it; they replace the published range"
    parser.add_argument("--measured", type=measured, metavar="WITH:WITHOUT", help=text)
    add_output(parser, all_of_it="print the whole answer: goals with proof, bandwidth with sources, nodes, reasons")


def measured(text: str) -> tuple[float, float]:
    """Return two bandwidths. Raises argparse's error for anything but two numbers above 0."""
    near, colon, far = text.partition(":")
    try:
        found = float(near), float(far)
    except ValueError:
        found = (0.0, 0.0)
    if not colon or not all(0 < value < math.inf for value in found):
        raise argparse.ArgumentTypeError(f"{text!r}: give two numbers above 0 as WITH:WITHOUT, for example 46.1:25.3")
    return found


def label(text: str) -> tuple[str, str]:
    """Return a label as key and value. Raises argparse's error for anything else."""
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise argparse.ArgumentTypeError(f"{text!r}: write KEY=VALUE")
    return key, value


def run(options: argparse.Namespace) -> int:
    """Plan and print the answer and what is known after it; return the exit status.

    Raises InputError for options at odds.
    """
    if "claims" not in options and any(layer.change == "drain" for layer in options.layers):
        return _print_moves(options)
    asked = asked_of(options, alone=not options.make_room)
    if asked.gangs:
        refuse_options(options)
    if options.node and sum(one.replicas for one in asked.every) > 1:
        refuse_node_of_replicas()
    with command_waits() as (show, cancel):
        if options.make_room:
            plan = _with_room(options, asked, show, cancel)
            asked = changed(asked, cluster=plan.on or asked.cluster)
        else:
            plan = plan_asked(options, asked, show, cancel)
        asked = asked.planned(plan)
        plan, findings = started(options, asked, plan, cancel)
        after, found = after_plan(options, asked, plan, show, cancel)
    own, plan = plan.findings, plan.checked_against(after.more.values())
    if more := (*found, *plan.findings[len(own) :]):
        findings = sort_findings((*findings, *more))
    if options.measured and asked.alone is not None:
        plan = _with_measured(plan, *options.measured)
    if options.steps is not None:
        _write_steps(options.steps, plan)
    several = () if asked.pod is None else _one_of_many(options, asked.pod)
    return _print(options, plan, asked.cluster, (*several, *findings), after)


def _with_measured(plan: Plan, with_link: float, without_link: float) -> Plan:
    """Return a plan with a person's own bandwidths. Raises InputError if it has no path that can be measured."""
    from dra_lab.model.placement import measured_path, with_measured

    path = measured_path(plan.regrets)
    if not path:
        raise InputError("without the link kube-scheduler allocates no GPU and NIC whose path can be measured")
    return replace(plan, regrets=with_measured(plan.regrets, {path: (with_link, without_link)}))


def _with_room(options: argparse.Namespace, asked: Asked, show: Any, cancel: threading.Event) -> Plan:
    """Return the plan with the moves that make room. Raises InputError for options that have no meaning with it."""
    from dra_lab.planner.make_room import make_room

    if options.node or options.objective != "replicas":
        raise InputError("--node and --objective have no meaning with --make-room; leave them out")
    common: dict[str, Any] = {"goals": setting_of(options, "goals"), "time_limit": options.time_limit}
    common |= {"release": release_of(options), "progress": show, "cancel": cancel}
    return make_room(asked.cluster, list(asked.every), movable=_movable_of(options), **common)


def _movable_of(options: argparse.Namespace) -> Movable:
    """Return the pods that may move, by the options, else by the plan files. Raises InputError if these differ."""
    from dra_lab.model.running import Movable

    if options.movable_namespace or options.movable_label:
        return Movable(namespaces=tuple(options.movable_namespace), labels=dict(options.movable_label))
    found = [one.movable for one in plan_files(options).values() if one.movable is not None]
    if any(one != found[0] for one in found):
        raise InputError("the plan files differ in movable; give --movable-namespace or --movable-label")
    return found[0] if found else Movable()


def _print_moves(options: argparse.Namespace) -> int:
    """Print where the pods of drained nodes go, where nothing else is asked for; return the exit status."""
    from dra_lab.planner.questions import make_plan
    from dra_lab.words.plan_document import AfterPlan, detailed_parts
    from dra_lab.words.plan_json import plan_json

    if options.export_autoscaler is not None:
        raise InputError("--export-autoscaler adds nodes for a claim; give --claim, or leave it out")
    plan = make_plan(cluster_of(options), [], release=release_of(options))
    if options.steps is not None:
        _write_steps(options.steps, plan)
    parts = detailed_parts(replace(plan, findings=()), detail=options.detail)
    outcome = FITS if all(move.node_to for move in plan.moves) else DOES_NOT_FIT
    return print_answer(options, lambda: plan_json(plan, AfterPlan()), parts, plan.findings, outcome)


def _write_steps(file: Path, plan: Plan) -> None:
    from dra_lab.sources.drawing_files import write_whole
    from dra_lab.words.moves_document import steps_markdown

    write_whole(file, steps_markdown(plan))


def _autoscaler_files(options: argparse.Namespace, added: AddedNodes | None) -> list[str]:
    """Write the files of --export-autoscaler; return their paths, and print a note if there is nothing to write."""
    from dra_lab.exports.autoscaler import autoscaler_files
    from dra_lab.exports.written_files import write_files
    from dra_lab.manifests.file_text import expanded
    from dra_lab.words.plan_json import added_json

    if added is None:
        text = (
            "note: no files are written for an autoscaler: the plan lacks no nodes, or none that is known here helps."
        )
        print(text, file=sys.stderr)
        return []
    record = {"cluster": added.name, "release": added.release, "added": added_json(added)}
    return [*map(str, write_files(expanded(options.export_autoscaler), autoscaler_files(added), record))]


def _one_of_many(options: argparse.Namespace, pod: WrittenWorkload) -> Iterator[Finding]:
    """Yield that one pod was planned where its workload runs several."""
    if pod.replicas < 2:
        return
    message = f"{options.claim} says {pod.replicas} replicas; this is the plan of one of them"
    if pod.allocated or pod.named:
        names = ", ".join(sorted({*pod.named, *(claim.metadata.name for claim in pod.allocated)}))
        advice = f"They share {names}, which is allocated once: dra-lab check answers such pods together."
    else:
        advice = f"--replicas {pod.replicas} behind --claim places all of them; dra-lab check says how many fit."
    yield Finding("one-replica-planned", Severity.NOTE, pod.subject, message, advice)


def _print(
    options: argparse.Namespace,
    plan: Plan,
    cluster: Cluster,
    findings: Sequence[Finding],
    after: AfterPlan,
) -> int:
    from dra_lab.words.document import Lines
    from dra_lab.words.plan_document import NAMES, detailed_parts
    from dra_lab.words.plan_json import plan_json, pod_outcome

    wanted = options.export_autoscaler is not None
    files = _autoscaler_files(options, after.added) if wanted else []
    # those of the plan are among the findings that go to standard error
    shown = replace(plan, findings=())
    parts = [*detailed_parts(shown, cluster, names=NAMES, detail=options.detail, after=after)]
    parts += [Lines("Files for an autoscaler", files)] if files else []
    whole, more = replace(plan, findings=tuple(findings)), {"files": files} if wanted else {}
    return print_answer(options, lambda: {**plan_json(whole, after), **more}, parts, findings, pod_outcome(plan))
