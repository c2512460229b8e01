"""`dra-lab plan`: the best allocation of a claim, or of many replicas, on a cluster, or the reason why not."""

from __future__ import annotations

import argparse
import math
import sys
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as changed

from dra_lab.cli.claim_options import (
    add_gangs,
    add_workloads,
    is_fleet,
    is_gang,
    refuse_node_of_replicas,
    refuse_options,
)
from dra_lab.cli.one_pod import plan_pod, with_measured
from dra_lab.cli.options import (
    add_cluster,
    add_planning,
    add_what_if,
    cluster_of,
    plan_files,
    print_answer,
    release_of,
    seconds,
    setting_of,
    with_cluster_findings,
)
from dra_lab.cli.output import add_output
from dra_lab.cli.workloads import Asked, GangInput, asked_of
from dra_lab.errors import Cancelled, InputError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import command_waits
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, plan_outcome

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import ReadPod
    from dra_lab.model.gang_verdicts import GangChoice
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
    add_cluster(parser)
    add_planning(parser)
    add_workloads(parser)
    add_gangs(parser)
    add_what_if(parser)
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
    """Plan and print the answer, for one pod and for many; return the exit status."""
    if "claims" not in options and any(layer.change == "drain" for layer in options.layers):
        return _print_moves(options)
    if options.make_room:
        return _run_workloads(options)
    if is_fleet(options) or is_gang(options):
        return _run_workloads(options)
    pod = plan_pod(options)
    plan = with_measured(pod.plan, *options.measured) if options.measured else pod.plan
    _write_steps(options, plan)
    more = _one_of_many(options, pod.pod) if pod.pod is not None else ()
    return _print(options, plan, pod.cluster, (*more, *pod.findings))


def _run_workloads(options: argparse.Namespace) -> int:
    """Place replicas and gangs, print the answer and what is known after it. Raises InputError for options at odds."""
    from dra_lab.planner.arguments import is_one_pod
    from dra_lab.planner.plan_workloads import plan_workloads

    if is_gang(options):
        refuse_options(options)
    release, asked = release_of(options), asked_of(options)
    if options.node and not is_one_pod(asked.every):
        refuse_node_of_replicas()
    with command_waits() as (show, cancel):
        common: dict[str, Any] = {
            "release": release,
            "goals": setting_of(options, "goals"),
            "time_limit": options.time_limit,
            "progress": show,
            "cancel": cancel,
        }
        if options.make_room:
            plan = _with_room(options, asked, common)
            asked = changed(asked, cluster=plan.on or asked.cluster)
        else:
            plan = plan_workloads(asked.cluster, asked.every, node=options.node, objective=options.objective, **common)
        asked = asked.planned(plan)
        plan = started(asked, plan, release, options.time_limit, cancel)
        questions = Questions(options, asked.cluster, plan, release, show, cancel)
        after = questions.after(asked)
    plan = plan.checked_against(after.more.values())
    _write_steps(options, plan)
    findings = with_cluster_findings(options, (*asked.findings, *plan.findings, *questions.findings))
    return _print(options, plan, asked.cluster, findings, after)


def _with_room(options: argparse.Namespace, asked: Asked, common: dict[str, Any]) -> Plan:
    """Return the plan with the moves that make room. Raises InputError for options that have no meaning with it."""
    from dra_lab.planner.make_room import make_room

    if options.node or options.objective != "replicas":
        raise InputError("--node and --objective have no meaning with --make-room; leave them out")
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
    _write_steps(options, plan)
    parts = detailed_parts(replace(plan, findings=()), detail=options.detail)
    outcome = FITS if all(move.node_to for move in plan.moves) else DOES_NOT_FIT
    return print_answer(options, lambda: plan_json(plan, AfterPlan()), parts, plan.findings, outcome)


def _write_steps(options: argparse.Namespace, plan: Plan) -> None:
    """Write the moves to the file of --steps."""
    if options.steps is None:
        return
    from dra_lab.sources.drawing_files import write_whole
    from dra_lab.words.moves_document import steps_markdown

    write_whole(options.steps, steps_markdown(plan))


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


def _one_of_many(options: argparse.Namespace, pod: ReadPod) -> Iterator[Finding]:
    """Yield that one pod was planned where its workload runs several."""
    if pod.replicas < 2:
        return
    message = f"{options.claim} says {pod.replicas} replicas; this is the plan of one of them"
    if pod.allocated or pod.shared:
        names = ", ".join(sorted({*pod.shared, *(claim.metadata.name for claim in pod.allocated)}))
        advice = f"They share {names}, which is allocated once: dra-lab check answers such pods together."
    else:
        advice = f"--replicas {pod.replicas} behind --claim places all of them; dra-lab check says how many fit."
    yield Finding("one-replica-planned", Severity.NOTE, pod.subject, message, advice)


def _print(
    options: argparse.Namespace,
    plan: Plan,
    cluster: Cluster,
    findings: Sequence[Finding],
    after: AfterPlan | None = None,
) -> int:
    from dra_lab.words.document import Lines
    from dra_lab.words.plan_document import NAMES, detailed_parts
    from dra_lab.words.plan_json import plan_json, pod_outcome

    if after is None:
        after = Questions(options, cluster, plan, cluster.target_release(release_of(options))).after()
    wanted = options.export_autoscaler is not None
    files = _autoscaler_files(options, after.added) if wanted else []
    # those of the plan are among the findings that go to standard error
    shown = replace(plan, findings=())
    parts = [*detailed_parts(shown, cluster, names=NAMES, detail=options.detail, after=after)]
    parts += [Lines("Files for an autoscaler", files)] if files else []
    whole, more = replace(plan, findings=tuple(findings)), {"files": files} if wanted else {}
    return print_answer(options, lambda: {**plan_json(whole, after), **more}, parts, findings, pod_outcome(plan))


_SECONDS = 30.0
"""Seconds for each question after the plan, where no time limit is given."""

_TO_ADD = 10.0
"""Seconds for the nodes to add, which are a remark beside the answer."""

_MOST_TYPES = 4
_UNANSWERED = (PlanStatus.STOPPED, PlanStatus.NOT_CHECKED, PlanStatus.EMPTY)


class Questions:
    """The questions after a plan, each within the time limit of the command, or 30 s without one.

    Nothing is asked once cancelled; a question that is cancelled while it is looked at has its bounds. Unless
    `everything`, the largest job and the stranded devices are not asked for.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        cluster: Cluster,
        plan: Plan,
        release: KubernetesRelease,
        progress: Any = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """Take the plan, and what every question needs."""
        given = getattr(options, "time_limit", None)
        self.seconds = _SECONDS if given is None else given
        self.everything = options.format == "json" or options.detail == "all"
        self.exports_nodes = getattr(options, "export_autoscaler", None) is not None
        self.cluster, self.plan, self.release = cluster, plan, release
        self.cancel = cancel or threading.Event()
        self.findings: list[Finding] = []
        self._common: dict[str, Any] = {
            "release": release,
            "progress": progress,
            "cancel": cancel,
            "time_limit": self.seconds,
        }

    def after(self, asked: Asked | None = None) -> AfterPlan:
        """Return what is known after the plan; `asked` has the queues and files of the workloads, None for one pod."""
        from dra_lab.planner.questions import how_many_more
        from dra_lab.sketch.kind_counts import unread_words
        from dra_lab.words.plan_document import AfterPlan

        plan, known = self.plan, AfterPlan(unread="" if self.plan.is_one_pod else unread_words(self.cluster))
        if plan.status in _UNANSWERED or self.cancel.is_set() or plan.allocated_claims:
            return known
        gangs = {gang.name for gang in plan.gangs}
        more, total = {}, {}
        for workload in plan.workloads if plan.fits or gangs else ():
            if self.cancel.is_set():
                break
            more[workload.name] = how_many_more(self.cluster, workload, after=plan, **self._common)
            if workload.name in gangs:
                now = how_many_more(self.cluster, workload, **self._common) if plan.pods else more[workload.name]
                total[workload.name] = now
        known = changed(known, more=more, total=total)
        if self.everything and not gangs:
            known = self._capacity(known)
        if not plan.fits and not plan.is_one_pod:
            known = changed(known, alone=self._alone())
        known = changed(known, added=self._nodes_that_help())
        return known if asked is None or not gangs else self._of_gangs(known, asked)

    def _capacity(self, known: AfterPlan) -> AfterPlan:
        from dra_lab.planner.fleet import largest_job, stranded

        claims = [workload.claims[0] for workload in self.plan.workloads if workload.claims]
        common = {**self._common, "after": self.plan}
        jobs = tuple(largest_job(self.cluster, claim, **common) for claim in claims)
        return changed(known, jobs=jobs, stranded=stranded(self.cluster, claims, **common))

    def _alone(self) -> dict[str, Plan]:
        """Return the plan of one pod of each workload without gangs, where that is the reason."""
        from dra_lab.planner.plan_pod import plan_pod

        single = [workload for workload in self.plan.workloads if not workload.is_gang]
        return {one.name: plan_pod(self.cluster, one, release=self.release, time_limit=10.0) for one in single}

    def _nodes_that_help(self) -> AddedNodes | None:
        """Return the fewest nodes like those of the cluster with which everything fits, None if that is not known."""
        from dra_lab.model.node_type import NodeType
        from dra_lab.planner.gangs.nodes_to_add import nodes_to_add

        outcome = plan_outcome(self.plan)
        of_gangs = self.plan.gangs and not self.plan.fits and outcome == DOES_NOT_FIT
        if not (of_gangs or (self.exports_nodes and outcome != FITS)) or self.cancel.is_set():
            return None
        kinds: dict[Hashable, str] = {}
        for node, slices in self.cluster.slices_by_node.items():
            kinds.setdefault(tuple(sorted((one.spec.driver, len(one.spec.devices or ())) for one in slices)), node)
        types = [NodeType.like(node) for node in [*kinds.values()][:_MOST_TYPES]]
        common: dict[str, Any] = {"release": self.release, "cancel": self.cancel}
        with suppress(InputError, UnsupportedFeature):
            limit = self.seconds if self.exports_nodes else min(self.seconds, _TO_ADD)
            found = nodes_to_add(self.cluster, self.plan.workloads, types, time_limit=limit, **common)
            return found if found.count else None
        return None

    # -- gangs

    def _of_gangs(self, known: AfterPlan, asked: Asked) -> AfterPlan:
        """Return what is known with the queues of gangs, and with what schedulers do."""
        from dra_lab.planner.gangs import gang_verdicts

        choices: dict[str, tuple[GangChoice, ...]] = {}
        verdicts = {}
        with suppress(Cancelled):
            for one in asked.gangs:
                try:
                    choices[one.gang.name] = self._choices(one)
                except UnsupportedFeature as error:
                    self.findings.append(Finding("gang-not-replayed", Severity.WARNING, one.gang.name, error.message))
                    break
        for one in (one for one in asked.gangs if one.queue):
            common: dict[str, Any] = {"plan": self.plan, "release": self.release, "requests": one.requests or None}
            try:
                verdicts[one.gang.name] = gang_verdicts(self.cluster, one.gang, queue=one.queue, **common)
            except InputError as error:
                advice = "Only the devices are answered."
                name, words = one.gang.name, error.message
                self.findings.append(Finding("gang-queue-unknown", Severity.WARNING, name, words, advice))
        for one in asked.gangs:
            # Kueue was replayed with pods of which it is not known what they request of a node
            if not any(one.requests.values()) and any(c.replay.domains for c in choices.get(one.gang.name, ())):
                self.findings.append(_unknown_requests(one))
        queues = {one.gang.name: one.queue for one in asked.gangs}
        return changed(known, choices=choices, verdicts=verdicts, queues=queues)

    def _choices(self, one: GangInput) -> tuple[GangChoice, ...]:
        from dra_lab.pinning.gang_choices import gang_choices
        from dra_lab.pinning.pin_budget import budget_of

        common: dict[str, Any] = {"requests": one.requests, "budget": budget_of(self.seconds, self.cancel)}
        return tuple(gang_choices(self.cluster, one.gang, one.hierarchy, self.release, self.plan, **common))


def _unknown_requests(one: GangInput) -> Finding:
    message = (
        f"Kueue counts CPUs and memory, and {one.source} says none for its pods, so Kueue may put all pods on one node"
    )
    advice = "Write requests for the containers of the Job that you submit, and plan that Job."
    return Finding("gang-requests-unknown", Severity.NOTE, one.gang.name, message, advice)


def started(
    asked: Asked, plan: Plan, release: KubernetesRelease, time_limit: float | None, cancel: threading.Event
) -> Plan:
    """Return the plan after kube-scheduler's search for a pod of each placed workload, on every node that it may use.

    Its findings include those of the searches.
    """
    from dra_lab.pinning.pod_start import searched, start_of

    if not plan.pods or plan.gangs:
        return plan
    found = (*plan.findings, *_searches(asked, plan, release, _SECONDS if time_limit is None else time_limit, cancel))
    if plan.is_one_pod:
        plan, found = searched(plan, found)
        return replace(plan, findings=found)
    return replace(plan, start=start_of(found), findings=found)


def _searches(
    asked: Asked, plan: Plan, release: KubernetesRelease, seconds: float, cancel: threading.Event
) -> Iterator[Finding]:
    from dra_lab.pinning.node_search import start_findings

    common: dict[str, Any] = {"time_limit": seconds, "cancel": cancel}
    with suppress(Cancelled):
        for one in (one for one in plan.workloads if plan.placed[one.name] and not one.is_gang):
            written = one.name in asked.written
            yield from start_findings(one.claims, asked.cluster, release, one.name, written=written, **common)
