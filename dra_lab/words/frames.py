"""`frame`: an answer as a pandas DataFrame, one view at a time: every row, never a cut list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.errors import InputError, a_kind
from dra_lab.findings import Finding
from dra_lab.index.in_use import Amount, counters_in_use, devices_in_use
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.goals import FLEET_GOALS, GOALS
from dra_lab.model.headroom import DOMAIN, NODE, NODES_TOGETHER, Headroom, Stranded
from dra_lab.model.names import DeviceID
from dra_lab.model.node_type import AddedNodes
from dra_lab.model.placement import PlacedPod
from dra_lab.model.plan import Plan
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.quantity import format_quantity
from dra_lab.model.trace import Trace
from dra_lab.model.upgrade import Upgrade
from dra_lab.planner.scenarios import ScenarioAnswer
from dra_lab.sketch.cluster_candidates import device_use
from dra_lab.topology.locality import localities, skipped_devices
from dra_lab.topology.places import Locality, Place
from dra_lab.words.capacity_document import added_table
from dra_lab.words.document import as_frame, frame_of
from dra_lab.words.explain_claim import tests_of
from dra_lab.words.plan_document import goals_table, workloads_table
from dra_lab.words.trace_words import trace_frame
from dra_lab.words.upgrade_document import upgrade_table
from dra_lab.words.workload_words import questions_table

if TYPE_CHECKING:
    import pandas as pd


DEVICE_COLUMNS = (
    *("node", "device", "kind", "model", "state", "used_by", "numa_node", "numa_source", "pcie_root", "switch"),
    *("socket", "address", "taints", "capacity"),
)


def devices_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each device of each node that sees it, in kube-scheduler's order.

    `kind` is like "gpu", or "gpu (guessed)" for a driver without a profile. `numa_node`, `pcie_root`, `switch` and
    `socket` are None if unknown. `capacity` is Kubernetes quantities, such as "memory: 40Gi".
    """
    rows = []
    for name in cluster.node_names:
        places = localities(cluster, name)
        seen = [(one.id, one.device, device_use(cluster, one)) for one in devices_on(gather_pools(cluster, name))]
        seen += [(one.id, one.device, "skipped") for one in skipped_devices(cluster, name)]
        rows += [_device_row(cluster, name, *one, places.get(one[0])) for one in seen]
    return frame_of(rows, DEVICE_COLUMNS)


def in_use_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each device that claims hold, sorted by driver, pool and device.

    `left` says what is left of a shared device: `memory: 40Gi of 80Gi`; `health` is what kubelet writes into pods, ""
    where no pod says anything; `published` is False for a device that no ResourceSlice has any more.
    """
    rows: list[list[object]] = []
    for row in devices_in_use(cluster):
        lists = (row.claims, row.admin, row.consumers)
        left = ", ".join(f"{key}: {left_of(amount)}" for key, amount in row.capacity.items())
        head = [str(row.device), row.node, row.shared, *map(", ".join, lists)]
        rows.append([*head, left, ", ".join(row.taints), row.health, row.published])
    columns = ("device", "node", "shared", "claims", "admin", "reserved_for", "left", "taints", "health", "published")
    return frame_of(rows, columns)


def counters_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each shared counter of a pool; amounts are quantities."""
    rows: list[list[object]] = []
    for use in counters_in_use(cluster):
        amounts = map(format_quantity, (use.amount.total, use.amount.used, use.amount.left))
        rows.append([use.driver, use.pool, use.counter_set, use.counter, *amounts])
    return frame_of(rows, ("driver", "pool", "counter_set", "counter", "total", "used", "left"))


def audit_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each reason why a claim would not be granted a device again."""
    rows: list[list[object]] = [
        [row.claim, row.request, str(row.device or ""), row.rule, row.why, row.advice] for row in audit_claims(cluster)
    ]
    return frame_of(rows, ("claim", "request", "device", "rule", "why", "advice"))


def left_of(amount: Amount) -> str:
    """Return `40Gi of 80Gi`: what is left of a capacity."""
    return f"{format_quantity(amount.left)} of {format_quantity(amount.total)}"


def _device_row(
    cluster: Cluster, node: str, device_id: DeviceID, device: Device, state: str, place: Locality | None
) -> list[object]:
    kind = kind_words(place.kind, guessed=place.guessed) if place else "other"
    numa, levels = (place.numa_node, (place.pcie_root, place.switch, place.socket)) if place else (None, (None,) * 3)
    model, address = (place.label, place.address) if place else ("", "")
    used_by = ", ".join(cluster.allocated.holders(device_id))
    where = [_value(numa), numa.source if numa else "", *map(_value, levels), address]
    taints = ", ".join(map(str, cluster.taints_of(device_id, device)))
    capacity = ", ".join(f"{key}: {capacity.value}" for key, capacity in device.capacity.items())
    return [node, str(device_id), kind, model, state, used_by, *where, taints, capacity]


def _value(place: Place | None) -> str | int | None:
    return place.value if place is not None else None


def frame(answer: Any, view: str = "") -> pd.DataFrame:
    """Return one view of an answer as a table. Places, values and goals that are unknown are None.

    The first view of an answer is its default. The columns are in `columns` of the result.

    - `Cluster`: devices, in-use, counters, audit, findings.
    - `Plan`: devices, workloads, nodes, goals, pods, reasons, tests, changes, conflicts, scarcity, bandwidth, findings.
    - `how_many_more`, one or several: nodes.
    - `stranded`, `nodes_to_add`: nodes.
    - `explain`: pods; of a claim tests, of a gang questions.
    - `plan_scenarios`: scenarios.
    - `check` with `upgrade`: changes.
    - a trace: steps.
    - findings: findings.

    Args:
        answer: What a question returned, a cluster, or findings.
        view: The name of the view; default "": the first one of this answer.

    Returns:
        Rows of the view. `devices` of a plan has a row for each device of each pod: `workload`, `replica` (from 0),
        `group` and `number` of the pod in a gang, `node`, `claim`, `request`, `device` and `takes`. `number` is None
        for a claim that pods share, `claim` "" for a pod with one claim, `takes` the capacity of a shareable device.
        `devices` of a cluster has a row for each node that sees a device; `state` is "free", "shared", "in use",
        "blocked" (partitions in use leave too little of its counters), "tainted" or "skipped" (kube-scheduler ignores
        its pool). `nodes` of `how_many_more` has a row for each node, or for each domain of a gang's level. In `goals`,
        `regret` is what kube-scheduler's value is worse than `best`. In `tests`, `left` devices pass the test and all
        before it, on each of `nodes` equal nodes.

    Raises:
        InputError: The answer has no such view.
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import frame, load_cluster, make_plan, read_sketch
        >>> cluster = load_cluster("sample:eks-p4d")
        >>> plan = make_plan(cluster, read_sketch("sample:eks-p4d/five-pairs"))
        >>> frame(plan, "reasons")[["rule", "subject", "needed", "available"]].values.tolist()
        [['selector', 'nic', 5, 4], ['link', 'pairs', 5, 4]]
        >>> frame(cluster).device[0]
        'dra.net/ip-192-168-128-17.ec2.internal/pci-0000-10-1b-0'
    """
    if isinstance(answer, Iterable) and not isinstance(answer, str | Mapping):
        answer = tuple(answer)
    views = _views_of(answer)
    found = views.get(view or next(iter(views)))
    if found is None:
        raise InputError(f"view {view!r} is not known here; use {', '.join(views)}")
    return found(answer)


_Views = Mapping[str, Callable[[Any], "pd.DataFrame"]]


def _views_of(answer: Any) -> _Views:
    if isinstance(answer, tuple):
        kinds = {type(one) for one in answer} or {Finding}
        found = next((views for kind, views in _OF_SEVERAL.items() if kinds == {kind}), None)
    elif isinstance(answer, Explanation):
        found = _views_of_explanation(answer)
    else:
        found = next((views for kind, views in _OF_ONE.items() if isinstance(answer, kind)), None)
    if found is None:
        raise InputError(f"answer is a cluster, findings, or what a question returned, not {a_kind(answer)}")
    return found


def _views_of_explanation(found: Explanation) -> _Views:
    """Return the views of what is explained: a gang, a claim, or pods, which a rule may evict."""
    if found.verdicts is not None:
        return {"questions": lambda found: as_frame(questions_table(found.verdicts))}
    if found.plan is not None:
        return {"tests": lambda found: frame_of(tests_of(found), ("request", "test", "left", "of", "note", "too few"))}
    pods = found.rule.pods if found.rule is not None else found.pods
    fields = ("pod", "node", "evicted", "why") if found.rule is not None else ("pod", "rule", "sentence", "reported")
    return {"pods": lambda _: _fields_of(pods, *fields)}


def _devices(plan: Plan) -> pd.DataFrame:
    rows = []
    for one in sorted(plan.with_devices, key=lambda one: (one.workload, one.replica)):
        number = one.number if isinstance(one, PlacedPod) else None
        for placed in one.devices:
            takes = ", ".join(f"{key}: {amount}" for key, amount in placed.consumed.items())
            head = [one.workload, one.replica, one.group, number, one.node]
            rows.append([*head, placed.claim, placed.request, str(placed.device), takes])
    return frame_of(rows, ("workload", "replica", "group", "number", "node", "claim", "request", "device", "takes"))


def _nodes_of_plan(plan: Plan) -> pd.DataFrame:
    rows = []
    for fit in plan.node_classes:
        values = {goal.goal: goal.value for goal in fit.values}
        for name in fit.members:
            head = [name, str(fit.verdict), fit.fits_idle, name == plan.node, fit.members[0]]
            rows.append([*head, *(values.get(goal) for goal in GOALS)])
    rows.sort(key=lambda row: str(row[0]))
    return frame_of(rows, ("node", "fit", "fits_idle", "chosen", "class", *GOALS))


def _findings(findings: Iterable[Finding]) -> pd.DataFrame:
    rows = [[f.severity.value, f.rule, f.subject, f.message, f.advice, str(f.origin or "")] for f in findings]
    return frame_of(rows, ("severity", "rule", "subject", "message", "advice", "origin"))


def _fields_of(rows: Iterable[object], *names: str) -> pd.DataFrame:
    """Return a row for each value, with its fields as columns."""
    return frame_of([[getattr(row, name) for name in names] for row in rows], names)


def _tests(plan: Plan) -> pd.DataFrame:
    rows = [
        [funnel.request, funnel.needed, funnel.nodes, funnel.node, step.test, step.text, step.count]
        for funnel in (plan.reasons.funnels if plan.reasons else ())
        for step in funnel.steps
    ]
    return frame_of(rows, ("request", "needed", "nodes", "node", "test", "text", "left"))


def _conflicts(plan: Plan) -> pd.DataFrame:
    rows = [
        [number, conflict.node, element.kind, element.subject, element.text]
        for number, conflict in enumerate(plan.reasons.conflicts if plan.reasons else ())
        for element in conflict.elements
    ]
    return frame_of(rows, ("set", "node", "kind", "subject", "text"))


def _bandwidth(plan: Plan) -> pd.DataFrame:
    allocations = [("best", plan.regrets[0].best)] if plan.regrets else []
    allocations += [(regret.against, regret.theirs) for regret in plan.regrets]
    rows = [
        [name, s.words, s.gpus, s.low, s.high, s.kind, "; ".join(s.sources), "; ".join(s.against)]
        for name, shares in allocations
        for s in shares
    ]
    return frame_of(rows, ("allocation", "path", "gpus", "low", "high", "kind", "sources", "outside"))


def _pods_against_first_fit(plan: Plan) -> pd.DataFrame:
    theirs = {(r.workload, r.replica): r for r in (plan.first_fit.pods if plan.first_fit else ())}
    rows = []
    for replica in sorted(plan.pods, key=lambda r: (r.workload, r.replica)):
        found = theirs.get((replica.workload, replica.replica))
        values = {goal.goal: goal.value for goal in found.goals} if found else {}
        for goal in replica.goals:
            value = values.get(goal.goal)
            regret = None if value is None else value - goal.value
            rows.append([replica.workload, replica.replica, replica.node, goal.goal, goal.value, value, regret])
    return frame_of(rows, ("workload", "replica", "node", "goal", "best", "first_fit", "regret"))


def _nodes_of_headroom(headrooms: Iterable[Headroom]) -> pd.DataFrame:
    """Return one row for each node or domain; nodes that share devices are one row, for all of them together."""
    rows: list[list[object]] = []
    for headroom in headrooms:
        for fit in headroom.where:
            names = fit.members if fit.kind == NODE else (_JOINED[fit.kind].join(fit.members),)
            state = [headroom.workload, fit.replicas.value, fit.replicas.bound, fit.replicas.exact]
            rows += [[name, *state] for name in names]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return frame_of(rows, ("where", "workload", "replicas", "bound", "proven"))


_JOINED = {NODES_TOGETHER: ", ", DOMAIN: "/"}


def _nodes_of_stranded(found: Stranded) -> pd.DataFrame:
    """Return one row for each node and kind; `least` is stranded for certain, CPUs are whole CPUs."""
    rows: list[list[object]] = []
    for node_class in found.nodes:
        for kind in node_class.kinds:
            numbers = [kind.free, kind.usable, kind.stranded, kind.least, kind.partitions, kind.proven]
            names = [" + ".join(node_class.nodes)] if node_class.together else node_class.nodes
            rows += [[node, kind.kind, *numbers] for node in names]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return frame_of(rows, ("node", "kind", "free", "usable", "stranded", "least", "partitions", "proven"))


def _scenarios(answers: Iterable[ScenarioAnswer]) -> pd.DataFrame:
    """Return one row for each scenario; `placed` and `wanted` count pods, `used` counts nodes."""
    goals = dict.fromkeys((*FLEET_GOALS, *GOALS))
    rows = []
    for answer in answers:
        plan = answer.plan
        head: list[object] = [answer.scenario, plan.status.value if plan else "not answered", plan and plan.proven]
        values = {goal.goal: goal.value for goal in plan.goals} if plan else {}
        rows.append([*head, *_numbers(plan), *map(values.get, goals), answer.seconds, str(answer.error or "")])
    return frame_of(rows, ("scenario", "status", "proven", "placed", "wanted", "used", *goals, "seconds", "error"))


def _numbers(plan: Plan | None) -> tuple[int | None, int | None, int | None]:
    if plan is None:
        return None, None, None
    return len(plan.pods), plan.wanted_pods, len(plan.nodes)


_OF_ONE: Mapping[type, _Views] = {
    Cluster: {
        "devices": devices_frame,
        "in-use": in_use_frame,
        "counters": counters_frame,
        "audit": audit_frame,
        "findings": lambda answer: _findings(answer.findings),
    },
    Plan: {
        "devices": _devices,
        "workloads": lambda plan: as_frame(workloads_table(plan)),
        "nodes": _nodes_of_plan,
        "goals": lambda plan: as_frame(goals_table(plan)),
        "pods": _pods_against_first_fit,
        "reasons": lambda plan: _fields_of(
            plan.shortfalls, "rule", "subject", "node", "needed", "available", "message", "advice"
        ),
        "tests": _tests,
        "changes": lambda plan: _fields_of(
            sorted(plan.reasons.relaxations if plan.reasons else (), key=lambda change: -(change.fitting or 0)),
            *("kind", "subject", "title", "fitting", "total", "undecided", "example"),
        ),
        "conflicts": _conflicts,
        "scarcity": lambda plan: _fields_of(
            plan.reasons.scarcity if plan.reasons else (), "request", "kind", "needed", "free", "most", "node"
        ),
        "bandwidth": _bandwidth,
        "findings": lambda answer: _findings(answer.findings),
    },
    Headroom: {"nodes": lambda headroom: _nodes_of_headroom([headroom])},
    Stranded: {"nodes": _nodes_of_stranded},
    AddedNodes: {"nodes": lambda added: as_frame(added_table(added))},
    Trace: {"steps": trace_frame},
    Upgrade: {"changes": lambda upgrade: as_frame(upgrade_table(upgrade))},
}
_OF_SEVERAL: Mapping[type, _Views] = {
    Finding: {"findings": _findings},
    Headroom: {"nodes": _nodes_of_headroom},
    ScenarioAnswer: {"scenarios": _scenarios},
}
