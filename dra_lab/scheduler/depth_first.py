"""The allocator's depth-first search, and the same search with a record of its steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Any

from msgspec import Struct

from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.model.trace import Counts
from dra_lab.scheduler.allocating import COMPLEX, SIMPLE, Books, Judge
from dra_lab.scheduler.memory import Memory
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import ClaimNeeds, Need
from dra_lab.scheduler.search_limits import CANDIDATE, CONSTRAINT, COUNTED, SCANNED, AttemptAborted, SearchLimits

_DESCEND, _FAILED, OVERFLOW, _DONE = range(4)

STORE_AFTER = 2_000
"""Steps after which the search remembers its parts: most searches are over before, and pay nothing for it."""


class _ClaimFrame(Struct, eq=False):
    """Begins a claim after the first; an overflow inside counts as "no" for the claim before it.

    Rule: docs/semantics.md 3.7.6.
    """


class ChoiceFrame(Struct, eq=False):
    """Stands at an alternative of a request; `failed` once one failed for another reason than the limit of 32."""

    claim: int
    request: int
    alternative: int = -1
    failed: bool = False


class DeviceFrame(Struct, eq=False):
    """Looks for the k-th device of a request from `position` on; `placed` is the one taken, or -1."""

    need: Need
    request: int
    k: int
    position: int
    placed: int = -1


class _PartFrame(Struct, eq=False):
    """Begins the search from a request on; when it failed, how it began and its steps are remembered."""

    claim: int
    request: int
    key: tuple[Any, ...]
    steps: int
    cost: int


class Search:
    """One search on one node. It keeps its own stack, so that its depth is not Python's."""

    def __init__(
        self,
        claims: Sequence[ClaimNeeds],
        candidates: int,
        judge: Judge,
        books: Books,
        limits: SearchLimits,
        memory: Memory | None = None,
    ) -> None:
        """Take the claims in the pod's order; their All lists are fixed already.

        With a `memory` parts that begin as one that failed are counted and not run; steps and result are the same.
        """
        self._claims = claims
        self._candidates = candidates
        self._judge = judge
        self._books = books
        self._limits = limits
        self._memory = memory
        self._costs = [CANDIDATE + CONSTRAINT * len(one.claim.spec.devices.constraints) for one in claims]
        self._stack: list[_ClaimFrame | ChoiceFrame | DeviceFrame | _PartFrame] = []

    def run(self) -> bool:
        """Search; say whether everything was placed. The result is in the books.

        Raises AttemptAborted where the allocator gives up, and SearchStopped at a limit.
        """
        signal = self._enter_request(0, 0)
        while signal != _DONE:
            if not self._stack:
                return False
            frame = self._stack[-1]
            if isinstance(frame, DeviceFrame):
                signal = self._resume_device(frame, signal)
            elif isinstance(frame, ChoiceFrame):
                signal = self._resume_choice(frame, signal)
            else:
                self._stack.pop()
                if isinstance(frame, _ClaimFrame):
                    signal = _FAILED
                elif self._memory is not None:
                    steps, cost = self._limits.steps - frame.steps, self._limits.cost - frame.cost
                    self._memory.keep(frame.key, self._memory.key(frame.claim, frame.request), (steps, cost, signal))
        return True

    @property
    def chosen(self) -> dict[tuple[int, int], int]:
        """Return the alternative taken by (claim, request), for requests that have alternatives."""
        choices = (frame for frame in self._stack if isinstance(frame, ChoiceFrame))
        return {(frame.claim, frame.request): frame.alternative for frame in choices}

    def _enter_request(self, claim: int, request: int) -> int:
        while True:
            if claim >= len(self._claims):
                return _DONE
            requests = self._claims[claim].requests
            if request < len(requests):
                break
            claim, request = claim + 1, 0
            self._stack.append(_ClaimFrame())
        known = self._stored_result(claim, request)
        if known is not None:
            return known
        needs = requests[request]
        if needs[0].subrequest:
            self._stack.append(ChoiceFrame(claim, request))
            return _DESCEND
        return self._enter_device(needs[0], request, 0, 0)

    def _stored_result(self, claim: int, request: int) -> int | None:
        """Return what comes of the search from a request on where it began like this before, else begin a part."""
        memory = self._memory
        last = claim + 1 == len(self._claims) and request + 1 == len(self._claims[claim].requests)
        if memory is None or last or self._limits.steps < STORE_AFTER or not memory.pays_off:
            return None
        key = memory.key(claim, request)
        found = memory.find(key)
        if found is None:
            self._stack.append(_PartFrame(claim, request, key, self._limits.steps, self._limits.cost))
            return None
        self._limits.add(found[0], found[1])
        return found[2]

    def _enter_device(self, need: Need, request: int, k: int, position: int) -> int:
        if need.everything and not need.all_devices:
            return _FAILED
        if k >= need.count:
            return self._enter_request(need.claim, request + 1)
        if len(self._books.results[need.claim]) + need.count - k > MAX_DEVICES:
            return OVERFLOW
        self._stack.append(DeviceFrame(need, request, k, position))
        return _DESCEND

    def _resume_choice(self, frame: ChoiceFrame, signal: int) -> int:
        needs = self._claims[frame.claim].requests[frame.request]
        frame.failed |= signal == _FAILED
        frame.alternative += 1
        if frame.alternative >= len(needs):
            self._stack.pop()
            return _FAILED if frame.failed else OVERFLOW
        return self._enter_device(needs[frame.alternative], frame.request, 0, 0)

    def _resume_device(self, frame: DeviceFrame, signal: int) -> int:
        need = frame.need
        if frame.placed >= 0:
            self._books.take_back(need, frame.placed)
            frame.placed = -1
            if signal == OVERFLOW or need.everything:
                self._stack.pop()
                return OVERFLOW if signal == OVERFLOW else _FAILED
        placed = self._place_listed(frame) if need.everything else self._place_next(frame)
        if not placed:
            self._stack.pop()
            return _FAILED
        return self._enter_device(need, frame.request, frame.k + 1, frame.position)

    def _place_listed(self, frame: DeviceFrame) -> bool:
        need = frame.need
        index = need.all_devices[frame.k]
        if self._books.in_use(need, index):
            return False
        verdict = need.verdicts[index]
        self._limits.step(self._costs[need.claim] + (COUNTED if verdict == COMPLEX else 0))
        if verdict < SIMPLE or not self._books.place(need, index, verdict):
            return False
        frame.placed = index
        return True

    def _place_next(self, frame: DeviceFrame) -> bool:
        need, taken, verdicts = frame.need, self._books.taken_by, frame.need.verdicts
        mine = 1 << need.claim if need.admin_access else -1
        limits, begin, cost = self._limits, frame.position, self._costs[need.claim]
        positions: Sequence[int] = range(begin, self._candidates)
        if need.open is not None:
            positions = need.open[bisect_left(need.open, begin) :] if begin else need.open
        for index in positions:
            if taken[index] & mine:
                continue
            verdict = verdicts[index] or self._judge.judge(need, index)
            if verdict < SIMPLE:
                continue
            limits.step(cost + COUNTED if verdict == COMPLEX else cost)
            if self._books.place(need, index, verdict):
                frame.placed = index
                frame.position = index + 1
                limits.scan(SCANNED * (index + 1 - begin))
                return True
        limits.scan(SCANNED * (self._candidates - begin))
        if need.open is None and 0 not in verdicts:
            need.open = [index for index, verdict in enumerate(verdicts) if verdict >= SIMPLE]
        return False


class RecordedSearch(Search):
    """A search with a recorder: candidates that `Search` passes over are steps as well."""

    def __init__(
        self,
        claims: Sequence[ClaimNeeds],
        candidates: int,
        judge: Judge,
        books: Books,
        limits: SearchLimits,
        recorder: Recorder,
    ) -> None:
        """Take what `Search` takes, and the recorder."""
        super().__init__(claims, candidates, judge, books, limits, _RecordedMemory(claims, books, judge, recorder))
        self._recorder = recorder
        recorder.begin(books.candidates)

    def _enter_device(self, need: Need, request: int, k: int, position: int) -> int:
        signal = super()._enter_device(need, request, k, position)
        if signal == OVERFLOW or (need.everything and not need.all_devices):
            self._recorder.fail(need.reference)
        return signal

    def _resume_choice(self, frame: ChoiceFrame, signal: int) -> int:
        needs = self._claims[frame.claim].requests[frame.request]
        following = frame.alternative + 1
        if following < len(needs):
            self._recorder.alternative(needs[following])
        else:
            self._recorder.fail(needs[0].request)
        return super()._resume_choice(frame, signal)

    def _resume_device(self, frame: DeviceFrame, signal: int) -> int:
        if frame.placed >= 0:
            self._recorder.give_back(limit=signal == OVERFLOW)
        return super()._resume_device(frame, signal)

    def _place_listed(self, frame: DeviceFrame) -> bool:
        index = frame.need.all_devices[frame.k]
        self._recorder.begin_scan()
        placed = super()._place_listed(frame)
        if placed:
            self._recorder.allocate(frame.need, frame.k, index, self._completes(frame))
        else:
            self._recorder.scan(frame.need, frame.k, (index,), failed=True)
        return placed

    def _place_next(self, frame: DeviceFrame) -> bool:
        begin = frame.position
        self._recorder.begin_scan()
        try:
            placed = super()._place_next(frame)
        except AttemptAborted:
            # the selector failed on the first candidate that is free and has no verdict
            need, taken = frame.need, self._books.taken_by
            mine = 1 << need.claim if need.admin_access else -1
            free = (i for i in range(begin, self._candidates) if not need.verdicts[i] and not taken[i] & mine)
            self._recorder.scan(need, frame.k, range(begin, next(free, self._candidates)), failed=False)
            raise
        end = frame.placed if placed else self._candidates
        self._recorder.scan(frame.need, frame.k, range(begin, end), failed=not placed)
        if placed:
            self._recorder.allocate(frame.need, frame.k, frame.placed, self._completes(frame))
        return placed

    def _completes(self, frame: DeviceFrame) -> str:
        if frame.k + 1 < frame.need.count:
            return ""
        return "claim" if frame.request + 1 == len(self._claims[frame.need.claim].requests) else "request"


class _RecordedMemory(Memory):
    """The memory of a search that records: a part that is not run again is counted, unless its steps are asked for."""

    def __init__(self, claims: Sequence[ClaimNeeds], books: Books, judge: Judge, recorder: Recorder) -> None:
        super().__init__(claims, books, judge)
        self._recorder = recorder
        self._begun: list[Counts] = []
        self._counts: dict[Hashable, Counts] = {}

    def find(self, key: tuple[Any, ...]) -> tuple[int, int, int] | None:
        found = super().find(key)
        if found is not None and self._recorder.can_skip(self._counts[key]):
            claim, request = key[:2]
            self._recorder.fail(self._claims[claim].requests[request][0].request)
            self._recorder.skip(self._counts[key])
            return found
        self._begun.append(self._recorder.counts)
        return None

    def keep(self, key: tuple[Any, ...], now: tuple[Any, ...], found: tuple[int, int, int]) -> None:
        super().keep(key, now, found)
        part = self._recorder.counts.since(self._begun.pop())
        if key in self._known:
            self._counts.setdefault(key, part)
