"""What is worse in a replica than in the plan, in words, and why first fit does it."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.exports.arrivals import Taken
from dra_lab.exports.pod_kinds import PodKind
from dra_lab.model.goals import GOAL_WORDS


def shortcoming(pod: PodKind, planned: Sequence[int], node: str, taken: Taken) -> str:
    """Return what is worse than planned, on which node, and why; `node` is "" where nothing was found."""
    if not node:
        return f"finds no place: {taken.message or 'no node has what it asks for'}"
    if taken.broken:
        links = ", ".join(taken.broken)
        return f"does not keep the link {links} on a node like {node}: kube-scheduler cannot be told it"
    goals = zip(pod.order, planned[1:], taken.values[1:], strict=True)
    goal, want, have = next((goal, want, have) for goal, want, have in goals if have != want)
    words = GOAL_WORDS[goal]
    devices = ", ".join(placement.device.device for placement in taken.placements[:8])
    more = f" and {len(taken.placements) - 8} more" if len(taken.placements) > 8 else ""
    return (
        f"{words.worse.format(have, want)} on a node like {node}, because first fit takes {devices}{more}: {words.why}"
    )
