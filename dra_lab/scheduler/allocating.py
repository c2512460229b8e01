"""Judging a candidate, placing it for a request, and undoing that.

Rules: docs/semantics.md 3.5.2 to 3.5.12.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from dra_lab.errors import CelError
from dra_lab.model.device import Amounts, capacity_left, capacity_use
from dra_lab.model.release import Gates
from dra_lab.model.trace import Check, Reason
from dra_lab.scheduler.candidates import Candidate, NodeView, untolerated
from dra_lab.scheduler.constraints import constraint_values
from dra_lab.scheduler.counters import Counters
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import ClaimNeeds, Need
from dra_lab.scheduler.search_limits import AttemptAborted, NodeFails

REJECTED = 1
FULL = 2
TAINTED = 3
SIMPLE = 4
COMPLEX = 5
"""A judged candidate: never; not with what is consumed now; tainted; in-use and constraints decide; everything does."""


class Judge:
    """Judges every candidate once for every need, and only when the search comes to it.

    Rules: docs/semantics.md 3.5.17, 3.5.18.
    """

    def __init__(self, view: NodeView, gates: Gates, recorder: Recorder | None = None) -> None:
        """Judge the candidates of one node."""
        self._candidates = view.candidates
        self._each = view.cluster.publishes_lists or view.cluster.publishes_empty_attributes
        self._pools = view.pools
        self._gates = gates
        self._recorder = recorder

    def judge(self, need: Need, index: int) -> int:
        """Return the verdict on a candidate. Raises AttemptAborted when a selector fails on it.

        Rules: docs/semantics.md 3.5.3, 3.5.4.
        """
        verdict = need.verdicts[index]
        if not verdict:
            verdict = need.verdicts[index] = self._judge(need, self._candidates[index])
        return verdict

    def list_all(self, need: Need) -> None:
        """Fix the devices that allocationMode All takes (docs/semantics.md 3.6.1, 3.6.5, 3.6.9).

        Raises AttemptAborted for a pool that is incomplete or invalid, whatever its driver, and for failing selectors;
        for a pool NodeFails from 1.38 on (3.6.10).
        """
        for pool in self._pools:
            if pool.invalid or not pool.complete:
                state = f"invalid: {pool.invalid}" if pool.invalid else "incomplete"
                fails = NodeFails if self._gates.from_1_38 else AttemptAborted
                raise fails(
                    f"claim {need.claim_name}, request {need.reference}: it requests all devices, but the pool "
                    f"{pool.driver}/{pool.name} is {state}; wait for its driver, or request a count"
                )
        left_out = (REJECTED, FULL) if self._gates.defects else (REJECTED,)
        wanted = range(len(self._candidates))
        need.all_devices = tuple(index for index in wanted if self.judge(need, index) not in left_out)
        need.count = len(need.all_devices)

    def _judge(self, need: Need, candidate: Candidate) -> int:
        if candidate.blocked and not need.admin_access and not need.everything:
            return self._reject(need, candidate, Check.IN_USE, f"claim {candidate.blocked}")
        if candidate.hidden:
            return self._reject(need, candidate, Check.GATE, candidate.hidden)
        for of_class, selector in need.selectors:
            try:
                matches = (selector.matches if self._each else selector.decide)(candidate.driver, candidate.device)
            except CelError as error:
                raise AttemptAborted(
                    f"claim {need.claim_name}, request {need.reference}, device {candidate.id}: {error}"
                ) from error
            if not matches:
                return self._reject(need, candidate, Check.CLASS if of_class else Check.SELECTOR, selector.expression)
        if not candidate.on_node:
            return self._reject(need, candidate, Check.NODE)
        return self._judge_state(need, candidate)

    def _judge_state(self, need: Need, candidate: Candidate) -> int:
        gates = self._gates
        if gates.consumable_capacity:
            use = capacity_use(candidate.device, need.capacity, gates, candidate.driver)
            if use is None:
                return self._reject(need, candidate, Check.CAPACITY, "it cannot provide the requested capacity")
            need.uses[candidate.index] = use
            if not capacity_left(candidate.device, use):
                return self._reject(need, candidate, Check.CAPACITY, "it has less than the request asks for")
            if not capacity_left(candidate.device, use, candidate.consumed):
                self._reject(need, candidate, Check.CAPACITY, "too little is left")
                return FULL
        if candidate.shareable or candidate.counted:
            return COMPLEX
        taint = untolerated(candidate.taints, need.tolerations)
        if taint is not None:
            self._reject(need, candidate, Check.TAINT, str(taint))
            return TAINTED
        return SIMPLE

    def _reject(self, need: Need, candidate: Candidate, check: Check, detail: str = "") -> int:
        if self._recorder is not None:
            self._recorder.judged(need, candidate.index, Reason(check, detail))
        return REJECTED


def prepare(needs: ClaimNeeds, judge: Judge) -> None:
    """Fix the lists of all requests with allocationMode All, alternatives included."""
    for need in (need for request in needs.requests for need in request if need.everything):
        judge.list_all(need)


_NOTHING: Amounts = {}


class Taken(NamedTuple):
    """A candidate placed for a need; `consumed` is None unless it is a share of a shareable device."""

    need: Need
    candidate: Candidate
    consumed: Amounts | None = None


class Books:
    """The state of this attempt so far: devices, shares, counters, and the results of every claim in order.

    `taken_by` holds, by position, one bit for each claim that took the device; shares set none. `left_behind` counts
    the candidates that left something behind although they were not taken (defects up to 1.36).
    """

    def __init__(self, view: NodeView, gates: Gates, claims: int, recorder: Recorder | None = None) -> None:
        """Start with nothing taken."""
        self.candidates = view.candidates
        self.left_behind = 0
        self._gates = gates
        self._recorder = recorder
        self._counters = Counters(view, defects=gates.defects)
        self.taken_by = [0] * len(view.candidates)
        self._amounts: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._shares: dict[int, int] = defaultdict(int)
        self._paid: set[int] = set()
        self.results: tuple[list[Taken], ...] = tuple([] for _ in range(claims))

    def in_use(self, need: Need, index: int) -> bool:
        """Say whether a candidate is taken: by anybody, or for admin access by the same claim in this attempt.

        Rule: docs/semantics.md 3.5.1.
        """
        if need.admin_access:
            return bool(self.taken_by[index] >> need.claim & 1)
        candidate = self.candidates[index]
        if not (self.taken_by[index] or candidate.blocked):
            return False
        if candidate.blocked:
            self._reject(candidate, Check.IN_USE, f"claim {candidate.blocked}")
        return True

    def place(self, need: Need, index: int, verdict: int) -> bool:
        """Place a judged candidate, or say that it cannot be placed now.

        Raises AttemptAborted where a constraint turns down a device of an All request (docs/semantics.md 3.6.3).
        """
        candidate = self.candidates[index]
        if verdict == COMPLEX and not self._place_complex(need, candidate):
            return False
        for position, constraint in enumerate(need.constraints):
            if not constraint.add(need.request, index):
                self._refuse_constraint(need, candidate, position)
                self._undo_counters(candidate)
                return False
        if not candidate.shareable:
            self.taken_by[index] |= 1 << need.claim
            self.results[need.claim].append(Taken(need, candidate))
            return True
        if need.everything and not self._has_capacity(need, candidate):
            # All looks at capacity last, and to 1.36.2 leaves constraints and counters as if the device was placed
            if not self._gates.leaks:
                self._remove_constraints(need, candidate, len(need.constraints))
            self._undo_counters(candidate)
            return False
        self._share(need, candidate)
        return True

    def take_back(self, need: Need, index: int) -> None:
        """Undo the last placement of a claim, which was this one."""
        candidate = self.candidates[index]
        taken = self.results[need.claim].pop()
        self._remove_constraints(need, candidate, len(need.constraints))
        if taken.consumed is None:
            self.taken_by[index] &= ~(1 << need.claim)
            if candidate.counted:
                self._counters.give_back(candidate)
            return
        amounts = self._amounts[index]
        for key, amount in taken.consumed.items():
            amounts[key] -= amount
        self._shares[index] -= 1
        # to 1.36.2 the note that a share was taken goes with its amounts, and stays if there are none
        leaks = self._gates.leaks
        gone = bool(taken.consumed) and not any(amounts.values()) if leaks else not self._shares[index]
        if gone:
            self._paid.discard(index)
            self._undo_counters(candidate)
        elif leaks and candidate.counted and not taken.consumed:
            self.left_behind += 1

    def _share(self, need: Need, candidate: Candidate) -> None:
        consumed = need.uses.get(candidate.index, _NOTHING)
        for key, amount in consumed.items():
            self._amounts[candidate.index][key] += amount
        self._shares[candidate.index] += 1
        self._paid.add(candidate.index)
        self.results[need.claim].append(Taken(need, candidate, consumed))

    def _has_capacity(self, need: Need, candidate: Candidate) -> bool:
        use = need.uses.get(candidate.index, _NOTHING)
        if capacity_left(candidate.device, use, candidate.consumed, self._amounts[candidate.index]):
            return True
        return self._reject(candidate, Check.CAPACITY, "too little is left")

    def _place_complex(self, need: Need, candidate: Candidate) -> bool:
        if candidate.shareable and not need.everything and not self._has_capacity(need, candidate):
            return False
        if candidate.counted:
            if not self._gates.partitionable_devices:
                return self._reject(candidate, Check.GATE, "DRAPartitionableDevices")
            if self._pays(candidate) and not self._counters.book(candidate):
                short = ("",) if self._recorder is None else self._counters.short_of(candidate)
                return self._reject(candidate, Check.COUNTERS, *short)
        taint = untolerated(candidate.taints, need.tolerations)
        if taint is None:
            return True
        self._undo_counters(candidate)
        return self._reject(candidate, Check.TAINT, str(taint))

    def _refuse_constraint(self, need: Need, candidate: Candidate, position: int) -> None:
        attribute = need.constraints[position].attribute
        if need.everything:
            raise AttemptAborted(
                f"claim {need.claim_name}, request {need.reference}: it asks for all devices, and {candidate.id} "
                f"does not satisfy the constraint on {attribute}; kube-scheduler gives up the pod"
            )
        self._remove_constraints(need, candidate, position)
        if self._recorder is not None:
            self._reject(candidate, Check.CONSTRAINT, *constraint_values(need.constraints[position], candidate.index))

    def _remove_constraints(self, need: Need, candidate: Candidate, number: int) -> None:
        for constraint in need.constraints[:number]:
            constraint.remove(need.request, candidate.index)

    def _pays(self, candidate: Candidate) -> bool:
        # a shareable device pays its counters once, with its first share (docs/semantics.md 3.10.6, 3.10.8)
        return not (candidate.shareable and (candidate.shared or candidate.index in self._paid))

    def _undo_counters(self, candidate: Candidate) -> None:
        # up to 1.36 what a rejected or undone candidate booked stays booked (docs/semantics.md 3.10.8)
        if not candidate.counted or not self._pays(candidate):
            return
        if self._gates.leaks:
            self.left_behind += 1
        else:
            self._counters.give_back(candidate)

    def _reject(self, candidate: Candidate, check: Check, detail: str, expected: str = "", found: str = "") -> bool:
        if self._recorder is not None:
            self._recorder.refused(candidate.index, Reason(check, detail, expected, found))
        return False
