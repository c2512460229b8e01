"""Plan: the answer to a drawing on a cluster; one value, read by pictures, exports, widgets and the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from dra_lab.errors import InputError
from dra_lab.findings import Finding, shortened
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.printing import printed
from dra_lab.model.reasons import Reasons
from dra_lab.model.regret import Regret
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.trace import Trace

GOALS: Mapping[str, str] = {name: words.meaning for name, words in GOAL_WORDS.items()}
"""The goals for one claim on one node, most important first, with what their values count."""

FIXED_GOALS = tuple(name for name, words in GOAL_WORDS.items() if words.fixed)
"""The goals that come first whatever a person prefers; the others may be put in any order."""

DAMAGE = "damage"


def named_goals(goals: Sequence[str]) -> tuple[str, ...]:
    """Return goals one by one; a single text is read as on the command line, `roots,numa`."""
    return tuple(filter(None, map(str.strip, goals.split(",")))) if isinstance(goals, str) else tuple(goals)


def goal_order(goals: Sequence[str]) -> tuple[str, ...]:
    """Return all goals in order of importance: FIXED_GOALS, those given, the rest. Raises InputError for others."""
    goals = named_goals(goals)
    for goal in goals:
        if goal not in GOALS:
            raise InputError(f"goal {goal!r} is not known; use {', '.join(g for g in GOALS if g not in FIXED_GOALS)}")
    return tuple(dict.fromkeys((*FIXED_GOALS, *goals, *GOALS)))


class PlanStatus(StrEnum):
    """What is known: proven best, best so far, proven impossible, or stopped before any answer; nothing drawn yet.

    `NOT_CHECKED`: what the answer needs of the cluster could not be read, as the first of the `shortfalls` says.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"
    NOT_CHECKED = "not-checked"
    EMPTY = "empty"


class NodeFit(StrEnum):
    """How a node serves the claim: as well as the best, worse, not at all, or not decided."""

    BEST = "best"
    WORSE = "worse"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GoalValue:
    """One goal's value in a plan.

    `value` counts what GOALS says. `bound` is the best value that could still exist (None when unknown). `proven` is
    True when no better value exists, the goals before it being kept. `unknown` counts devices whose locality is
    unknown, each of which counts as a place of its own. `at_most` says that `value` is only the most that it can be: of
    `damage`, where counting the replicas took too long. `of` is how many devices the value is a part of: of `unpaired`,
    the GPUs of a claim that asks for GPUs and NICs; 0 where it is not counted.
    """

    goal: str
    value: int
    bound: int | None = None
    proven: bool = False
    unknown: int = 0
    at_most: bool = False
    of: int = field(default=0, compare=False)

    @property
    def words(self) -> str:
        """Return the value as it is shown: `2`, or `at most 2`."""
        return f"at most {self.value}" if self.at_most else str(self.value)


class Placement(Struct, frozen=True, gc=False):
    """A device chosen for a request.

    `request` is the reference in its claim (`gpu`, or `gpu/aligned` for an alternative). `manifest_request` is the name
    in the compiled claim (`gpu-0`) if it is known. `consumed` is the capacity it takes of a shareable device. `claim`
    is the claim it is for, "" if the pod has one.
    """

    request: str
    device: DeviceID
    manifest_request: str = ""
    consumed: Mapping[str, str] = {}
    claim: str = ""

    @property
    def reference(self) -> str:
        """Return the reference in the plan's drawing: `claim:request` where the pod has several claims."""
        return f"{self.claim}{MARK}{self.request}" if self.claim else self.request


class FirstFitStatus(StrEnum):
    """What kube-scheduler's search ends with on one node."""

    ALLOCATED = "allocated"
    NONE = "none"
    ERROR = "error"
    STOPPED = "stopped"


class Start(StrEnum):
    """Whether a pod starts with a manifest: what kube-scheduler's search on every node that the pod may use gives.

    `NEVER`: no node has its devices, or the search on one node ends every attempt. `OPEN`: a search did not end here.
    """

    NOT_SEARCHED = "not-searched"
    STARTS = "starts"
    NEVER = "never"
    OPEN = "open"


class FirstFit(Struct, frozen=True):
    """What kube-scheduler's first fit takes on the plan's node.

    `status` is `error` when the whole attempt of the pod would be given up (`message` says why), `stopped` when the
    search was cut off after `steps` candidates. `goals` values the same goals as the plan's.
    """

    status: FirstFitStatus
    placements: tuple[Placement, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    message: str = ""
    steps: int = 0
    recorded: bool = True

    def goal(self, name: str) -> int | None:
        """Return the value of a goal, or None."""
        return next((g.value for g in self.goals if g.goal == name), None)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A reason why the claim does not fit.

    `rule` is what stops it: `class`, `selector`, `taint`, `in-use`, `capacity`, `count`, `link`,
    `links` (several at once), `attribute`, `node`, `limit`, `cordoned`.
    `subject` is the request, link or node. `needed` and `available` are numbers of devices or groups on `node` ("" for
    every node). `widest` is True if no node has more.
    """

    rule: str
    subject: str
    message: str
    needed: int = 0
    available: int = 0
    node: str = ""
    advice: str = ""
    widest: bool = False

    def __post_init__(self) -> None:
        """Shorten what the names in a file put into the words."""
        object.__setattr__(self, "message", shortened(self.message))
        object.__setattr__(self, "advice", shortened(self.advice))


CORDONED = "cordoned"
"""The label of the class of nodes that are cordoned."""


class NodeClass(Struct, frozen=True):
    """Nodes that are equal for this claim: they offer it the same; sorted, the first represents all."""

    nodes: tuple[str, ...]
    fit: NodeFit
    fits_idle: bool | None = None
    goals: tuple[GoalValue, ...] = ()
    label: str = ""


class Suggestion(Struct, frozen=True):
    """A change to the drawing that would help, with what it would bring.

    `selectors` maps a request to CEL texts that are added to it; `sketch` is the drawing with the change made, where
    it can be made for the person.
    """

    title: str
    detail: str
    source: str = ""
    selectors: Mapping[str, tuple[str, ...]] = {}
    sketch: ClaimSketch | None = None


class Tracer(Protocol):
    """What makes the traces of a plan."""

    def trace(
        self,
        node: str,
        *,
        links: bool,
        time_limit: float,
        cancel: threading.Event | None,
        progress: Callable[[int], None] | None,
    ) -> Trace[FirstFit]:
        """Return the trace on a node, "" for the plan's."""
        ...


@dataclass(frozen=True)
class Plan:
    """The answer: where the claim fits, the best allocation with its proof, what first fit takes, or the reasons.

    `node` is the chosen node, "" when nothing fits; `placements` in request order. `first_fit` is kube-scheduler with
    the compiled manifest, `first_fit_plain` with counts and selectors only, both on `node`; None if not requested.
    If the pod has several claims, `claims` contains the drawing of each by name, and `sketch` all of them as one, each
    request as `claim:request`. `allocated_claims` are those of its claims that have devices already. `tracer` makes the
    traces of kube-scheduler's search. `admitted` are the nodes on which the pod may run, None for all; `start` whether
    it starts with its manifest. `node_classes` covers every node once. `reasons` is there for a claim that fits
    nowhere: counts, conflicts and relaxations behind the sentences of `shortfalls`. `regrets` compare with the two
    first fits, where these allocated; `findings` include those of the cluster that matter. `on` is the cluster itself,
    None for a plan that was read or comes from another process.

    Example:
        >>> from dra_lab import load_cluster, make_plan, read_sketch
        >>> plan = make_plan(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> plan.goal("numa")
        1
    """

    status: PlanStatus
    sketch: ClaimSketch
    cluster: str = ""
    release: str = ""
    node: str = ""
    placements: tuple[Placement, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    first_fit: FirstFit | None = None
    first_fit_plain: FirstFit | None = None
    shortfalls: tuple[Shortfall, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    findings: tuple[Finding, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    reasons: Reasons | None = None
    regrets: tuple[Regret, ...] = ()
    claims: Mapping[str, ClaimSketch] = field(default_factory=dict)
    allocated_claims: tuple[ResourceClaim, ...] = ()
    admitted: frozenset[str] | None = None
    start: Start = Start.NOT_SEARCHED
    tracer: Tracer | None = field(default=None, compare=False, repr=False)
    on: Cluster | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        """Return the hash of the devices and where they are; plans that differ in their seconds alone are equal."""
        return hash((self.status, self.cluster, self.release, self.node, tuple(self.chosen())))

    @property
    def fits(self) -> bool:
        """Say whether there is an allocation."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)

    @property
    def proven(self) -> bool:
        """Say whether the allocation is proven best, or the misfit proven."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)

    @property
    def fitting_nodes(self) -> tuple[str, ...]:
        """Return the nodes on which the claim fits now, sorted."""
        fits = (NodeFit.BEST, NodeFit.WORSE)
        return tuple(sorted(node for c in self.node_classes if c.fit in fits for node in c.nodes))

    @property
    def fitting_idle_nodes(self) -> tuple[str, ...]:
        """Return the nodes on which the claim would fit with nothing in use, sorted."""
        return tuple(sorted(node for c in self.node_classes if c.fits_idle for node in c.nodes))

    def goal(self, name: str) -> int | None:
        """Return the value of a goal.

        Args:
            name: The name of the goal, one of GOALS.

        Returns:
            The value, or None if the plan has none.
        """
        return next((g.value for g in self.goals if g.goal == name), None)

    def trace(
        self,
        node: str = "",
        *,
        links: bool = True,
        time_limit: float = 10.0,
        cancel: threading.Event | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Trace[FirstFit]:
        """Return kube-scheduler's search for this claim on a node, step by step.

        Args:
            node: The node to search; default "": the plan's node.
            links: Search with the manifest that would be written; if False, with counts and selectors only.
            time_limit: Seconds after which the search ends.
            cancel: Ends the search when it is set.
            progress: Is called with the number of candidates so far.

        Returns:
            The steps, folded, and any part of them on demand.

        Raises:
            NodeError: The cluster does not have this node.
            InputError: The plan has no claim.
        """
        if self.tracer is None:
            raise InputError("there is nothing to trace, because the plan has no request or its cluster was not read")
        return self.tracer.trace(node, links=links, time_limit=time_limit, cancel=cancel, progress=progress)

    def __str__(self) -> str:
        """Return the answer as a terminal shows it: sentence, devices, goals next to kube-scheduler's, reasons."""
        return printed(self)

    def __repr__(self) -> str:
        """Return what tells plans apart in a line; `print` tells the answer, the fields hold all of it."""
        where = f" on {self.node}: {len(self.placements)} devices" if self.node else ""
        return f"<Plan of {self.sketch.name!r} for {self.cluster!r}, {self.status.value}{where}; print it for more>"

    def chosen(self) -> Mapping[DeviceID, str]:
        """Return the request of every chosen device."""
        return {placement.device: placement.reference for placement in self.placements}
