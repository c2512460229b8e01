"""The search that records its steps: the same search, with a note of what each part of it did."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from dra_lab.model.trace import Counts
from dra_lab.scheduler.allocating import Books
from dra_lab.scheduler.depth_first import OVERFLOW, ChoiceFrame, DeviceFrame, Search
from dra_lab.scheduler.judging import Judge
from dra_lab.scheduler.memory import Memory
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import ClaimNeeds, Need
from dra_lab.scheduler.search_limits import AttemptAborted, SearchLimits


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
            self._recorder.scan(frame.need, frame.k, range(begin, self._not_judged(frame.need, begin)), failed=False)
            raise
        end = frame.placed if placed else self._candidates
        self._recorder.scan(frame.need, frame.k, range(begin, end), failed=not placed)
        if placed:
            self._recorder.allocate(frame.need, frame.k, frame.placed, self._completes(frame))
        return placed

    def _not_judged(self, need: Need, begin: int) -> int:
        """Return the candidate whose selector failed: the first from `begin` on that is free and has no verdict."""
        mine, taken = 1 << need.claim if need.admin_access else -1, self._books.taken_by
        positions = range(begin, self._candidates)
        return next((i for i in positions if not need.verdicts[i] and not taken[i] & mine), self._candidates)

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
