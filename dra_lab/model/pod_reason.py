"""Why pods are pending: one reason for each pod, with what else is in the way and what was not checked."""

from __future__ import annotations

from dataclasses import dataclass

from dra_lab.model.plan import Plan
from dra_lab.model.printing import printed


@dataclass(frozen=True)
class PodReason:
    """Why one pod is pending, or its state if it is not.

    Args:
        pod: The pod as `namespace/name`.
        sentence: The answer in one sentence, which names what is in the way.
        rule: The kind of reason: `gate`, `queue`, `template`, `claim`, `class`, `node`, `search`, or a rule of
            `Shortfall`. It is `none` if nothing was found, and `unknown` if that is not known. "" is a pod that is not
            pending.
        also: What else is in the way, or what follows once the reason is gone.
        not_checked: What kube-scheduler tests and dra-lab does not. It never counts as passed.
        reported: The last message of kube-scheduler about the pod, "" without one.
        plan: The plan of the claims that are not allocated; default None: it was not needed.

    Example:
        >>> from dra_lab.model.pod_reason import PodReason
        >>> PodReason("team-a/train", "team-a/train is pending: ...", "gate").blocked
        True
    """

    pod: str
    sentence: str
    rule: str = ""
    also: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    reported: str = ""
    plan: Plan | None = None

    @property
    def blocked(self) -> bool:
        """Say whether a reason was found that keeps the pod pending."""
        return self.rule not in ("", "none", "unknown")

    def __str__(self) -> str:
        """Return the reason as a terminal shows it."""
        return printed(self)


@dataclass(frozen=True)
class Explanation:
    """Why pods of a cluster are pending.

    Args:
        cluster: The name of the cluster.
        pods: The pods with their reasons, in the order of their names.

    Example:
        >>> from dra_lab import explain, load_cluster
        >>> explain(load_cluster("sample:eks-p4d")).pods
        ()
    """

    cluster: str
    pods: tuple[PodReason, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the answer in one sentence: that of the only pod, or how many are pending."""
        if len(self.pods) == 1:
            return self.pods[0].sentence
        waiting = sum(bool(pod.rule) for pod in self.pods)
        return f"{waiting:,} pods are pending for devices." if waiting else "No pod is pending for devices."

    def __str__(self) -> str:
        """Return the reasons as a terminal shows them, one line for each pod."""
        return printed(self)
