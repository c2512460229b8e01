"""What is worse in a replica than in the plan, in words, and why first fit does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dra_lab.model.goals import GOAL_WORDS
from dra_lab.pinning.pod_kinds import PodKind
from dra_lab.pinning.replay_result import Miss
from dra_lab.pinning.scheduler_simulation import SimulatedPod
from dra_lab.words.facts import goal_words


def missed(pod: PodKind, number: int, planned: Sequence[int], node: str, taken: SimulatedPod) -> Miss:
    """Return what is worse than planned in a replica, on which node, and why; `node` is "" where nothing was found."""
    if not node:
        return Miss(pod.name, number, node, f"finds no place: {taken.message or 'no node has what it requests'}")
    if taken.broken:
        links = ", ".join(taken.broken)
        why = f"does not keep the link {links} on a node like {node}, because Kubernetes cannot express it"
        return Miss(pod.name, number, node, why)
    goals = zip(taken.goals, planned[1:], taken.values[1:], strict=True)
    theirs, want = next((goal, want) for goal, want, have in goals if have != want)
    ours = replace(theirs, value=want, bound=None, unknown=0)
    devices = ", ".join(placement.device.device for placement in taken.placements[:8])
    more = f" and {len(taken.placements) - 8} more" if len(taken.placements) > 8 else ""
    because = f"first fit takes {devices}{more}: {GOAL_WORDS[theirs.goal].why}"
    why = f"gets {goal_words(theirs)} instead of {goal_words(ours)} on a node like {node}, because {because}"
    return Miss(pod.name, number, node, why, ours, theirs, because)
