"""Answers about fleets as pandas DataFrames: every row, never a cut list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FLEET_GOALS, FleetPlan, Headroom, Stranded
from dra_lab.model.plan import GOALS, Plan
from dra_lab.planner.regret_of import replica_paths
from dra_lab.planner.scenarios import ScenarioAnswer
from dra_lab.words.document import as_frame, frame_of
from dra_lab.words.fleet_document import fleet_goals_table, workloads_table

if TYPE_CHECKING:
    import pandas as pd


def fleet_frame(plan: FleetPlan) -> pd.DataFrame:
    """Return one row for each goal: the plan's value and proof, and kube-scheduler's value with the same replicas.

    Columns `goal`, `meaning`, `best`, `bound`, `proven`, `unknown`, `first_fit`, `regret` (first fit less best, None
    where it was not asked). All are minimised. Where first fit was compared on some nodes only, its value and the
    regret are those on these nodes, `best` is the whole plan's.
    """
    return as_frame(fleet_goals_table(plan))


def workloads_frame(plan: FleetPlan) -> pd.DataFrame:
    """Return one row for each workload: `workload`, `wanted` and `placed` replicas, `nodes` that they stand on."""
    return as_frame(workloads_table(plan))


def replicas_frame(plan: FleetPlan) -> pd.DataFrame:
    """Return one row for each device of each replica, by workload and number.

    Args:
        plan: The plan, as `plan_fleet` returns it.

    Returns:
        The columns `workload`, `number` (of the replica, from 0), `node`, `claim`, `request`, `device` and `takes`.
        `claim` is "" for a pod with one claim. `takes` is the capacity used of a shareable device, as Kubernetes
        quantities.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import Workload, load_cluster, plan_fleet, read_sketch, replicas_frame
        >>> # On a sample cluster.
        >>> pods = Workload("lesson", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> frame = replicas_frame(plan_fleet(load_cluster("sample:two-sockets"), [pods]))
        >>> frame[["number", "node", "request"]].values.tolist()
        [[0, 'lab-1', 'gpu'], [0, 'lab-1', 'gpu'], [1, 'lab-1', 'gpu'], [1, 'lab-1', 'gpu']]
    """
    rows = []
    for replica in sorted(plan.replicas, key=lambda r: (r.workload, r.number)):
        head = [replica.workload, replica.number, replica.node]
        for placed in replica.placements:
            takes = ", ".join(f"{key}: {amount}" for key, amount in placed.consumed.items())
            rows.append([*head, placed.claim, placed.request, str(placed.device), takes])
    return frame_of(rows, ("workload", "number", "node", "claim", "request", "device", "takes"))


def replica_regret_frame(plan: FleetPlan) -> pd.DataFrame:
    """Return one row for each replica and goal: its value, and that of the pod that first fit put in its place.

    Columns `workload`, `number`, `node`, `goal`, `best`, `first_fit`, `regret` (first fit less best; None where first
    fit found no place for this one, or was not asked).
    """
    theirs = {(r.workload, r.number): r for r in (plan.first_fit.replicas if plan.first_fit else ())}
    rows = []
    for replica in sorted(plan.replicas, key=lambda r: (r.workload, r.number)):
        found = theirs.get((replica.workload, replica.number))
        values = {goal.goal: goal.value for goal in found.goals} if found else {}
        for goal in replica.goals:
            value = values.get(goal.goal)
            regret = None if value is None else value - goal.value
            rows.append([replica.workload, replica.number, replica.node, goal.goal, goal.value, value, regret])
    return frame_of(rows, ("workload", "number", "node", "goal", "best", "first_fit", "regret"))


def replica_bandwidth_frame(cluster: Cluster, plan: FleetPlan) -> pd.DataFrame:
    """Return one row for each replica, plan and kind of path from its GPUs to their NICs; none without GPUs and NICs.

    The columns are `workload`, `number`, `node`, `plan`, `path`, `gpus`, `low`, `high`, `kind` and `sources`. `plan` is
    "best", or "first fit" for the pod that it put in this one's place. `low` and `high` are ratios to the bandwidth on
    one PCIe root, a range; None if nothing is known. `kind` is "reference", "measured", "derived" or "unknown".
    """
    rows: list[list[object]] = []
    for replica, best, theirs in replica_paths(cluster, plan):
        head = [replica.workload, replica.number, replica.node]
        for name, shares in (("best", best), ("first fit", theirs or ())):
            for share in shares:
                share_cells = [share.words, share.gpus, share.low, share.high, share.kind, "; ".join(share.sources)]
                rows.append([*head, name, *share_cells])
    columns = ("workload", "number", "node", "plan", "path", "gpus", "low", "high", "kind", "sources")
    return frame_of(rows, columns)


def headroom_frame(headrooms: Iterable[Headroom]) -> pd.DataFrame:
    """Return one row for each node and workload: how many more replicas fit, at least (`each`) and at most (`bound`).

    Nodes that share devices are one row: `node` names all of them, the numbers hold for all together.
    """
    rows: list[list[object]] = []
    for headroom in headrooms:
        for nodes_class in headroom.classes:
            together = nodes_class.nodes in headroom.together
            names: Sequence[str] = (", ".join(nodes_class.nodes),) if together else nodes_class.nodes
            state = [headroom.workload, nodes_class.each, nodes_class.bound, nodes_class.proven]
            rows += [[name, *state] for name in names]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return frame_of(rows, ("node", "workload", "each", "bound", "proven"))


def stranded_frame(found: Stranded) -> pd.DataFrame:
    """Return one row for each node and kind: what is `free`, `usable` by aligned claims, `stranded`, and the proof.

    `least` is stranded for certain. Numbers are devices, of CPUs whole CPUs; `partitions` of the free ones draw on
    shared counters. Nodes that share devices stand together.
    """
    rows: list[list[object]] = []
    for node_class in found.nodes:
        for kind in node_class.kinds:
            numbers = [kind.free, kind.usable, kind.stranded, kind.least, kind.partitions, kind.proven]
            names = [" + ".join(node_class.nodes)] if node_class.together else node_class.nodes
            rows += [[node, kind.kind, *numbers] for node in names]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return frame_of(rows, ("node", "kind", "free", "usable", "stranded", "least", "partitions", "proven"))


def scenarios_frame(answers: Iterable[ScenarioAnswer]) -> pd.DataFrame:
    """Return one row for each scenario, in their order.

    Args:
        answers: The answers of `plan_scenarios`.

    Returns:
        The columns `scenario`, `status`, `proven`, `placed`, `wanted`, `used`, one for each goal, `seconds` and
        `error`. `placed` and `wanted` count replicas, and `used` counts nodes. A plan of one claim counts as one
        replica. A goal that the plan does not have is None.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import Scenario, Workload, load_cluster, plan_scenarios, read_sketch
        >>> from dra_lab import scenarios_frame, when_idle
        >>> # On a sample cluster.
        >>> cluster = load_cluster("sample:two-sockets")
        >>> pods = (Workload("lesson", read_sketch("sample:two-sockets/lesson"), replicas=4),)
        >>> # The cluster now, and without claims.
        >>> asked = [Scenario("now", cluster, pods), Scenario("idle", when_idle(cluster), pods)]
        >>> frame = scenarios_frame(plan_scenarios(asked, jobs=1, progress=False))
        >>> # What it returns.
        >>> frame[["scenario", "placed", "wanted", "used"]].values.tolist()
        [['now', 3, 4, 2], ['idle', 4, 4, 2]]
    """
    goals = dict.fromkeys((*FLEET_GOALS, *GOALS))
    rows = []
    for answer in answers:
        plan = answer.plan
        head: list[object] = [answer.scenario, plan.status.value if plan else "not answered", plan and plan.proven]
        values = {goal.goal: goal.value for goal in plan.goals} if plan else {}
        rows.append([*head, *_numbers(plan), *map(values.get, goals), answer.seconds, str(answer.error or "")])
    return frame_of(rows, ("scenario", "status", "proven", "placed", "wanted", "used", *goals, "seconds", "error"))


def _numbers(plan: Plan | FleetPlan | None) -> tuple[int | None, int | None, int | None]:
    if plan is None:
        return None, None, None
    if isinstance(plan, FleetPlan):
        return len(plan.replicas), sum(w.replicas for w in plan.workloads), len(plan.nodes)
    return int(plan.fits), 1, int(plan.fits)
