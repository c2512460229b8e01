"""The answer to a fleet in the words of the screen: what is asked, the verdict, its proof."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import Headroom, Stranded
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.regret import YOURS
from dra_lab.model.sketch import ClaimSketch, PodDrawing, asks
from dra_lab.words.document import printable
from dra_lab.words.facts import KINDS, counted, sentence
from dra_lab.words.gang_verdict import gang_words
from dra_lab.words.reason_words import measured_remark, ratio_words

_ONE = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "memory": "memory device", "other": "other device"}


def claim_words(claims: Sequence[ClaimSketch]) -> str:
    """Return what one pod requests: `2 gpu + 2 nic`."""
    parts = []
    for request in (request for claim in claims for request in claim.requests):
        first = asks(request)[0] if request.exactly or request.first_available else None
        count = "all" if first is not None and first.all_devices else f"{first.count if first is not None else 1:,}"
        parts.append(f"{count} {request.name}")
    return printable(" + ".join(parts)) or "nothing yet"


def request_words(pods: Sequence[PodDrawing]) -> str:
    """Return what is asked, such as `You ask for 5 × large (4 gpu + 4 nic) and 8 × small (2 gpu + 2 nic)`."""
    parts = [f"{_pods_words(pod)} ({claim_words(pod.claims)})" for pod in pods]
    if not parts:
        return "Nothing is asked for yet."
    head, last = parts[:-1], parts[-1]
    return printable(f"You ask for {', '.join(head)}{' and ' if head else ''}{last}.")


def _pods_words(pod: PodDrawing) -> str:
    if pod.gang is None:
        return f"{pod.replicas:,} × {pod.pod}"
    return f"{pod.pod}, {gang_words(pod.gang, pod.replicas)}"


def verdict_words(plan: Plan, nodes: int) -> str:
    """Return the verdict: how many pods have a place, on how many of the nodes, and whether each GPU has its NIC."""
    wanted, placed = sum(workload.replicas for workload in plan.workloads), len(plan.pods)
    if plan.status is PlanStatus.EMPTY or not wanted:
        return "No pod is wanted."
    if plan.status is PlanStatus.NOT_CHECKED:
        return "Not checked."
    if not placed:
        return "No pod fits." if plan.status is PlanStatus.INFEASIBLE else "No place is found yet."
    where = f"on {len(plan.nodes):,} of {counted(nodes, 'node')}"
    paired = plan.goal("unpaired")
    pairs = ", every GPU paired" if paired is not None and paired.of and not paired.value else ""
    if wanted == placed == 1:
        return printable(f"The pod fits on {plan.nodes[0]}{pairs}.")
    return (
        f"All {wanted:,} pods fit {where}{pairs}."
        if placed == wanted
        else f"{placed:,} of {wanted:,} pods have a place, {where}."
    )


def proof_words(plan: Plan, pins: int = 0) -> str:
    """Return what is proven of the verdict, and the first reason if pods have no place."""
    if plan.status in (PlanStatus.EMPTY,):
        return ""
    sentences = [_proof(plan, pins)]
    sentences += [sentence(shortfall.message) for shortfall in plan.shortfalls[:1]]
    return printable(" ".join(filter(None, sentences)))


def _proof(plan: Plan, pins: int) -> str:
    if plan.status is PlanStatus.INFEASIBLE:
        return "Proven."
    if plan.status is PlanStatus.OPTIMAL:
        return "Proven optimal."
    least = plan.goal(UNPLACED)
    if least is None:
        return ""
    wanted = sum(workload.replicas for workload in plan.workloads)
    if not least.proven:
        most = "" if least.bound is None else f" At most {wanted - least.bound:,} fit."
        return f"Not proven.{most}"
    open_goal = next((goal for goal in plan.goals if not goal.proven), None)
    why = f"{counted(pins, 'pod')} {'is' if pins == 1 else 'are'} pinned" if pins else "the time ended"
    return (
        f"No plan places more, proven. That they cannot be aligned better is not proven, as {why}."
        if open_goal is not None
        else ""
    )


def cost_words(plan: Plan) -> str:
    """Return the worst bandwidth that kube-scheduler leaves with these manifests, "" if it is that of the plan."""
    for regret in plan.regrets:
        known = [share for share in regret.theirs if share.low is not None]
        if regret.paths_differ and known:
            worst = min(known, key=lambda share: share.low or 0.0)
            by = " (measured by you)" if worst.kind == YOURS else ""
            gpus = f"{worst.gpus:,} of {counted(sum(share.gpus for share in regret.theirs), 'GPU')}"
            words = f"With these manifests kube-scheduler leaves {ratio_words(worst)} of the bandwidth to {gpus}{by}."
            return f"{words} {measured_remark(worst)}".rstrip()
    return ""


def more_words(headroom: Headroom) -> str:
    """Return how many more pods fit, with its proof: `2 more, proven`."""
    return f"{headroom.count} more{', proven' if headroom.proven else ''}"


def more_number(headroom: Headroom) -> str:
    """Return how many more pods fit, as short as a table needs it: `2`, `2–4` if it is not proven, `≥ 2`."""
    count = headroom.count
    if count.exact:
        return f"{count.value:,}"
    return f"≥ {count.value:,}" if count.bound is None else f"{count.value:,}–{count.bound:,}"


def stranded_words(lost: Stranded) -> tuple[tuple[str, str], ...]:
    """Return for each kind of devices that is requested the number that is stranded, and what is proven of it."""
    found = []
    where = ", on the nodes examined" if lost.not_examined else ""
    for kind in lost.kinds:
        name = _ONE.get(kind.kind, kind.kind) if kind.stranded == 1 else KINDS.get(kind.kind, kind.kind)
        proof = "stranded, proven" if kind.proven else f"stranded at most, {kind.least:,} for certain"
        found.append((f"{kind.stranded:,} {name}", proof + where))
    return tuple(found)
