"""Why pods are pending, and what a DeviceTaintRule would do; what is explained of a claim or a gang beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dra_lab.model.pod_reason import Explanation, PodReason, RuleEffect, TaintedPod
from dra_lab.model.running import Move
from dra_lab.model.slices import DeviceTaintSelector
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.document import Lines, Part, Sentence, Table, Words, printable
from dra_lab.words.explain_claim import claim_parts
from dra_lab.words.facts import counted
from dra_lab.words.moves_document import moves_table, places_sentence
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, plain_value
from dra_lab.words.reason_words import suggestion_item
from dra_lab.words.workload_words import verdict_parts

_MOST_SUGGESTIONS = 3


def reason_parts(found: PodReason) -> Iterator[Part]:
    """Yield the reason of one pod: the sentence, what else is in the way, what would help, what was not checked."""
    yield Sentence(found.sentence)
    yield Lines("Also", found.also)
    if found.plan is not None and found.rule not in ("", "none"):
        yield Lines("What would help, tried", [suggestion_item(s) for s in found.plan.suggestions[:_MOST_SUGGESTIONS]])
    if found.reported:
        yield Words(f"kube-scheduler reported: {found.reported}")
    if found.rule:
        yield Lines("Not checked", found.not_checked)


def explanation_parts(found: Explanation) -> Iterator[Part]:
    """Yield the reason of one pod, a line for each of several, why a claim fits or not, or what a rule would do."""
    if found.rule is not None:
        yield from rule_parts(found)
        return
    if found.verdicts is not None:
        yield from verdict_parts(found.verdicts)
        return
    if found.plan is not None:
        yield from claim_parts(found)
        return
    if len(found.pods) == 1:
        yield from reason_parts(found.pods[0])
        return
    yield Sentence(found.sentence)
    yield Lines("Pods", [pod.sentence for pod in found.pods])
    if found.pods:
        yield Words("--pod NAMESPACE/NAME shows one pod with what would help and what was not checked.")


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Return why pods are pending, or what a rule would do, as JSON has it."""
    pods = [
        {
            "pod": pod.pod,
            "pending": bool(pod.rule),
            "rule": pod.rule,
            "sentence": pod.sentence,
            "also": list(pod.also),
            "notChecked": list(pod.not_checked),
            "reported": pod.reported,
        }
        for pod in found.pods
    ]
    return {
        "kind": "Explanation",
        "cluster": found.cluster,
        "sentence": found.sentence,
        "pods": pods,
        **rule_json(found),
    }


# --------------------------------------------------------------------- DeviceTaintRules

NO_EVICTION = "the rule evicts no pod"
"""Why a pod stays under a rule that closes devices only."""


def rule_sentence(effect: RuleEffect, moves: Sequence[Move]) -> str:
    """Return what a rule would do: what it taints, which pods that concerns, and where the evicted ones can go."""
    return printable(" ".join(filter(None, _sentences(effect, moves))))


def _sentences(effect: RuleEffect, moves: Sequence[Move]) -> Iterator[str]:
    name, selector = f"DeviceTaintRule {effect.rule.metadata.name}", effect.rule.spec.device_selector
    devices = f"all {counted(effect.devices, 'device')}"
    if effect.gate:
        gates = effect.gate.split(",")
        what = f"feature gate {gates[0]} is" if len(gates) == 1 else f"feature gates {listed(gates)} are"
        yield f"{name} does nothing in Kubernetes {effect.release}, because the {what} off."
        return
    if selector is None and not effect.devices:
        yield f"{name} has no deviceSelector, so it selects no device in Kubernetes {effect.release}."
    elif selector is None:
        where = f"in Kubernetes {effect.release} kube-scheduler sees its taint on {devices}"
        yield f"{name} has no deviceSelector, so {where}."
    elif not effect.devices and not effect.in_use:
        yield f"{name} selects no device of this cluster."
    elif selector == DeviceTaintSelector():
        yield f"The deviceSelector of {name} is empty, so it taints {devices}."
    else:
        yield f"{name} taints {counted(effect.devices, 'device')}."
    if effect.devices or effect.in_use:
        yield _use(effect)
        yield from _eviction(effect, moves)


def _use(effect: RuleEffect) -> str:
    if not effect.in_use:
        return "No claim holds one of them."
    hold = "holds" if len(effect.claims) == 1 else "hold"
    pods = counted(len(effect.pods), "running pod")
    return f"{counted(len(effect.claims), 'claim')} of {pods} {hold} {effect.in_use:,} of them."


def _eviction(effect: RuleEffect, moves: Sequence[Move]) -> Iterator[str]:
    taint = effect.rule.spec.taint
    if taint.effect == "None":
        yield "The effect None neither evicts pods nor keeps new ones away."
        return
    if taint.effect == "NoExecute" and effect.rule.spec.device_selector is None:
        yield "It evicts no pod, because the eviction controller selects no device without a deviceSelector."
    elif not any(pod.evicted for pod in effect.pods):
        yield "It evicts no pod."
    if moves:
        yield places_sentence(f"It evicts {counted(len(moves), 'pod')}", moves)
    later = [f"{pod.pod} stays {pod.toleration_seconds:,} s" for pod in effect.pods if pod.toleration_seconds]
    if later:
        yield f"By tolerationSeconds, {some(later)} after the taint."
    yield from _others(effect.pods)
    yield "New pods get these devices only with a toleration."


def _others(pods: Sequence[TaintedPod]) -> Iterator[str]:
    """Yield how many pods are evicted without a place elsewhere by their nature, and how many stay, with the reason."""
    for (evicted, why), count in Counter((pod.evicted, pod.why) for pod in pods if pod.why).items():
        if evicted:
            names = some([pod.pod for pod in pods if pod.evicted and pod.why == why])
            yield f"{names} {'is' if count == 1 else 'are'} evicted too, but {why}."
        elif why != NO_EVICTION:
            yield f"{counted(count, 'pod')} {'stays' if count == 1 else 'stay'}, because {why}."


def rule_parts(found: Explanation) -> Iterator[Part]:
    """Yield what a rule would do: the sentences, where evicted pods go, and the other pods with tainted devices."""
    effect = found.rule
    if effect is None:
        return
    yield Sentence(effect.sentence)
    selector = effect.rule.spec.device_selector
    if effect.gate:
        gates = ",".join(f"{gate}=true" for gate in effect.gate.split(","))
        yield Words(f"If your cluster has it on, write --feature-gates {gates}.")
    elif selector is None:
        yield Words("Write deviceSelector with driver, pool or device, or deviceSelector: {} for every device.")
    if found.moves:
        yield moves_table(found.moves)
        yield Words("The eviction controller deletes pods. It does not ask PodDisruptionBudgets.")
    moved = {move.pod for move in found.moves}
    rows = [
        (
            pod.pod,
            pod.node,
            some([device.device for device in pod.devices]),
            f"is evicted, but {pod.why}" if pod.evicted else f"stays, because {pod.why}",
        )
        for pod in effect.pods
        if pod.pod not in moved
    ]
    yield Table(
        ("Pod", "Node", "Tainted devices", "What happens"), rows, "Other pods with tainted devices" if rows else ""
    )


def rule_outcome(found: Explanation) -> str:
    """Return whether every pod that the rule evicts fits elsewhere."""
    return FITS if all(move.node_to for move in found.moves) else DOES_NOT_FIT


def rule_json(found: Explanation) -> dict[str, Any]:
    """Return what a rule would do as JSON has it."""
    effect = found.rule
    if effect is None:
        return {}
    own = {**plain_value(effect), "rule": msgspec.to_builtins(effect.rule)}
    own.pop("sentence")
    return {"outcome": rule_outcome(found), "rule": own, "moves": [plain_value(move) for move in found.moves]}
