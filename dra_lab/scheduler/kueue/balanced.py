"""Kueue's even choice (alpha gate TASBalancedPlacement): the smallest share of a domain is as large as possible.

Source: kubernetes-sigs/kueue v0.19.2, pkg/cache/scheduler/tas_balanced_placement.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from msgspec import Struct

from dra_lab.scheduler.kueue.kueue_tree import PODS, SLICES, KueueDomain, PodSetRequest, by_headroom, by_led, fill


class _Greedy(Struct, frozen=True):
    """How many domains a greedy choice takes, the slices of its last domains, with and without a leader."""

    domains: int
    last_led: KueueDomain | None
    last: KueueDomain | None


def balanced(levels: Sequence[Sequence[KueueDomain]], request: PodSetRequest) -> tuple[int, list[KueueDomain]] | None:
    """Return the level and the domains with their even shares, None if they cannot be filled evenly.

    Args:
        levels: The domains of each level with their counts.
        request: What the pod set asks for; `level` is its preferred level.

    Returns:
        The level of the domains, and copies of them that hold their shares.
    """
    slices = request.count // request.slice_size
    threshold, found = _best_siblings(levels, request, slices)
    if threshold <= 0:
        return None
    level = request.level
    if level < request.slice_level:
        chosen = _smallest_set(found, request, slices, sorted(found, key=_by_entropy))
        if chosen is None:
            return None
        found, level = [child for place in chosen for child in place.children], level + 1
    shares = _shares(found, request, slices, threshold)
    return None if shares is None else (level, shares)


def _best_siblings(
    levels: Sequence[Sequence[KueueDomain]], request: PodSetRequest, slices: int
) -> tuple[int, list[KueueDomain]]:
    """Return the largest threshold and the domains that allow it: all of one parent."""
    if request.level:
        families = [p.children for p in sorted(levels[request.level - 1], key=lambda place: place.path)]
    else:
        families = [list(levels[0])]
    best, fewest, found = 0, 0, list[KueueDomain]()
    for family in families:
        copies = [place.copy() for place in family]
        lower = [c for place in copies for c in place.children] if request.level < request.slice_level else copies
        greedy = _greedily(lower, slices, request.leaders)
        if greedy is None:
            continue
        threshold = _threshold(greedy, slices)
        reserved = min(threshold, greedy.last.led[SLICES]) if request.leaders and greedy.last else threshold
        if threshold < best:
            continue
        after = _pruned(copies, request, threshold, slices)
        if after is None and reserved < threshold:
            if reserved <= 0 or reserved < best:
                continue
            threshold = reserved
            copies = [place.copy() for place in family]
            after = _pruned(copies, request, threshold, slices)
        if after is not None and (threshold > best or (threshold == best and after.domains < fewest)):
            best, fewest, found = threshold, after.domains, copies
    return best, found


def _threshold(greedy: _Greedy, slices: int) -> int:
    found = slices // greedy.domains
    if greedy.last_led is not None:
        found = min(found, greedy.last_led.led[SLICES])
    return found if greedy.last is None else min(found, greedy.last.headroom[SLICES])


def _greedily(places: Sequence[KueueDomain], slices: int, leaders: int) -> _Greedy | None:
    """Return what taking the largest domains first uses, None if all of them are too little."""
    used, last_led, last = 0, None, None
    rest = list(places)
    if leaders:
        order = by_led(places, least=False)
        index = 0
        while leaders > 0 and index < len(order) and order[index].leaders:
            last_led = order[index]
            leaders -= last_led.leaders
            slices -= last_led.led[SLICES]
            index += 1
        used, rest = index, order[index:]
    if leaders > 0:
        return None
    for place in by_headroom(rest, least=False):
        if slices <= 0 or place.headroom[SLICES] <= 0:
            break
        used, last = used + 1, place
        slices -= place.headroom[SLICES]
    return None if slices > 0 else _Greedy(used, last_led, last)


def _pruned(places: Sequence[KueueDomain], request: PodSetRequest, threshold: int, slices: int) -> _Greedy | None:
    """Take away the domains that hold less than the threshold, and return what a greedy choice then uses."""
    for place in places:
        for child in place.children:
            _prune(child, request, threshold)
    for place in places:
        fill(place, request, request.level, {})
        _prune(place, request, threshold)
    return _greedily(places, slices, request.leaders)


def _prune(place: KueueDomain, request: PodSetRequest, threshold: int) -> None:
    if place.headroom[SLICES] < threshold:
        place.clear()
    elif request.leaders and place.leaders and place.led[SLICES] < threshold:
        place.clear_led()


def _smallest_set(
    places: Sequence[KueueDomain], request: PodSetRequest, slices: int, order: Sequence[KueueDomain]
) -> list[KueueDomain] | None:
    """Return as many domains as the greedy choice uses, with the least room that suffices."""
    greedy = _greedily(places, slices, request.leaders)
    if greedy is None:
        return None
    # reached[n][leaders left][pods left] = the first n domains that lead there
    reached: list[dict[int, dict[int, list[KueueDomain]]]] = [{} for _ in range(greedy.domains + 1)]
    reached[0][request.leaders] = {slices * request.slice_size: []}
    for place in order:
        for number in range(greedy.domains, 0, -1):
            for leaders in sorted(reached[number - 1]):
                for pods in sorted(reached[number - 1][leaders]):
                    if leaders <= 0 and pods <= 0:
                        continue
                    chosen = [*reached[number - 1][leaders][pods], place]
                    if leaders > 0 and place.leaders:
                        with_leader = reached[number].setdefault(leaders - place.leaders, {})
                        with_leader.setdefault(pods - place.led[PODS], chosen)
                    if place.headroom[SLICES]:
                        reached[number].setdefault(leaders, {}).setdefault(pods - place.headroom[PODS], chosen)
    ends = reached[greedy.domains].get(0, {})
    left = [pods for pods in ends if pods <= 0]
    return ends[max(left)] if left else None


def _shares(
    found: Sequence[KueueDomain], request: PodSetRequest, slices: int, threshold: int
) -> list[KueueDomain] | None:
    """Give each domain the threshold, and what is left to the first ones."""
    chosen = _smallest_set(found, request, slices, sorted(found, key=lambda place: place.path))
    if chosen is None or slices < len(chosen) * threshold:
        return None
    extra, leaders = slices - len(chosen) * threshold, request.leaders
    order = by_led(chosen, least=False)
    for place in order:
        if leaders > 0:
            more = min(place.led[SLICES] - threshold, extra)
            place.leaders, leaders = 1, leaders - 1
        else:
            more = min(place.headroom[SLICES] - threshold, extra) if extra > 0 else 0
            place.leaders = 0
        share = threshold + more
        place.headroom[:] = [share * request.slice_size, share]
        place.led[:] = [share * request.slice_size - place.leaders, share]
        extra -= more
    return None if extra > 0 or leaders > 0 else order


def _by_entropy(place: KueueDomain) -> tuple[int, int, float, tuple[str, ...]]:
    total = sum(child.headroom[PODS] for child in place.children)
    parts = [child.headroom[PODS] / total for child in place.children if child.headroom[PODS]] if total else []
    return (-place.leaders, -place.led[SLICES], sum(part * log2(part) for part in parts), place.path)
