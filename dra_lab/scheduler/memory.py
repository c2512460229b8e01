"""The memory of the search: a part of it that failed is counted again from memory, without being run again.

The steps of a part that fails depend only on what is free when it begins, as the rest of the search sees it. Preferred
links repeat such parts over and over, so that 10^12 candidates are counted in milliseconds, and exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from dra_lab.scheduler.allocating import SIMPLE, Books, Judge
from dra_lab.scheduler.constraints import Constraint
from dra_lab.scheduler.requests import ClaimNeeds, Need
from dra_lab.scheduler.search_limits import AttemptAborted

MOST_STORED = 300_000
"""Parts of one search that are remembered; further ones are run each time."""

_TRIAL, _LEAST_ANSWERED = 20_000, 0.05
"""After this number of questions at least this share must have been answered, else asking costs more than it saves."""


class _Rest(Struct, frozen=True):
    """What the search from one request on looks at.

    `mask` has a bit for each device that matters when it is taken; `by_claim` says that it matters by which claim.
    Where equal devices may stand for each other, `kinds` numbers them by position. If the constraints name only one
    attribute, its values may also replace each other. `groups` says, by number of the value (0 for none), how many
    devices there are of each kind. `value_of` is the number of the value by position, and `numbers` that of a key.
    """

    mask: int
    constraints: tuple[Constraint, ...]
    by_claim: bool = False
    kinds: Mapping[int, int] = field(default_factory=dict)
    groups: tuple[Mapping[int, int], ...] = ()
    value_of: Mapping[int, int] = field(default_factory=dict)
    numbers: Mapping[Hashable, int] = field(default_factory=dict)


class Memory:
    """Steps and outcome of the parts of one search that failed, by what was free when they began."""

    def __init__(self, claims: Sequence[ClaimNeeds], books: Books, judge: Judge) -> None:
        """Remember nothing yet."""
        self._claims = claims
        self._judge = judge
        self._books = books
        self._rests: dict[tuple[int, int], _Rest] = {}
        self._known: dict[Hashable, tuple[int, int, int]] = {}
        self._questions = self._answered = 0

    @property
    def pays_off(self) -> bool:
        """Say whether remembering saves more than it costs, as far as is known."""
        return self._questions < _TRIAL or self._answered > _LEAST_ANSWERED * self._questions

    def find(self, key: tuple[Any, ...]) -> tuple[int, int, int] | None:
        """Return (steps, cost, signal) of a part that began like this, or None."""
        self._questions += 1
        found = self._known.get(key)
        self._answered += found is not None
        return found

    def keep(self, key: tuple[Any, ...], now: tuple[Any, ...], found: tuple[int, int, int]) -> None:
        """Remember a part that failed, unless it left something behind, as defects of 1.36 do: then `now` differs."""
        if key == now and len(self._known) < MOST_STORED:
            self._known[key] = found

    def key(self, claim: int, request: int) -> tuple[Any, ...]:
        """Return all that the search from a request on depends on."""
        rest = self._rests.get((claim, request))
        if rest is None:
            rest = self._look(claim, request)
        books = self._books
        mask = 0
        shares: list[Hashable] = []
        for taken in (taken for results in books.results for taken in results):
            bit = 1 << taken.candidate.index
            if taken.consumed is not None or mask & bit:
                # admin access takes a device a second time, and its counters as well
                shares.append((taken.candidate.index, *sorted((taken.consumed or {}).items())))
            mask |= bit if taken.consumed is None else 0
        free: Hashable
        if rest.groups:
            free = _by_value(rest, mask & rest.mask)
        elif rest.kinds:
            free = (*sorted(Counter(rest.kinds[i] for i in _bits(mask & rest.mask)).items()), *_states(rest))
        else:
            free = (tuple(books.taken_by) if rest.by_claim else mask & rest.mask, *_states(rest))
        return (claim, request, len(books.results[claim]), free, tuple(sorted(shares, key=repr)), books.left_behind)

    def _look(self, claim: int, request: int) -> _Rest:
        """Return what matters from a request on, and keep it: it does not change any more once it is asked for."""
        needs = tuple(dict.fromkeys(_after(self._claims, claim, request)))
        constraints = tuple(dict.fromkeys(c for need in needs for c in need.constraints))
        candidates = self._books.candidates
        if any(need.admin_access for need in needs) or not self._judged(needs):
            rest = _Rest((1 << len(candidates)) - 1, constraints, by_claim=any(need.admin_access for need in needs))
            self._rests[claim, request] = rest
            return rest
        counted = [c.index for c in candidates if c.counted or c.shareable]
        may = [i for i in range(len(candidates)) if any(need.verdicts[i] >= SIMPLE for need in needs)]
        # All comes to tainted devices as well: one that is taken is no candidate that it tries
        listed = [index for need in needs for index in need.all_devices]
        rest = _Rest(sum(1 << index for index in {*may, *counted, *listed}), constraints)
        if all(need.count == 1 and not need.everything for need in needs):
            rest = _with_kinds(rest, [need.verdicts for need in needs], may, counted)
        self._rests[claim, request] = rest
        return rest

    def _judged(self, needs: Sequence[Need]) -> bool:
        """Judge every candidate, and say whether that could be done: a selector that fails is left to the search."""
        try:
            for need in needs:
                for index in range(len(self._books.candidates)):
                    self._judge.judge(need, index)
        except AttemptAborted:
            return False
        return True


def _after(claims: Sequence[ClaimNeeds], claim: int, request: int) -> Iterator[Need]:
    """Yield every way to serve the requests from one on."""
    for number, one in enumerate(claims[claim:]):
        for needs in one.requests[0 if number else request :]:
            yield from needs


def _with_kinds(rest: _Rest, verdicts: Sequence[Sequence[int]], may: Sequence[int], counted: Sequence[int]) -> _Rest:
    """Return the same with numbers of equal devices, and of values that may stand for each other."""
    numbers: dict[Hashable, int] = {}
    alone = set(counted)

    def kind(index: int, *more: Hashable) -> int:
        own = (tuple(found[index] for found in verdicts), *more, index if index in alone else -1)
        return numbers.setdefault(own, len(numbers))

    names = {constraint.attribute for constraint in rest.constraints}
    keys = rest.constraints[0].keys if len(names) == 1 else []
    if len(names) != 1 or alone or any(key is not None and key[2] for key in keys):
        every = {*may, *counted}
        kinds = {i: kind(i, tuple(c.keys[i] for c in rest.constraints)) for i in every}
        return _Rest(rest.mask, rest.constraints, kinds=kinds)
    seen = dict.fromkeys((None, *(keys[i] for i in may)))
    values: dict[Hashable, int] = {key: number for number, key in enumerate(seen)}
    value_of = {index: values[keys[index]] for index in may}
    kinds = {index: kind(index) for index in may}
    groups = tuple(Counter(kinds[i] for i in may if value_of[i] == number) for number in range(len(values)))
    return _Rest(rest.mask, rest.constraints, False, kinds, groups, value_of, values)


def _by_value(rest: _Rest, mask: int) -> Hashable:
    """Return what is free at each value and which constraints hold it, in an order that forgets the values."""
    free = [dict(group) for group in rest.groups]
    for index in _bits(mask):
        free[rest.value_of[index]][rest.kinds[index]] -= 1
    holds: list[list[int]] = [[] for _ in free]
    for position, constraint in enumerate(rest.constraints):
        for key in constraint.held():
            # a value that no device ahead has is as good as any other such value
            holds[rest.numbers.get(key, 0)].append(position)
    groups = [(tuple(at), tuple(sorted(filter(_some, own.items())))) for at, own in zip(holds, free, strict=True)]
    return (groups[0], *sorted(group for group in groups[1:] if group != ((), ())))


def _some(item: tuple[int, int]) -> bool:
    return item[1] > 0


def _states(rest: _Rest) -> Iterator[Hashable]:
    return (constraint.state() for constraint in rest.constraints)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
