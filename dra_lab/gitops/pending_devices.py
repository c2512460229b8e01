"""What devices say of a pending pod: the plan of its claims on the nodes that it may use, in one sentence."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.cel.no_match import why_empty_class, why_fails
from dra_lab.errors import Cancelled, CelError, DraLabError
from dra_lab.index.node_index import NodeIndex, node_index
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import PCIE_ROOT, part_of
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.pinning.node_search import start_findings
from dra_lab.pinning.pod_start import GIVES_UP, OPEN, never_starts
from dra_lab.planner.allowed_nodes import AllowedNodes
from dra_lab.planner.node_tests import counted_nodes, only_nodes
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.pod_claims import PodClaims
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.drawing_words import nouns
from dra_lab.words.verdict import cause

_MOST_HOLDERS = 3
_SEVERAL = 2


class DeviceAnswer(Struct, frozen=True):
    """The reasons as (rule, words), where the claims fit, whether that is open, and the plan."""

    reasons: tuple[tuple[str, str], ...] = ()
    fits: str = ""
    open: bool = False
    plan: Plan | None = None
    not_checked: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class AskedDevices(Struct, frozen=True):
    """The claims of a pod that are to be planned, and where: on `node` alone, or on all nodes if it is "".

    `allocated` are its other claims, and `end` is a time of `time.monotonic`.
    """

    cluster: Cluster
    release: KubernetesRelease
    claims: Mapping[str, ClaimSketch]
    allocated: tuple[ResourceClaim, ...]
    node: str
    end: float
    cancel: threading.Event | None

    def plan(self, nodes: frozenset[str] | None) -> Plan:
        """Return the plan on some nodes, None for all that the claims allow."""
        own = frozenset(self.cluster.node_names) if nodes is None else nodes
        pod = PodClaims(self.claims, frozenset(self.claims), allocated=self.allocated, nodes=own)
        return plan_pod(
            self.cluster, pod, release=self.release, node=self.node, time_limit=self.left, cancel=self.cancel
        )

    @property
    def left(self) -> float:
        """Return the seconds that are left, at least one."""
        return max(1.0, self.end - time.monotonic())

    @property
    def index(self) -> NodeIndex:
        """Return what each node sees."""
        return node_index(self.cluster, self.release)

    def fails(self, ask: Ask) -> str:
        """Return which attribute makes a selector fail, "" if none does."""
        return why_fails(self.index.matching, ask, self.devices())

    def devices(self) -> list[tuple[str, Device]]:
        """Return every device that a node sees, once, with its driver."""
        seen = {item.id: item for name in self.cluster.node_names for item in self.index.view(name).devices}
        return [(item.driver, item.device) for item in seen.values()]


def device_answer(asked: AskedDevices, nodes: AllowedNodes) -> DeviceAnswer:
    """Return what keeps a pod from every node: the tests of nodes first, then its claims there."""
    first = (("node", nodes.why),) if nodes.why else ()
    if not asked.claims:
        fits = _allocated_words(asked.allocated, nodes)
        return DeviceAnswer(first, fits, not_checked=nodes.not_checked)
    try:
        found = _planned(asked, nodes)
    except Cancelled:
        raise
    except CelError as error:
        found = DeviceAnswer((("selector", error.message.rstrip(".")),))
    except DraLabError as error:
        found = DeviceAnswer((), error.message.rstrip("."), open=True)
    return replace(found, reasons=(*first, *found.reasons), not_checked=(*nodes.not_checked, *found.not_checked))


def _allocated_words(allocated: Sequence[ResourceClaim], nodes: AllowedNodes) -> str:
    if not allocated:
        return f"it may run on {counted_nodes(len(nodes.names))}"
    names = listed([claim.metadata.name for claim in allocated])
    which = f"its claims {names} are" if len(allocated) > 1 else f"its claim {names} is"
    return f"{which} allocated, and it may run on {some(sorted(nodes.names))}"


def _planned(asked: AskedDevices, nodes: AllowedNodes) -> DeviceAnswer:
    """Return what the plan on the allowed nodes says; without any, what the plan on all nodes would say."""
    plan = asked.plan(nodes.names if nodes.names else None)
    if plan.status is PlanStatus.INFEASIBLE:
        words = _misfit(plan, asked)
        if nodes.only and nodes.names:
            anywhere = asked.plan(None)
            if anywhere.status is PlanStatus.INFEASIBLE:
                plan, words = anywhere, _misfit(anywhere, asked)
            else:
                words = f"{nodes.only}, and there {words}"
        rule = plan.shortfalls[0].rule if plan.shortfalls else "unknown"
        return DeviceAnswer(((rule, words),), plan=plan)
    if not plan.fits:
        why = plan.shortfalls[0].message if plan.shortfalls else "there was not enough time for an answer"
        return DeviceAnswer((), why[:1].lower() + why[1:].rstrip("."), open=True, plan=plan)
    return _started(asked, plan, nodes)


def _started(asked: AskedDevices, plan: Plan, nodes: AllowedNodes) -> DeviceAnswer:
    """Return what kube-scheduler's own search says of a plan that fits."""
    now, names = plan.fitting_nodes, nodes.names or frozenset(asked.cluster.node_names)
    fits = f"devices for its claims are free on {len(now):,} of {counted_nodes(len(names))}, first on {plan.node}"
    on = only_nodes(asked.cluster, sorted(names))
    found = start_findings(
        tuple(asked.claims.values()),
        on,
        asked.release,
        "",
        written=True,
        time_limit=asked.left,
        cancel=asked.cancel,
    )
    against = never_starts(found)
    if against is not None:
        failing = next(filter(None, (asked.fails(ask) for r in plan.sketch.requests for ask in asks(r))), "")
        if failing and against.rule == GIVES_UP:
            words = f"{failing}; kube-scheduler gives up the pod when it meets such a device"
            return DeviceAnswer((("selector-error", words),), plan=plan)
        where = f"on {against.subject}: " if against.subject else ""
        limit = "the limit of kube-scheduler's search: " if " s to search " in against.message else ""
        return DeviceAnswer((("search", f"{limit}{where}{against.message}"),), plan=plan)
    unknown = next((one for one in found if one.rule in OPEN), None)
    if unknown is not None:
        return DeviceAnswer((), f"{fits}, but {unknown.message}", open=True, plan=plan)
    slow = tuple(f"On {one.subject}, {one.message}" for one in found if one.rule == "manifest-slow")
    unknown_use = ("which devices are in use, because no ResourceClaim was read.",)
    return DeviceAnswer((), fits, plan=plan, not_checked=() if asked.cluster.claims_known else unknown_use, also=slow)


# ---------------------------------------------------------------- why a claim does not fit


def _misfit(plan: Plan, asked: AskedDevices) -> str:
    """Return why a claim fits nowhere, as a clause without a full stop."""
    first = plan.shortfalls[0] if plan.shortfalls else None
    if first is None:
        return "no node can serve its claims"
    known = {ask.reference: ask for request in plan.sketch.requests for ask in asks(request)}
    ask = known.get(first.subject)
    words = _words(plan, first, ask, asked)
    ways = sum(one.request == ask.request for one in known.values()) if ask is not None else 1
    if ask is None or ways == 1:
        return words
    return f"none of the {ways} alternatives of request {part_of(ask.request)[1]} fits; the nearest: {words}"


def _words(plan: Plan, first: Shortfall, ask: Ask | None, asked: AskedDevices) -> str:
    plain = _clause(first.message, asked.cluster)
    if ask is not None and first.rule in ("in-use", "count"):
        return _apart(plan, asked) or _too_few(plan, first, ask, asked)
    if ask is not None and first.rule == "class" and not first.available:
        why = why_empty_class(asked.cluster, asked.index.matching, ask, asked.devices())
        return why or _clause(cause(plan, asked.cluster), asked.cluster)
    if ask is not None and first.rule == "selector-error":
        why = asked.fails(ask)
        return f"{why}; kube-scheduler gives up the pod when it meets such a device" if why else plain
    if first.rule == "counters":
        return _counters(first, asked)
    if first.rule == "links":
        must = [link for link in plan.sketch.links if link.must]
        places = sorted({PCIE_ROOT if link.where == "pcieRoot" else link.where for link in must})
        return f"its {len(must)} constraints on {listed(places)} can each be met alone, but not all at once on any node"
    if first.rule == "link":
        return _link(plan, first, asked.cluster)
    if first.rule in ("selector", "taint", "capacity", "attribute"):
        return plain
    return _clause(cause(plan, asked.cluster) or first.message, asked.cluster)


def _counters(first: Shortfall, asked: AskedDevices) -> str:
    """Return that devices share hardware of which too little is left, and which pods use devices of the node."""
    owners, allocated = _owners(asked.cluster), asked.cluster.allocated
    seen = asked.index.view(first.node).devices
    parts = [item for item in seen if item.device.consumes_counters]
    users = Counter(owners.get(claim, claim) for item in parts for claim in allocated.holders(item.id))
    request = part_of(first.subject)[1] or first.subject
    who = f": {_held(users)}" if users else ""
    short = f"too little is left of the counters that partitions of {first.node} share"
    return f"request {request} needs {first.needed:,} partitions, and {short}{who}"


_NODE = re.compile(r" \(node [^()]*; no node has more\)(?=\.?$)")


def _clause(text: str, cluster: Cluster) -> str:
    """Return a sentence as a clause; a name at its beginning keeps its case."""
    begins_with_name = text.partition(" ")[0].strip(",:") in cluster.node_by_name
    text = _NODE.sub("", text)
    text = _NEXT.sub(lambda found: f"; {found[1].lower()}", text)
    return (text if begins_with_name else text[:1].lower() + text[1:]).rstrip(".")


_NEXT = re.compile(r"\. ([A-Z])(?=[a-z]* )")


def _link(plan: Plan, first: Shortfall, cluster: Cluster) -> str:
    link = next((link for link in plan.sketch.links if link.name == first.subject), None)
    words = _clause(cause(plan, cluster) or first.message, cluster)
    if link is None:
        return words
    attribute, own = PCIE_ROOT if link.where == "pcieRoot" else link.where, [part_of(n)[1] for n in link.requests]
    requests = f"request{'s' if len(own) > 1 else ''} {listed(own)}"
    return f"the constraint on {attribute} of {requests} cannot be met: {words}"


def _apart(plan: Plan, asked: AskedDevices) -> str:
    """Return where each request has free devices, "" if a request has none, or a node has them for all requests."""
    where: dict[str, set[str]] = {}
    users: dict[str, Counter[str]] = {}
    for request in plan.sketch.requests:
        for ask in asks(request):
            for node, free, own in [] if ask.all_devices else _use(asked, ask, plan.admitted):
                if free >= ask.count:
                    where.setdefault(request.name, set()).add(node)
                else:
                    users.setdefault(request.name, Counter()).update(own)
    every = [where.get(request.name, set()) for request in plan.sketch.requests]
    if len(every) < _SEVERAL or not all(every) or set.intersection(*every):
        return ""
    rows = [
        f"request {part_of(name)[1]} only on {some(sorted(nodes))}"
        + (f" (elsewhere {_held(users[name])})" if users.get(name) else "")
        for name, nodes in where.items()
    ]
    return f"no node has free devices for all its requests: {listed(rows)}"


def _too_few(plan: Plan, first: Shortfall, ask: Ask, asked: AskedDevices) -> str:
    """Return how many devices of a request are free on the best node, and which pods hold the others there."""
    noun = nouns(plan.sketch, asked.cluster)[ask.reference]
    rows = _use(asked, ask, plan.admitted)
    if ask.all_devices or not rows:
        blocked = min(rows, key=lambda row: row[2].total(), default=None)
        who = f"; {_held(blocked[2])}" if blocked and blocked[2] else ""
        return f"{_clause(first.message, asked.cluster)}{who}"
    name, needed = f"request {part_of(ask.reference)[1]}", max(1, ask.count)
    asks_for = f"{name} needs {noun.many(needed)}"
    largest, there = max(((node, free + own.total()) for node, free, own in rows), key=lambda row: row[1])
    if there < needed:
        most = f"no node has more than {there:,} ({largest})" if len(rows) > 1 else f"{largest} has only {there:,}"
        return f"{asks_for}, and {most}"
    node, free, users = max(rows, key=lambda row: (row[1], row[0] == first.node, row[2].total()))
    if not free:
        every = sum((own for _, _, own in rows), Counter[str]())
        which = "none is free" if len(rows) > 1 else f"none is free on {node}"
        return f"{asks_for}, and {which}: {_held(every)}"
    most = f"no node has more than {free:,} free" if len(rows) > 1 else f"{node} has only {free:,} free"
    where = f"on {node} " if len(rows) > 1 else ""
    return f"{asks_for}, and {most}: {where}{_held(users)}"


def _held(users: Mapping[str, int]) -> str:
    rows = Counter(users).most_common()
    named = [f"{who} holds {count:,}" for who, count in rows[:_MOST_HOLDERS]]
    rest = sum(count for _, count in rows[_MOST_HOLDERS:])
    return listed([*named, *([f"others hold {rest:,}"] if rest else [])]) if named else "no claim holds the others"


def _use(asked: AskedDevices, ask: Ask, admitted: frozenset[str] | None) -> list[tuple[str, int, Counter[str]]]:
    """Return for each node how many matching devices are free, and which pods hold how many of the others."""
    index = asked.index
    allocated, owners = asked.cluster.allocated, _owners(asked.cluster)
    rows = []
    for node in sorted(asked.cluster.node_names if admitted is None else admitted):
        users: Counter[str] = Counter()
        free = 0
        for item in index.view(node).devices:
            if not index.matching.match(ask, item.driver, item.device):
                continue
            held = allocated.holders(item.id)
            free += not held
            users.update(owners.get(claim, f"claim {claim}") for claim in held)
        if free or users:
            rows.append((node, free, users))
    return rows


def _owners(cluster: Cluster) -> dict[str, str]:
    """Return who holds each allocated claim (`namespace/name`): its pods, or the claim itself if no pod uses it."""
    found = {}
    for claim in cluster.claims:
        key, namespace = f"{claim.metadata.namespace}/{claim.metadata.name}", claim.metadata.namespace
        pods = [one.name for one in claim.status.reserved_for if one.resource in ("pods", "")]
        if not pods:
            found[key] = f"claim {key}, which no pod uses,"
        elif claim.metadata.name.startswith(pods[0]):
            found[key] = f"pod {namespace}/{pods[0]}"
        else:
            found[key] = f"pod {namespace}/{pods[0]} (claim {claim.metadata.name})"
    return found
