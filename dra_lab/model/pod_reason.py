"""Why pods are pending, one reason for each pod; or what a DeviceTaintRule would do to running pods."""

from __future__ import annotations

from dataclasses import dataclass

from dra_lab.model.gang_verdicts import GangVerdicts
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import WhyNot
from dra_lab.model.running import Move
from dra_lab.model.slices import DeviceTaintRule
from dra_lab.model.trace import Trace
from dra_lab.printing import Shown


@dataclass(frozen=True, repr=False)
class PodReason(Shown):
    """Why one pod is pending, in one sentence, or its state if it is not.

    `rule` is `gate`, `queue`, `template`, `claim`, `class`, `node`, `search`, or a rule of `Shortfall`. It is
    `none` if nothing was found, `unknown` if that is not known, and "" for a pod that is not pending. `also` is
    what else is in the way, or what follows once the reason is gone. `not_checked` is what kube-scheduler tests and
    dra-lab does not: it never counts as passed. `reported` is the last message of kube-scheduler about the pod.
    `plan` is that of the claims that are not allocated, None if it was not needed.
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


@dataclass(frozen=True)
class TaintedPod:
    """A running pod that holds devices which a DeviceTaintRule taints.

    It stays `toleration_seconds` before it is evicted, by its toleration; 0: it leaves at once. `why` it stays, or
    why nothing has to find a place for it, is "" if `Explanation.moves` has its next place.
    """

    pod: str
    node: str
    devices: tuple[DeviceID, ...]
    evicted: bool
    toleration_seconds: int = 0
    why: str = ""


@dataclass(frozen=True)
class RuleEffect:
    """What a DeviceTaintRule would do in a cluster: the devices that it taints, and who holds how many of them.

    `pods` are the running ones, those that leave first. `gate` is the feature gate that is off, so that the rule
    does nothing; "" if the rule counts.
    """

    rule: DeviceTaintRule
    release: str
    devices: int = 0
    in_use: int = 0
    claims: tuple[str, ...] = ()
    pods: tuple[TaintedPod, ...] = ()
    gate: str = ""
    sentence: str = ""


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Why pods of a cluster are pending, why a claim fits or not, or what a DeviceTaintRule would do.

    Args:
        cluster: The name of the cluster.
        pods: The pending pods with their reasons, in the order of their names.
        rule: What the rule would do; default None: the question was about something else.
        moves: Where the pods that the rule evicts can go, those without a place first.
        plan: The plan of a claim or gang that is explained; default None: the question was about something else.
        answer: Why it fits or not, in a few sentences.
        tests: How many devices of a node are left after each test of each request.
        trace: kube-scheduler's search for the claim on that node.
        device: The device that is explained; None for the claim itself.
        verdicts: Of a gang, quota, topology counts and devices side by side.

    Example:
        >>> from dra_lab import explain, load_cluster
        >>> explain(load_cluster("sample:eks-p4d")).pods
        ()
    """

    cluster: str
    pods: tuple[PodReason, ...] = ()
    rule: RuleEffect | None = None
    moves: tuple[Move, ...] = ()
    plan: Plan | None = None
    answer: str = ""
    tests: WhyNot | None = None
    trace: Trace[FirstFit] | None = None
    device: DeviceID | None = None
    verdicts: GangVerdicts | None = None

    def __hash__(self) -> int:
        """Return the hash of the answer."""
        return hash((self.cluster, self.sentence))

    @property
    def sentence(self) -> str:
        """Return the answer in a few sentences: that of the claim, rule or only pod, or how many pods are pending."""
        if self.plan is not None:
            return self.answer
        if self.rule is not None:
            return self.rule.sentence
        if len(self.pods) == 1:
            return self.pods[0].sentence
        waiting = sum(bool(pod.rule) for pod in self.pods)
        return f"{waiting:,} pods are pending for devices." if waiting else "No pod is pending for devices."
