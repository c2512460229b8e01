"""The questions about a cluster: where pods go, how many more fit, the largest job, what is stranded, nodes to add."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import named_goals
from dra_lab.model.headroom import Headroom, LargestJob, Stranded
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import AddedNodes, NodeType
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import given, several_pods, workload_given, workloads_of
from dra_lab.planner.budget import Budget, Progress, awaited
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.plan_workloads import plan_workloads
from dra_lab.planner.pod_claims import PodClaims
from dra_lab.sources import own_profiles
from dra_lab.topology.hierarchies import hierarchies as levels_of

OnePod = ClaimSketch | ResourceClaim | PodClaims | Mapping[str, ClaimSketch | ResourceClaim]


def make_plan(
    cluster: Cluster,
    what: OnePod | Sequence[ResourceClaim] | Workload | Sequence[Workload | ClaimSketch],
    *,
    node: str = "",
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    goals: Sequence[str] = (),
    drivers: Any = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Plan:
    """Return where pods go, best first, with a proof or a bound of each goal, or the reasons why they do not fit.

    One pod goes on the node with the best values, then the first by name. Claims that hold devices already keep them
    and tie the pod to their nodes.

    Args:
        cluster: The cluster to plan on.
        what: A drawing or a ResourceClaim is one pod; so are a mapping from names to claims, and several
            ResourceClaims. A Workload, or a list of drawings and workloads, are many pods.
        node: The only node for one pod; default "": all nodes.
        after: A plan whose pods are there already; default: none.
        release: The release to plan for; default: that of the cluster.
        goals: Goals to put in front of the others, after `unplaced`, `alternatives` and `preferences`, such as `nodes`
            for the fewest nodes. Gangs have one order of goals.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds after which the best plan so far is returned. Default None: no limit, but many pods on many
            different nodes are improved for a minute.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The plan. One pod has the same answer as a drawing, as a Workload of one replica, and as a gang of one pod. An
        answer that was ended early is not proven; if there is none, the status is STOPPED. It is NOT_CHECKED if what
        the claims need of the cluster could not be read.

    Raises:
        InputError: An argument is not what it has to be, or a node or goal is unknown.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import Workload, load_cluster, make_plan, read_sketch
        >>> cluster, lesson = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
        >>> plan = make_plan(cluster, lesson)
        >>> plan.node, plan.fits, plan.proven
        ('lab-1', True, True)
        >>> make_plan(cluster, Workload("pods", lesson, replicas=3), after=plan).placed
        {'pods': 2}
    """
    on, release = asked(cluster, after, drivers, release, time_limit=time_limit, cancel=cancel, solver=solver)
    goals = named_goals(goals)
    common: dict[str, Any] = {
        "release": release,
        "time_limit": time_limit,
        "progress": progress,
        "cancel": cancel,
        "solver": solver,
    }
    pods = several_pods(what)
    if pods is not None:
        plan = plan_workloads(on, pods, node=node, goals=goals, **common)
    else:
        pod: Any = what
        plan = plan_pod(on, pod, node=node, goals=goals, **common)
    return replace(plan_after(plan, after), on=on)


def plan_after(plan: Plan, after: Plan | None) -> Plan:
    """Return a plan whose question has the pods that were there already."""
    return plan if after is None else replace(plan, question=changed(plan.question, after=after.pods))


@awaited
def how_many_more(
    cluster: Cluster,
    what: ClaimSketch | Workload,
    *,
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    drivers: Any = None,
    hierarchies: Sequence[Hierarchy] | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Headroom:
    """Return how many more replicas of a workload can start together, in all and on each node or in each domain.

    Preferences may be broken, must-links not. Gangs are counted with their minimum. A pod with admin access alone takes
    nothing away: the number ends at MOST_COUNTED on a node.

    Args:
        cluster: The cluster to count on.
        what: The pods to count, as a drawing or a Workload, whose `replicas` do not matter.
        after: A plan whose pods count as there; default: none.
        release: The release to plan for; default: that of the cluster.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        hierarchies: The levels above the nodes, for a gang; default: those of the cluster.
        time_limit: Seconds after which the count so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The count and its bound. If a limit ended the search, `count.bound` is above `count.value`. For a gang `where`
        has each domain of its level, and `levels` the count with every other level instead.

    Raises:
        InputError: The workload, a level or the release is unknown or makes no sense.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import Workload, how_many_more, load_cluster, read_sketch
        >>> cluster, lesson = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
        >>> how_many_more(cluster, lesson).count
        Bounded(value=3, bound=3)

        Pairs of pods that start together on one node.

        >>> how_many_more(cluster, Workload("pair", lesson, count=2, level="host")).count
        Bounded(value=1, bound=1)
    """
    began = time.monotonic()
    on, target = asked(cluster, after, drivers, release, time_limit=time_limit, cancel=cancel, solver=solver)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    workload = workload_given("what", what)
    if workload.is_gang:
        from dra_lab.planner.gangs.headroom import headroom_of_gang

        trees = levels_of(on) if hierarchies is None else hierarchies
        found = headroom_of_gang(on, workload, trees, target, budget, solver)
    else:
        from dra_lab.planner.fleet.headroom import headroom_of_claim

        found = headroom_of_claim(on, workload, target, budget, solver)
    return changed(found, seconds=time.monotonic() - began)


@awaited
def largest_job(
    cluster: Cluster,
    what: ClaimSketch | Workload,
    *,
    scale: Sequence[str] = (),
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    drivers: Any = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> LargestJob:
    """Return the largest whole multiple of a claim that one pod can have on some node, and how many pods fit as drawn.

    A multiple of a claim has its counts and capacities times that number (`multiple`), and links hold between all
    devices. All multiples up to the most that a node could hold by counting are tried, because a larger one may fit
    where a smaller does not: pairs and split CPUs need numbers that divide. If no count limits it, 1 is tried.

    Args:
        cluster: The cluster to plan on.
        what: The pod with the claim to multiply, as a drawing or a Workload of single pods.
        scale: The names of the requests to multiply; default: all. The others stay as drawn.
        after: A plan whose pods count as there; default: none.
        release: The release to plan for; default: that of the cluster.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds after which the best answer so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The largest multiple with a node that can hold it, 0 if not even the claim fits. If a limit ended the search,
        the bounds are above the values.

    Raises:
        InputError: `scale` names no request, the pod has several claims, or the release is unknown.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import largest_job, load_cluster, read_sketch
        >>> job = largest_job(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs"))
        >>> job.scale, job.replicas, job.proven
        (2, Bounded(value=4, bound=4), True)
    """
    from dra_lab.planner.fleet.largest import largest

    began = time.monotonic()
    on, target = asked(cluster, after, drivers, release, time_limit=time_limit, cancel=cancel, solver=solver)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    workload = workload_given("what", what)
    if workload.is_gang or len(workload.claims) != 1:
        raise InputError(f"what is one pod with one claim, and {workload.name} is not; give one of its claims")
    found = largest(on, workload, scale, target, budget, solver)
    return changed(found, seconds=time.monotonic() - began)


@awaited
def stranded(
    cluster: Cluster,
    what: ClaimSketch | Workload | Sequence[ClaimSketch | Workload],
    *,
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    drivers: Any = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Stranded:
    """Return the aligned capacity that no claim can use: free devices, less the most that aligned pods can use of them.

    Aligned means that every link of a claim holds, preferred ones too. Any number of pods of each claim may run side by
    side. Only the kinds of devices that the claims request are counted, without requests with admin access. Each kind
    is counted by itself, so the packing that uses most GPUs may differ from the one that uses most NICs.

    A free device is available, and no claim holds it alone. A taint of effect NoSchedule or NoExecute makes a device
    unavailable unless a request that matches the device tolerates the taint. The charts do not know the claims, and
    show every such device as not available. CPUs of a shareable device are what is left of the capacity that the
    claims request (the first by name, if there are several).

    A partition counts as free only if shared counters can still provide it beside the others. Partitions of different
    sizes that share counters also count as `partitions`: only the most that may be stranded of them is known.

    Args:
        cluster: The cluster to count on.
        what: The claims that are to use the capacity: drawings, or the claims of workloads.
        after: A plan whose pods count as there; default: none.
        release: The release to plan for; default: that of the cluster.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds after which the best answer so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        Numbers of devices, or of whole CPUs, by kind: in all, and on each class of identical nodes. Nodes that share
        devices are reported together. Numbers that are not proven have their bound. Nodes that were not examined before
        a limit or a cancel are not in them; `not_examined` counts these.

    Raises:
        InputError: There are no claims, or the release is unknown.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import load_cluster, read_sketch, stranded
        >>> # On a sample cluster.
        >>> found = stranded(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> [(kind.kind, kind.free, kind.usable, kind.stranded) for kind in found.kinds], found.proven
        ([('gpu', 7, 6, 1)], True)
    """
    from dra_lab.planner.fleet.stranded import stranded_devices

    began = time.monotonic()
    on, target = asked(cluster, after, drivers, release, time_limit=time_limit, cancel=cancel, solver=solver)
    claims = [claim for workload in workloads_of(what) for claim in workload.claims]
    if not claims:
        raise InputError("what is stranded depends on the claims that are to use it; give one at least")
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    return changed(stranded_devices(on, claims, target, budget, solver), seconds=time.monotonic() - began)


@awaited
def nodes_to_add(
    cluster: Cluster,
    what: ClaimSketch | Workload | Sequence[ClaimSketch | Workload],
    types: Sequence[NodeType],
    *,
    full: bool = False,
    hierarchies: Sequence[Hierarchy] | None = None,
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    drivers: Any = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> AddedNodes:
    """Return which nodes have to be added so that all workloads fit, at least cost.

    Every gang must fit with its minimum, each in one domain of its required level, and every other workload with
    all replicas. Nodes that are cordoned take no pods.

    Args:
        cluster: The cluster to start from; it does not change.
        what: The workloads to place, or drawings of single pods.
        types: The nodes that may be added, with their costs and places.
        full: Whether every gang must fit with all its replicas instead of its minimum.
        hierarchies: The levels above the nodes; default: those of the cluster.
        after: A plan whose pods count as there; default: none.
        release: The release to plan for; default: that of the cluster.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds after which the best answer so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The nodes by type and domain, their cost and its bound, the cluster with them, and the plan there.

    Raises:
        InputError: A node type, a gang, a level or the release is unknown or makes no sense.
        NodeError: A node type copies a node that the cluster does not have.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import NodeType, Workload, load_cluster, nodes_to_add, read_sketch

        Each of three gangs needs a node for its two workers.

        >>> lesson = read_sketch("sample:two-sockets/lesson")
        >>> train = Workload("train", lesson, count=2, level="host", replicas=3)

        New nodes are like lab-1.

        >>> added = nodes_to_add(load_cluster("sample:two-sockets"), train, [NodeType.like("lab-1")])
        >>> [(one.type, one.count) for one in added.added], added.proven
        ([('lab-1', 2)], True)
    """
    from dra_lab.planner.gangs.nodes_to_add import added_nodes

    began = time.monotonic()
    on, target = asked(cluster, after, drivers, release, time_limit=time_limit, cancel=cancel, solver=solver)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    trees = levels_of(on) if hierarchies is None else hierarchies
    found = added_nodes(on, workloads_of(what), types, trees, target, budget, solver, full=full)
    return replace(found, seconds=time.monotonic() - began)


def asked(
    cluster: Cluster, after: Plan | None, drivers: Any, release: KubernetesRelease | str | None, **common: Any
) -> tuple[Cluster, KubernetesRelease]:
    """Return the cluster with own profiles, pods that leave planned again with `common`, and the pods of a plan."""
    on = given("cluster", cluster, Cluster)
    target = on.target_release(release)
    on = on if drivers is None else on.with_profiles(own_profiles(drivers))
    # Fleets import the solver, which a person who only reads a cluster does not need.
    if on.leaving:
        from dra_lab.planner.leaving import settled

        on = settled(on, target, **common)
    if after is not None:
        from dra_lab.planner.fleet.after import cluster_after

        on = cluster_after(on, after, target)
    return on, target
