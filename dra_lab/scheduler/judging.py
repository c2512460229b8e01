"""Which candidates a request accepts, whatever else is taken: class, selectors, node, capacity.

Rules: docs/semantics.md 3.5.2 to 3.5.6, 3.5.10.
"""

from __future__ import annotations

from dra_lab.errors import CelError
from dra_lab.model.release import Gates
from dra_lab.model.trace import Check, Reason
from dra_lab.scheduler.candidates import Candidate, NodeView
from dra_lab.scheduler.capacity import capacity_left, capacity_use
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import ClaimNeeds, Need
from dra_lab.scheduler.search_limits import AttemptAborted
from dra_lab.scheduler.taints import untolerated

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

        Raises AttemptAborted for a pool that is incomplete or invalid, whatever its driver, and for failing selectors.
        """
        for pool in self._pools:
            if pool.invalid or not pool.complete:
                state = f"invalid: {pool.invalid}" if pool.invalid else "incomplete"
                raise AttemptAborted(
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
            use = capacity_use(
                candidate.device, need.capacity, fractional=gates.fractional_range, defects=gates.defects
            )
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
