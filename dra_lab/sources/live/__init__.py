"""A running cluster through the `kubernetes` package, read only."""

from __future__ import annotations

from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.connection import IN_CLUSTER, PREFIX, Context, contexts, find_context
from dra_lab.sources.live.following import ClusterFollower, Following, FollowState
from dra_lab.sources.live.reading import OnProgress, Progress, Read, load_context

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
