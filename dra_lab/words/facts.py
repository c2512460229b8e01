"""Single facts in words: numbers, values of goals, a proof; and what every figure on the screen counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dra_lab.model.goals import DAMAGE, FLEET_GOALS, GANG_GOALS, GOAL_WORDS, GOALS, GoalValue
from dra_lab.model.headroom import MOST_COUNTED, NodeFit
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import Plan, PlanStatus

KINDS: Mapping[str, str] = {
    "gpu": "GPUs",
    "nic": "NICs",
    "cpu": "CPUs",
    "memory": "memory devices",
    "other": "other devices",
}
"""What is counted of each kind of device. CPUs are counted in CPUs also where a device has many of them."""

COUNTING_ENDS = f"counting ends at {MOST_COUNTED:,} on a node"
"""The remark beside a number of replicas that is a cap."""


FIRST_FITS: Mapping[str, str] = {
    "manifest": "kube-scheduler with this manifest",
    "plain": "kube-scheduler without links",
}
"""The words for the first fits that a plan is compared with, by the names that `Regret.against` has."""

FIT_WORDS: Mapping[NodeFit, str] = {
    NodeFit.BEST: "fits as well as the best",
    NodeFit.WORSE: "fits, less well aligned",
    NodeFit.NO: "does not fit",
    NodeFit.UNKNOWN: "not decided",
}
"""How a node serves the claim."""

_ENDS = {
    FirstFitStatus.NONE: "finds nothing",
    FirstFitStatus.ERROR: "gives up the pod",
    FirstFitStatus.STOPPED: "not known",
}


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `1,404 nodes`: a number and what is counted, whose plural has an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def sentence(text: str) -> str:
    """Return a text with a full stop where it has no end; "" stays empty."""
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def first_fits(plan: Plan) -> Iterator[tuple[str, FirstFit]]:
    """Yield the first fits that a plan has, each with its name in a text."""
    for name, found in ((FIRST_FITS["manifest"], plan.first_fit), (FIRST_FITS["plain"], plan.first_fit_plain)):
        if found is not None:
            yield name, found


def links_say_nothing(plan: Plan) -> bool:
    """Say whether both first fits of a claim without links end alike: its manifest says nothing of places."""
    first_fit, plain = plan.first_fit, plan.first_fit_plain
    if first_fit is None or plain is None or plan.sketch.links:
        return False
    return (first_fit.status, first_fit.goals, first_fit.message) == (plain.status, plain.goals, plain.message)


def regret(plan: Plan, found: FirstFit) -> dict[str, int]:
    """Return, by goal, how much worse kube-scheduler's choice is than the plan's (negative: better); zeros left out.

    If kube-scheduler was followed on some nodes only, the plan counts on these.
    """
    mine = {goal.goal: goal.value for goal in plan.goals}
    if found is plan.first_fit:
        mine |= {goal: ours for goal, (ours, _) in plan.against_first_fit.items()}
    values = {goal.goal: goal.value for goal in found.goals}
    differences = {goal: values[goal] - value for goal, value in mine.items() if goal in values}
    return {goal: difference for goal, difference in differences.items() if difference}


# ---------------------------------------------------------------- goals


def goal_number(goal: GoalValue, value: int | None = None) -> tuple[str, str]:
    """Return a goal's value as a number and its caption: `2` and `NUMA nodes`, `1 of 2` and `GPUs paired`.

    A device whose place is unknown counts as a place of its own in the goal; here such devices are counted beside the
    places. `value` is another value of the same goal, such as its bound.
    """
    words, number = GOAL_WORDS[goal.goal], goal.value if value is None else value
    if goal.goal == "unpaired" and goal.of:
        return f"{goal.of - number} of {goal.of}", "GPUs paired"
    if goal.unknown and value is None:
        devices = f"{words.one} of {counted(goal.unknown, 'device')} unknown"
        known = number - goal.unknown
        return "", f"{words.counted(known)}, {devices}" if known > 0 else devices
    most = "at most " if goal.at_most and value is None else ""
    return f"{most}{number:,}", words.one if number == 1 else words.many


def goal_words(goal: GoalValue, value: int | None = None) -> str:
    """Return a goal's value in words: `2 NUMA nodes`, `1 of 2 GPUs paired`; see `goal_number`."""
    return " ".join(filter(None, goal_number(goal, value)))


def telling(goals: Sequence[GoalValue]) -> Iterator[GoalValue]:
    """Yield the goals whose values say something about the devices that are taken."""
    for goal in goals:
        says = goal.value or (goal.goal == "unpaired" and goal.of)
        if says and goal.goal in GOAL_WORDS and goal.goal != DAMAGE:
            yield goal


def goal_meaning(goal: str, plan: Plan | None = None) -> str:
    """Return what a goal counts: for the one pod of a `plan`, else over many pods, with its priority if it has one."""
    if plan is not None and not plan.sums_over_pods and goal in GOALS:
        return GOALS[goal]
    name, _, priority = goal.partition(" ")
    words = FLEET_GOALS.get(name) or GANG_GOALS.get(name, name)
    return f"{words} of priority {priority}" if priority else words


def goal_proof(goal: GoalValue) -> str:
    """Return how sure a goal's value is: `proven`, `not proven, bound 1`."""
    if goal.proven:
        return "proven"
    return "not proven" if goal.bound is None else f"not proven, bound {goal.bound:,}"


def proof_words(plan: Plan) -> str:
    """Return how sure a plan is: `proven optimal`, `proven: it does not fit`, or what is open with its bound."""
    if plan.status is PlanStatus.NOT_CHECKED:
        return "not checked"
    if plan.status is PlanStatus.INFEASIBLE:
        return "proven: it does not fit"
    if plan.proven:
        unknown = any(goal.unknown for goal in plan.goals)
        return "proven optimal for the places that are known" if unknown else "proven optimal"
    left_open = [
        goal_words(goal) + ("" if goal.bound is None else f", bound {goal_number(goal, goal.bound)[0]}")
        for goal in plan.goals
        if not goal.proven
    ]
    nodes = sum(len(fit.members) for fit in plan.node_classes if fit.verdict is NodeFit.UNKNOWN)
    left_open += [f"{counted(nodes, 'node')} not decided"] if nodes else []
    if not left_open and plan.goals and plan.goal(DAMAGE) is None:
        left_open.append(f"the goal {DAMAGE} was not counted")
    return "best so far, not proven" + (f" ({'; '.join(left_open)})" if left_open else "")


# ---------------------------------------------------------------- kube-scheduler


def search_end(found: FirstFit) -> str:
    """Return what kube-scheduler's search ended with where it took nothing, in a few words; "" where it took some."""
    return _ENDS.get(found.status, "")


def compared_words(plan: Plan) -> str:
    """Return on which part of the nodes first fit was compared, `` on 261 of 716 nodes``; "" for all of them."""
    found = plan.first_fit
    return f" on {len(found.compared):,} of {len(plan.nodes):,} nodes" if found is not None and found.compared else ""


GLOSSARY: Mapping[str, str] = {
    "unpaired": "How many of the GPUs have a NIC of their own on the same PCIe root, so that their traffic does not "
    "cross the processor. Each NIC counts for one GPU.",
    "numa": "How many NUMA nodes the allocated devices are on. Traffic between NUMA nodes crosses the link between "
    "the processors.",
    "roots": "How many PCIe roots the allocated GPUs and NICs are on.",
    "alternatives": "How far down its list of alternatives the claim is served. 0 is the first choice everywhere.",
    "preferences": "How many of the preferred links the allocation does not keep.",
    "damage": "How many copies of this claim fewer fit on the node once this plan is allocated there.",
    "proof": "Whether a better allocation can exist. The planner proves each goal with those above it kept.",
    "copies": "How many pods with this claim can start together as the cluster is now, on all nodes. Links that must "
    "hold are kept in each of them, preferred ones may be broken.",
    "manifest": "What kube-scheduler allocates on the best node with the YAML that you export. It takes the first "
    "devices that pass, and looks for nothing better.",
    "plain": "What kube-scheduler allocates on the best node if the claim asks for the same devices without any link.",
    "most": "How much of the claim the nearest node can serve, and how much it asks for.",
    "gangs": "How many of the wanted gangs have a place in this plan. A gang has all pods that it needs, or none.",
    "domains": "The racks, blocks or other domains in which the gangs are.",
    "levels": "In how many domains of their preferred level the gangs are. Fewer is nearer.",
    "nodes": "How many nodes have a pod of this plan.",
    "wanted": "How many pods of this workload the plan is asked for.",
    "placed": "How many of the wanted pods have a node and devices in this plan, of all workloads together.",
    "more": "How many more pods of this workload fit once this plan is allocated, each workload by itself.",
    "more gangs": "How many more such gangs fit once this plan is allocated, each with all pods that it needs.",
    "stranded": "How many devices are free, but of no use: no more pod of these workloads can use them and keep all "
    "its links.",
    "tried": "How many devices kube-scheduler has tested up to this step. A device counts each time that it is tested.",
    "rejected": "How many of these tests ended with no. The list says which test it was.",
    "given back": "How many devices kube-scheduler had allocated and gave back, because a later request found none.",
    "cluster": "The cluster that the plan was made for, as it was then.",
    "snapshot": "A short fingerprint of what the cluster published and had in use. Two that differ are two states.",
    "changes": "The what-if changes that the plan assumes.",
    "release": "The Kubernetes release that the manifests are for.",
    "fits": "On how many nodes the claim fits as the cluster was then.",
    "node": "The node with the best allocation.",
    "paired": "How many of the GPUs have a NIC of their own on the same PCIe root. Each NIC counts for one GPU.",
    "bandwidth": "How much of the bandwidth between a GPU and its NIC is left with this plan, for large transfers. "
    "100 % is what they reach on one PCIe root; the ranges are from published measurements, or your own.",
    "scheduler": "What kube-scheduler allocates with the exported YAML on every node that it may choose, from a "
    "simulation.",
    "scheduler-node": "Whether kube-scheduler, with the exported YAML, allocates devices on the best node that are "
    "as good as those of the plan.",
    "scheduler-bandwidth": "How much of that bandwidth is left with the devices that kube-scheduler allocates.",
    "devices": "The devices that the plan allocates.",
    "added": "How many lines each file gets that the file in the folder does not have. A new file is all added.",
    "removed": "How many lines of the file in the folder the export takes away. A file that you edited is kept unless "
    "you allow it.",
    "yaml": "How long the manifests are. The difference is against the first kept plan.",
}
"""What each figure counts, by the name of the figure or of its row in a comparison."""

FLEET_TERMS = {word: GLOSSARY[word] for word in ("wanted", "placed", "more", "stranded")}
"""The first words above the numbers of a fleet."""

EXPORT_TERMS = {word: GLOSSARY[word] for word in ("added", "removed")}
"""The words above the numbers of changed lines."""
