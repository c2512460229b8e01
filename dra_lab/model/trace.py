"""The trace of kube-scheduler's search: its steps, folded, and any part of them on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.model.names import DeviceID
from dra_lab.printing import Shown

E = TypeVar("E")


class Check(StrEnum):
    """The tests that a candidate goes through, in the allocator's order (docs/semantics.md 3.5.1 to 3.5.12)."""

    IN_USE = "in-use"
    GATE = "gate"
    CLASS = "class"
    SELECTOR = "selector"
    NODE = "node"
    CAPACITY = "capacity"
    COUNTERS = "counters"
    TAINT = "taint"
    CONSTRAINT = "constraint"


class Reason(Struct, frozen=True):
    """The test that a candidate failed, with its values.

    `detail` is what was tested: the holder of a device, a gate, the CEL expression, the capacity, the counter, the
    taint, the attribute of a constraint. `expected` and `found` are the values where the test compares two.
    """

    check: Check
    detail: str = ""
    expected: str = ""
    found: str = ""


class StepKind(StrEnum):
    """What happens in a step. A rejected or allocated device was tried; the others are the search going on.

    LEFT_OUT represents all steps between the last one that is recorded and the end, however many they are.
    """

    REJECTED = "rejected"
    ALLOCATED = "allocated"
    GIVEN_BACK = "given-back"
    ALTERNATIVE = "alternative"
    LEFT_OUT = "left-out"
    END = "end"


class Counts(NamedTuple):
    """How many steps a search or a part of it has, and how many of them allocate, reject and give back a device."""

    steps: int = 0
    allocated: int = 0
    rejected: int = 0
    given_back: int = 0

    @property
    def tried(self) -> int:
        """Return how many times a device was tried."""
        return self.allocated + self.rejected

    def since(self, before: Counts) -> Counts:
        """Return what was counted after `before`."""
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, more: Counts) -> Counts:
        """Return the sum."""
        return Counts(*(one + other for one, other in zip(self, more, strict=True)))


class Step(Struct, frozen=True):
    """One step, or several that belong together and are shown as one; steps are numbered from 1.

    A folded REJECTED step holds the devices that one test rejects in turn. A folded GIVEN_BACK step begins with the
    allocation of its device, contains all that was tried after it, and ends when the device is given back.
    `number` is the position of the device in its request, from 1; `request` is `request` or `request/subrequest`.
    `completes` is "request" or "claim" if this device is the last one of it. `detail` of a GIVEN_BACK step is the
    request for which nothing was left, "" for the limit of 32 devices; of an END it is the message of the verdict.
    """

    first: int
    last: int
    kind: StepKind
    claim: str = ""
    request: str = ""
    number: int = 0
    devices: tuple[DeviceID, ...] = ()
    reason: Reason | None = None
    completes: str = ""
    detail: str = ""
    counts: Counts = Counts()

    @property
    def where(self) -> tuple[str, str]:
        """Return its claim and request."""
        return self.claim, self.request

    @property
    def is_folded(self) -> bool:
        """Say whether it represents more than one step."""
        return self.last > self.first


class Held(NamedTuple):
    """A device that the search holds, for which request, and the step that allocated it."""

    claim: str
    request: str
    number: int
    device: DeviceID
    step: int


class DeviceTest(NamedTuple):
    """What one request says of a device while the search holds nothing: the first test that it fails, None for none."""

    claim: str
    request: str
    reason: Reason | None


class Window(NamedTuple):
    """Rows of a part of a search, with what it holds after them and what was counted up to then."""

    rows: tuple[Step, ...] = ()
    held: tuple[Held, ...] = ()
    counts: Counts = Counts()


Look = Callable[[int, int, bool], Window]
"""Returns a window of steps, from a step to another: folded, or one by one. Folded from 0 on, the attempt in which the
last step is stays open."""


class Trace(Shown, Struct, Generic[E], frozen=True, eq=False):
    """kube-scheduler's search for the claims of a pod on a node, step by step.

    `rows` are the steps, folded: an attempt that was given back is one row, and `inside` returns the rows in it.
    `counts` counts all steps; of a search with more steps than are recorded, those up to `recorded` and two more, the
    steps that are left out and the end.
    `end` is what the search ends with: a FirstFit of a plan, which has the goals' values.
    `links` is False for a claim of counts and selectors only. `origin` maps (claim, request) of the manifest to the
    request of the drawing; it is empty for claims that were never drawn.
    """

    node: str
    release: str
    end: E
    counts: Counts
    rows: tuple[Step, ...]
    look: Look
    test: Callable[[DeviceID], tuple[DeviceTest, ...]]
    links: bool = True
    origin: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def inside(self, row: Step) -> tuple[Step, ...]:
        """Return the rows that a folded row contains, themselves folded; the row itself if it is not an attempt."""
        if not row.is_folded or row.kind is not StepKind.GIVEN_BACK:
            return (row,)
        return self.look(row.first, row.last, True).rows

    def window(self, first: int, last: int) -> Window:
        """Return the steps from `first` to `last` one by one, and the state of the search after them."""
        first, last = max(1, first), min(last, self.counts.steps)
        return self.look(first, last, False) if first <= last else Window()

    def steps(self, first: int, last: int) -> tuple[Step, ...]:
        """Return the steps from `first` to `last`, one by one."""
        return self.window(first, last).rows

    def held(self, step: int) -> tuple[Held, ...]:
        """Return the devices that the search holds after a step; none before the first."""
        return self.window(step, step).held

    @property
    def recorded(self) -> int:
        """Return how many steps are recorded; later ones are left out."""
        left_out = next((row for row in self.rows if row.kind is StepKind.LEFT_OUT), None)
        return left_out.first - 1 if left_out is not None else self.counts.steps

    @property
    def is_whole(self) -> bool:
        """Say whether no steps are left out."""
        return self.recorded == self.counts.steps

    def shown_at(self, step: int) -> tuple[tuple[int, Step], ...]:
        """Return the rows up to a step with their depth: attempts that ended are folded, the present one is open.

        The last row ends with the step, also if more devices were rejected by the same test after it.
        """
        shown = self.look(0, step, True) if step > 0 else Window()
        return tuple(
            (sum(held.step < row.first for held in shown.held), _cut(row, step))
            for row in shown.rows
            if row.first <= step
        )

    def tests(self, device: DeviceID) -> tuple[DeviceTest, ...]:
        """Return, for each request, the first test that a device fails while the search holds nothing.

        Raises InputError for a device that the node does not have.
        """
        return self.test(device)

    def drawn(self, claim: str, request: str) -> str:
        """Return a request of the manifest as the drawing calls it."""
        return self.origin.get((claim, request), request)

    def __repr__(self) -> str:
        """Return the node and the number of steps."""
        return f"<Trace of {self.counts.steps} steps on {self.node}; print it for more>"


def _cut(row: Step, step: int) -> Step:
    """Return a row of rejected devices that ends with a step."""
    if row.last <= step:
        return row
    size = step - row.first + 1
    return replace(row, last=step, devices=row.devices[:size], counts=Counts(size, 0, size, 0))
