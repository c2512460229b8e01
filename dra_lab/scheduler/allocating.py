"""Placing one candidate for a request, and taking it back: the tests that depend on what is taken.

Rules: docs/semantics.md 3.5.7 to 3.5.12.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from dra_lab.model.release import Gates
from dra_lab.model.trace import Check, Reason
from dra_lab.scheduler.candidates import Candidate, NodeView
from dra_lab.scheduler.capacity import Amounts, capacity_left
from dra_lab.scheduler.constraints import constraint_values
from dra_lab.scheduler.counters import Counters
from dra_lab.scheduler.judging import COMPLEX
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import Need
from dra_lab.scheduler.search_limits import AttemptAborted
from dra_lab.scheduler.taints import untolerated

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
