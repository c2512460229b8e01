"""Reasons: why a claim fits on no node, as data: counts after each test, what cannot hold together, what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from dra_lab.findings import shortened
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch
from dra_lab.printing import Shown


class FunnelStep(Struct, frozen=True):
    """One test and how many devices are left after it.

    `test` is `published`, `class`, `class-selector`, `selector`, `gate`, `taint`, `in-use`, `capacity` or `link`;
    `text` the selector as written, the name of the class or of the link, else "".
    """

    test: str
    count: int
    text: str = ""


class Funnel(Struct, frozen=True):
    """The devices of a node that are left for one request after each test, in the order of the tests.

    `request` is the request or alternative. `needed` counts the devices that it takes (all that match, if it requests
    all). `nodes` counts the nodes with the same values, and `node` is the first of them. `failing` are the devices on
    which a selector fails at run time.
    """

    request: str
    needed: int
    node: str
    nodes: int
    steps: tuple[FunnelStep, ...]
    failing: int = 0


class Element(Struct, frozen=True):
    """A part of a drawing: a `request`, a `selector` of it or a must-`link`; `text` is its expression or words."""

    kind: str
    subject: str
    text: str = ""
    position: int = 0

    def __str__(self) -> str:
        """Return it in words."""
        if self.kind == "selector":
            return shortened(f"selector {self.text} of {self.subject}")
        return shortened(self.text or f"{self.kind} {self.subject}")


class Conflict(Struct, frozen=True):
    """Parts of a drawing that cannot hold together: without any one of them, the others can.

    `node` is the node of the conflict, "" for every node of the cluster. `minimal` is False if it was not found out
    whether every part is needed (for lack of time, or because of a rule that the planner does not know). `smallest` is
    True if it is proven that no set has fewer parts.
    """

    elements: tuple[Element, ...]
    node: str = ""
    minimal: bool = True
    smallest: bool = False


class Relaxation(Shown, Struct, frozen=True):
    """One change to the drawing, tried over the cluster.

    `kind` is `link`, `level`, `count`, `capacity`, `selector`, `taint`, `idle` or `suggestion`. `fitting` counts the
    nodes on which the claim then fits. It is None if that is not known: for lack of time, or because it needs a rule of
    DRA that the planner does not know (`unknown`, by its API name). `undecided` counts the nodes that time left open.
    `example` is the first fitting node, and `sketch` the changed drawing, None if there is nothing to draw.
    """

    kind: str
    subject: str
    title: str
    fitting: int | None = None
    total: int = 0
    undecided: int = 0
    example: str = ""
    sketch: ClaimSketch | None = None
    unknown: str = ""

    @property
    def why_open(self) -> str:
        """Return in words why it is not known on how many nodes the claim fits, or on the rest of them; "" where it is.

        "the time limit was reached", or the name of the rule that is not known.
        """
        if self.fitting is not None and not self.undecided:
            return ""
        return f"the rule {self.unknown} is not known here" if self.unknown else "the time limit was reached"


class Scarcity(Struct, frozen=True):
    """Whether the devices for one request are too few, or enough but scattered.

    `kind` is one of three. `shortage`: fewer are free in the cluster than one node needs. `fragmentation`: enough are
    free, but no node has them. `enough`: a node has them, so the cause is another. `most` are those on `node`.
    `matching` counts the devices that match, in use or not; None if that is not known.
    """

    request: str
    kind: str
    needed: int
    free: int
    most: int
    node: str
    message: str
    matching: int | None = None


class SelectorFailure(Struct, frozen=True):
    """A selector that fails on devices when it is evaluated: kube-scheduler then gives up the whole pod.

    `guarded` is the same selector in a form that fails on none of these devices, "" where none was found.
    """

    request: str
    expression: str
    devices: tuple[DeviceID, ...]
    message: str
    guarded: str = ""


class Reasons(Shown, Struct, frozen=True):
    """Everything that was found out about a claim that fits nowhere; the sentences are the plan's `shortfalls`.

    `nearest` is the node that lacks least; `failures` come first because they stop the pod wherever it would fit.
    `complete` is False where not all of it was found out: what was not tried says so itself.
    """

    nearest: str = ""
    failures: tuple[SelectorFailure, ...] = ()
    funnels: tuple[Funnel, ...] = ()
    scarcity: tuple[Scarcity, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Shortfall(Shown):
    """A reason why the claim does not fit.

    `rule` is what stops it: `class`, `selector`, `taint`, `in-use`, `capacity`, `count`, `link`,
    `links` (several at once), `attribute`, `node`, `limit`, `cordoned`, `same`.
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


class Suggestion(Shown, Struct, frozen=True):
    """A change to the drawing that would help, with what it would bring.

    `selectors` maps a request to CEL texts that are added to it; `sketch` is the drawing with the change made, where
    it can be made for the person.
    """

    title: str
    detail: str
    source: str = ""
    selectors: Mapping[str, tuple[str, ...]] = {}
    sketch: ClaimSketch | None = None


class FailedTest(Struct, frozen=True):
    """The first test that keeps a device from one request.

    `test` is `class`, `selector`, `taint`, `in-use`, `capacity`, or "" if it passes all of them; `text` is the
    expression, the taints or the claims that stand behind it.
    """

    request: str
    test: str
    text: str = ""


class WhyNot(Struct, frozen=True):
    """How far the devices of a node come with each request, and why the node does not serve the claim.

    `fits` is None where time ended before that was known. `users` names, by request, the claims that hold matching
    devices, with the number of these, most first; `devices` has the tests of every device by its identity. `use_known`
    is False if no claims were read, so that a device may be in use although no claim here holds it.
    """

    node: str
    fits: bool | None
    funnels: tuple[Funnel, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    users: Mapping[str, tuple[tuple[str, int], ...]] = {}
    devices: Mapping[DeviceID, tuple[FailedTest, ...]] = {}
    use_known: bool = True
