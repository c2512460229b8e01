"""The recorder of a search: it counts every step and keeps those that are asked for."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from dra_lab.model.names import DeviceID
from dra_lab.model.trace import Check, Counts, Held, Reason, Step, StepKind

if TYPE_CHECKING:
    from dra_lab.scheduler.candidates import Candidate
    from dra_lab.scheduler.requests import Need


class WindowEnd(Exception):
    """The search went past the last step that is recorded."""


class RecordingFull(Exception):
    """The search ran more steps than are recorded."""


class _Open(NamedTuple):
    """A device that is held: who has it, its row (-1: before the window), and the counts before its step."""

    need: Need
    k: int
    at: int
    row: int
    before: Counts


class Recorder:
    """Records the steps from `first` to `last` of a search.

    `folded` keeps a row for each attempt that was given back, so that the rows are few however long the search is.
    With a `last` the rows are those inside the folded step that begins with `first`; from 0 on, the rows as they are
    when the search comes to the last step. Without `folded` every step of the window has a row. `held` are the devices
    that the search holds after the last step. `most` is how many steps are run: steps that are skipped, because they
    are known to repeat, do not count.
    """

    def __init__(self, first: int = 1, last: int | None = None, *, folded: bool = True, most: float = math.inf) -> None:
        """Begin before the first step."""
        self._most = most
        self.counts = Counts()
        self.rows: list[Step] = []
        self._first, self._last, self._folded = first, last, folded
        self._kept_open = 0 if last is None else first
        self._open: list[_Open] = []
        self._candidates: Sequence[Candidate] = ()
        self._static: dict[Need, dict[int, Reason]] = defaultdict(dict)
        self._now: dict[int, Reason] = {}
        self._failed = ""

    def begin(self, candidates: Sequence[Candidate]) -> None:
        """Take the candidates of the node."""
        self._candidates = candidates

    def judged(self, need: Need, index: int, reason: Reason) -> None:
        """Keep why a request never accepts a candidate."""
        self._static[need][index] = reason

    def refused(self, index: int, reason: Reason) -> None:
        """Keep why a candidate cannot be placed now."""
        self._now[index] = reason

    def begin_scan(self) -> None:
        """Forget why candidates could not be placed before."""
        self._now.clear()

    def scan(self, need: Need, k: int, positions: Sequence[int], *, failed: bool) -> None:
        """Record candidates that were rejected one after the other; `failed` if no other candidate is left."""
        first = self.counts.steps + 1
        size = len(positions) if self._last is None else min(len(positions), self._last - first + 1)
        self.counts = self.counts.plus(Counts(size, 0, size, 0))
        # what is about to be given back needs no rows: they would be folded at once
        is_last = self._last is not None and self.counts.steps >= self._last
        dropped = failed and not is_last and self._is_folding and not (k == 0 and need.subrequest)
        if positions and not dropped and self._shows(first, self.counts.steps):
            self.rows += self._runs(need, k, positions, first)
        self._failed = need.reference if failed else self._failed
        self._end_window()

    def allocate(self, need: Need, k: int, index: int, completes: str) -> None:
        """Record that a device is allocated."""
        before, row = self.counts, len(self.rows)
        self.counts = before.plus(Counts(1, 1, 0, 0))
        if not self._shows(self.counts.steps, self.counts.steps):
            row = -1
        self._add(StepKind.ALLOCATED, need, k, index, completes=completes)
        self._open.append(_Open(need, k, index, row, before))
        self._end_window()
        if self.counts.steps >= self._most:
            raise RecordingFull

    def give_back(self, *, limit: bool) -> None:
        """Record that the device that was allocated last is given back, because of the `limit` or of what failed."""
        need, k, index, row, before = self._open.pop()
        self.counts = self.counts.plus(Counts(1, 0, 0, 1))
        why, first, counts = "" if limit else self._failed, 0, Counts(1, 0, 0, 1)
        if self._folded and row >= 0 and before.steps + 1 != self._kept_open:
            first, counts = before.steps + 1, self.counts.since(before)
            del self.rows[row:]
        self._add(StepKind.GIVEN_BACK, need, k, index, detail=why, first=first, counts=counts)
        self._end_window()

    def alternative(self, need: Need) -> None:
        """Record that the next alternative of a request is tried."""
        self.counts = self.counts.plus(Counts(1))
        self._add(StepKind.ALTERNATIVE, need, -1)
        self._end_window()

    def fail(self, reference: str) -> None:
        """Take note of the request for which nothing is left."""
        self._failed = reference

    def can_skip(self, part: Counts) -> bool:
        """Say whether a part that ran before needs not run again: it is before the window, or would be folded."""
        end = self.counts.steps + part.steps
        return end < self._first or (self._folded and self._is_folding and (self._last is None or end < self._last))

    def skip(self, part: Counts) -> None:
        """Count a part that ran before."""
        self.counts = self.counts.plus(part)
        self._most += part.steps
        self._end_window()

    def end(self, message: str, device: DeviceID | None = None) -> None:
        """Record the end of the search."""
        self.counts = self.counts.plus(Counts(1))
        step = self.counts.steps
        if self._shows(step, step):
            devices = () if device is None else (device,)
            self.rows.append(Step(step, step, StepKind.END, devices=devices, detail=message, counts=Counts(1)))

    @property
    def held(self) -> tuple[Held, ...]:
        """Return the devices that the search holds, in the order of their allocation."""
        return tuple(
            Held(
                part.need.claim_name,
                part.need.reference,
                part.k + 1,
                self._candidates[part.at].id,
                part.before.steps + 1,
            )
            for part in self._open
        )

    @property
    def _is_folding(self) -> bool:
        """Say whether the device that was allocated last has a row that folds if it is given back."""
        last = self._open[-1] if self._open else None
        return self._folded and last is not None and last.row >= 0 and last.before.steps + 1 != self._kept_open

    def _shows(self, first: int, last: int) -> bool:
        return last >= self._first and (self._last is None or first <= self._last)

    def _end_window(self) -> None:
        if self._last is not None and self.counts.steps >= self._last:
            raise WindowEnd

    def _runs(self, need: Need, k: int, positions: Sequence[int], first: int) -> Iterator[Step]:
        """Yield the rows of rejected candidates: folded by test, or one by one as far as they are in the window."""
        reasons = [self.reason(need, index) for index in positions]
        if self._folded:
            runs = [[at for at, _ in run] for _, run in groupby(enumerate(reasons), key=lambda found: found[1].check)]
        else:
            end = len(positions) if self._last is None else min(len(positions), self._last - first + 1)
            runs = [[at] for at in range(max(0, self._first - first), end)]
        for run in runs:
            reason, size = reasons[run[0]], len(run)
            if any(reasons[at] != reason for at in run):
                reason = Reason(reason.check)
            devices = tuple(self._candidates[positions[at]].id for at in run)
            begin, counts = first + run[0], Counts(size, 0, size, 0)
            yield Step(
                begin,
                begin + size - 1,
                StepKind.REJECTED,
                need.claim_name,
                need.reference,
                k + 1,
                devices,
                reason,
                counts=counts,
            )

    def reason(self, need: Need, index: int) -> Reason:
        """Return why a request rejected a candidate the last time."""
        found = self._now.get(index)
        if found is not None:
            return found
        for part in self._open:
            # the first test is whether the device is in use: for admin access, by the same claim only
            requested = not need.admin_access or part.need.claim == need.claim
            if part.at == index and requested and not self._candidates[index].shareable:
                return Reason(Check.IN_USE, f"request {part.need.reference}")
        return self._static[need][index]

    def _add(
        self,
        kind: StepKind,
        need: Need,
        k: int,
        index: int | None = None,
        *,
        completes: str = "",
        detail: str = "",
        first: int = 0,
        counts: Counts | None = None,
    ) -> None:
        """Add a row for the present step, if it is in the window."""
        last = self.counts.steps
        if self._shows(last, last):
            devices = () if index is None else (self._candidates[index].id,)
            counts = counts or Counts(1, int(kind is StepKind.ALLOCATED))
            names = need.claim_name, need.reference
            self.rows.append(Step(first or last, last, kind, *names, k + 1, devices, None, completes, detail, counts))
