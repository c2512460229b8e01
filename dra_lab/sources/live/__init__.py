"""A running cluster through the `kubernetes` package, read only."""

from __future__ import annotations

from dra_lab.sources.live.contexts import IN_CLUSTER, PREFIX, Context, contexts, find_context
from dra_lab.sources.live.following import ClusterFollower, Following, FollowState
from dra_lab.sources.live.progress import OnProgress, Progress, Read
from dra_lab.sources.live.read import load_context
from dra_lab.sources.live.read_limits import ReadLimits

__all__ = [
    "IN_CLUSTER",
    "PREFIX",
    "ClusterFollower",
    "Context",
    "FollowState",
    "Following",
    "OnProgress",
    "Progress",
    "Read",
    "ReadLimits",
    "contexts",
    "find_context",
    "load_context",
]
