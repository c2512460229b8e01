"""Why pods are pending, as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dra_lab.model.pod_reason import Explanation, PodReason
from dra_lab.words.document import Lines, Part, Sentence, Words
from dra_lab.words.reason_words import suggestion_item

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
    """Yield the reason of one pod, or one line for each of several pods."""
    if len(found.pods) == 1:
        yield from reason_parts(found.pods[0])
        return
    yield Sentence(found.sentence)
    yield Lines("Pods", [pod.sentence for pod in found.pods])
    if found.pods:
        yield Words("--pod NAMESPACE/NAME shows one pod with what would help and what was not checked.")


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Return why pods are pending as JSON has it."""
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
    return {"kind": "Explanation", "cluster": found.cluster, "sentence": found.sentence, "pods": pods}
