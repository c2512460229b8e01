"""explain: why pods are pending, why a claim fits or not, what a taint rule would do, what stops a gang in Kueue."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.errors import InputError, UnsupportedFeature
from dra_lab.gitops.pending import pending_reasons
from dra_lab.gitops.taint_rule import read_rule, rule_explanation
from dra_lab.index.pools import pools_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit
from dra_lab.model.plan import Plan
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.quantity import QuantityText
from dra_lab.model.reasons import WhyNot
from dra_lab.model.release import KubernetesRelease, gates_of, release_of_text
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import DeviceTaintRule
from dra_lab.model.trace import Trace
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import workload_given
from dra_lab.planner.budget import Progress
from dra_lab.planner.questions import asked, make_plan
from dra_lab.topology.locality import device_names
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.explain_claim import device_sentence

Requests = Mapping[str, Mapping[str, QuantityText]]

_SECONDS = 60.0


def explain(
    cluster: Cluster,
    what: ClaimSketch | Workload | None = None,
    *,
    pod: str = "",
    node: str = "",
    device: str = "",
    rule: DeviceTaintRule | str | Path | None = None,
    queue: str = "",
    requests: Requests | None = None,
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    drivers: Any = None,
    time_limit: float | None = _SECONDS,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Explanation:
    """Return why pods are pending, why a claim fits or not, what a taint rule would do, or what stops a gang in Kueue.

    The claims of pending pods come from the cluster: `spec.resourceClaims`, `status.resourceClaimStatuses`, templates,
    and extended resources that a DeviceClass serves. Pods that are equal apart from their names get the same reason.

    Args:
        cluster: The cluster with its pods, and with the queues of Kueue as far as they were read.
        what: A drawing, or a Workload of single pods: why its claims fit or not. For a gang, or with `queue` or
            `requests`, what stops it in Kueue. Default None: pending pods, or a rule.
        pod: `NAMESPACE/NAME`, or a name that one pod has; default "": every pending pod that waits for devices.
        node: Explain why the pod or claim does not start on this node; default "": on any node.
        device: Explain what becomes of this device of the node with the claim: `driver/pool/device`, or its name.
        rule: A DeviceTaintRule, or the path of a file with one: explain which devices it taints, which pods it evicts,
            and where these can go. Default None: explain something else.
        queue: The LocalQueue of the workload, `NAME` or `NAMESPACE/NAME`, or the ClusterQueue. Default: the only one.
        requests: What a pod of each group of the workload requests of its node, such as
            `{"worker": {"cpu": "8", "memory": "64Gi"}}`. Default: not known.
        after: A plan whose pods are there already; default: none.
        release: The release of Kubernetes; default: that of the cluster.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds for each pod, for the plan, or for the places of all evicted pods; None: no limit.
        progress: Is called in this thread with each step of a plan; default: none.
        cancel: Ends the search when it is set.
        solver: Name of the PuLP solver.

    Returns:
        The pods with one reason each, or `rule` and `moves`. For a claim, its plan, and the tests of the devices of
        the node or kube-scheduler's search for the device. For a gang, `verdicts`, three answers with their reasons: is
        the quota of the queue enough, does Kueue count enough in a domain, and are devices free.

    Raises:
        InputError: There is no such pod, node, device or queue, several pods have that name, or two questions are
            asked.
        ManifestError: The file of `rule` contains something else, or the API server would refuse the rule.

    Example:
        >>> from dra_lab import explain, load_cluster, read_sketch
        >>> cluster = load_cluster("sample:eks-p4d")
        >>> explain(cluster).sentence
        'No pod is pending for devices.'
        >>> explain(cluster, read_sketch("sample:eks-p4d/five-pairs")).sentence[:52]
        'Does not fit. No node has 5 free RDMA NICs. The most'
    """
    if what is not None and (pod or rule is not None):
        raise InputError("a claim or workload is explained alone; leave out `pod` and `rule`")
    if what is None and (queue or requests or device):
        raise InputError("`queue`, `requests` and `device` are for a claim or workload; give it, or leave them out")
    if rule is not None and (pod or node):
        raise InputError("`rule` is explained for the whole cluster; leave out `pod` and `node`")
    given: dict[str, Any] = {"time_limit": time_limit, "cancel": cancel, "solver": solver}
    on, target = asked(cluster, after, drivers, release, **given)
    if what is not None:
        workload = workload_given("what", what)
        if workload.is_gang or queue or requests:
            from dra_lab.planner.gangs import gang_verdicts, plan_gangs
            from dra_lab.words.workload_words import verdict_sentence

            if node or device:
                raise InputError("a gang is explained in all domains; leave out `node` and `device`")
            plan = plan_gangs(on, [workload], release=target, progress=progress, **given)
            verdicts = gang_verdicts(on, workload, plan, queue=queue, requests=requests, release=target)
            return Explanation(on.name, plan=plan, answer=verdict_sentence(verdicts), verdicts=verdicts)
        plan = make_plan(on, replace(workload, replicas=1), node=node, release=target, progress=progress, **given)
        return claim_explanation(on, plan, node=node, device=device)
    seconds = math.inf if time_limit is None else time_limit
    if rule is not None:
        return rule_explanation(on, read_rule(rule, target), target, time_limit=seconds, cancel=cancel)
    if node:
        on.node_named(node)
    return Explanation(on.name, pending_reasons(on, pod, node, target, seconds, cancel))


def claim_explanation(
    cluster: Cluster, plan: Plan, *, node: str = "", device: str = "", search: bool = False
) -> Explanation:
    """Return why the claims of a plan of one pod fit on a node or not, or what becomes of a device of it.

    `node` is "" for the plan's node. With a device, or if `search` is wanted, kube-scheduler's search must be known.
    Raises InputError and UnsupportedFeature.
    """
    plan, trace = replace(plan, on=cluster), None
    try:
        trace = plan.trace(node)
    except (InputError, UnsupportedFeature):
        if search or device:
            raise
    if device and trace is not None:
        named = device_named(cluster, trace, device)
        answer = device_sentence(plan, trace, named)
        return Explanation(cluster.name, plan=plan, answer=answer, trace=trace, device=named)
    where = node or plan.node or (trace.node if trace is not None else "")
    tests = tests_on(plan, cluster, where) if where and plan.sketch.requests and not search else None
    return Explanation(cluster.name, plan=plan, answer=answer_sentence(plan, cluster), tests=tests, trace=trace)


def tests_on(plan: Plan, cluster: Cluster, node: str) -> WhyNot:
    """Return the tests of each request's devices on a node, for all claims of a pod together."""
    from dra_lab.planner.why.why_not import why_not

    release, own = cluster.target_release(release_of_text(plan.release)), plan.workloads[0].claims
    claims = {f"{claim.name}:" if len(own) > 1 else "": claim for claim in own}
    found = {mark: why_not(cluster, sketch, node, release) for mark, sketch in claims.items()}
    return WhyNot(
        node,
        plan.fits,
        tuple(changed(f, request=mark + f.request) for mark, one in found.items() for f in one.funnels),
        tuple(shortfall for one in found.values() for shortfall in one.shortfalls),
        {mark + request: users for mark, one in found.items() for request, users in one.users.items()},
        use_known=cluster.claims_known,
    )


def device_named(cluster: Cluster, trace: Trace[FirstFit], text: str) -> DeviceID:
    """Return the device of an id, or of a name or published name of one device of the node. Raises InputError."""
    node, gates = trace.node, gates_of(release_of_text(trace.release))
    there = [place.id for pool in pools_of(cluster, node, gates) for place in pool.devices]
    names = device_names(cluster, node)
    found = [device for device in there if text in (str(device), device.device, names.get(device))]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{len(found)} devices of {node} are called {text}: {', '.join(map(str, found[:4]))}")
    from difflib import get_close_matches

    known = [*map(str, there), *(device.device for device in there), *names.values()]
    near = get_close_matches(text, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; it has {len(there)} devices, which dra-lab draw shows"
    raise InputError(f"there is no device {text!r} on {node}{hint}")
