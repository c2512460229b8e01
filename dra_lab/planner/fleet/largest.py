"""The largest job of a claim that still fits: how far its counts can be multiplied for one pod on one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.claims import ALL, CapacityRequirements, RequestPart
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import LargestJob
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import QuantityText, format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, Ask, ClaimSketch, asks
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.headroom import headroom_of_claim, pods_on
from dra_lab.planner.fleet.question import FleetQuestion, Work, look_at

_NO_LIMIT = 10**9


def largest(
    cluster: Cluster,
    workload: Workload,
    scale: Sequence[str],
    release: KubernetesRelease,
    budget: Budget,
    solver: str,
) -> LargestJob:
    """Return the largest multiple of the claim of a workload; see `largest_job`."""
    (claim,) = workload.claims
    names = [request.name for request in claim.requests]
    _check_scale(names, scale)
    # Half of the time: how many fit as drawn is the lesser question.
    headroom = headroom_of_claim(cluster, workload, release, budget.part(budget.shares.step), solver)
    found = LargestJob(claim.name, 0, 0, headroom.count)
    top = _most_multiple(cluster, claim, tuple(scale) or tuple(names))
    search = _Search(cluster, claim, tuple(scale), release, budget, solver)
    # First a good one soon, in steps that double; then downwards, so that none is passed over.
    times = 1
    while times <= top and search.fits(times):
        times *= 2
    for times in range(top, search.best, -1):
        if search.fits(times):
            break
    found = changed(found, scale=search.best, node=search.node, sketch=search.sketch)
    return changed(found, scale_bound=max(found.scale, search.open_at))


@dataclass
class _Search:
    """The multiples that were tried: the `best` that fits, its `node` and `sketch`, and the largest left open."""

    cluster: Cluster
    claim: ClaimSketch
    scale: tuple[str, ...]
    release: KubernetesRelease
    budget: Budget
    solver: str
    best: int = 0
    node: str = ""
    sketch: ClaimSketch | None = None
    open_at: int = 0
    _tried: dict[int, bool] = field(default_factory=dict)

    def fits(self, times: int) -> bool:
        """Say whether a multiple was found to fit on some node."""
        if times in self._tried:
            return self._tried[times]
        node, decided = "", False
        if not self.budget.reached:
            self.budget.report_step("scale", f"trying {times} times the claim", self.best)
            scaled = multiple(self.claim, times, self.scale)
            node, decided = self._node_for(scaled)
            if node and times > self.best:
                self.best, self.node, self.sketch = times, node, scaled
        if not node and not decided:
            self.open_at = max(self.open_at, times)
        self._tried[times] = bool(node)
        return bool(node)

    def _node_for(self, claim: ClaimSketch) -> tuple[str, bool]:
        """Return a node that holds one pod with a claim, "" where none was found; and whether that is proven."""
        # The solver takes half a second to import; only who asks waits for it.
        from dra_lab.planner.fleet.search import search

        fleet = look_at(self.cluster, [Workload(claim.name, (claim,), replicas=1)], self.release, self.budget)
        found = search(Work(FleetQuestion(fleet, (UNPLACED,)), self.budget, self.solver))
        nodes = pods_on(found.by_node)
        return min(nodes, default=""), bool(nodes) or any(goal.proven for goal in found.answer.goals)


def multiple(claim: ClaimSketch, times: int, scale: Sequence[str] = ()) -> ClaimSketch:
    """Return a claim with the counts and capacities of some requests, or of all, multiplied.

    A request for one device with amounts of capacity gets more capacity, any other more devices. A request for all
    devices stays as it is.

    Args:
        claim: The claim to multiply.
        times: The factor, from 1.
        scale: The names of the requests to multiply; default: all.

    Returns:
        A new claim; the links and the configuration are the same.

    Raises:
        InputError: `times` is no whole number from 1, or `scale` names no request.

    Example:
        >>> from dra_lab import read_sketch
        >>> from dra_lab.planner.fleet import multiple
        >>> multiple(read_sketch("sample:two-sockets/lesson"), 3).request("gpu").exactly.count
        6
    """
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise InputError(f"times must be a whole number, 1 or more, not {times!r}")
    names = [request.name for request in claim.requests]
    _check_scale(names, scale)
    chosen = set(scale or names)
    requests = (
        request.with_parts(lambda _, part: _part_times(part, times)) if request.name in chosen else request
        for request in claim.requests
    )
    return changed(claim, requests=tuple(requests))


def _check_scale(names: Sequence[str], scale: Sequence[str]) -> None:
    for name in scale:
        if name not in names:
            raise InputError(f"there is no request {name!r} to scale; requests: {', '.join(names)}")


def _part_times(part: RequestPart, times: int) -> RequestPart:
    """Multiply one way to ask: the capacity of a request for one shared device, else the count."""
    if part.allocation_mode == ALL:
        return part
    amounts = part.capacity.requests if part.capacity is not None else {}
    if amounts and (part.count or 1) == 1:
        more: dict[str, QuantityText] = {k: format_quantity(parse_quantity(v) * times) for k, v in amounts.items()}
        return changed(part, capacity=CapacityRequirements(requests=more))
    return changed(part, count=(part.count or 1) * times)


def _most_multiple(cluster: Cluster, claim: ClaimSketch, names: Sequence[str]) -> int:
    """Return a multiple that cannot be exceeded, by the 32 devices of a claim and by what is left of capacities.

    1 where nothing that grows with the multiple ends it.
    """
    devices, fixed = 0, 0
    bounds: list[int] = []
    for request in claim.requests:
        ways = asks(request)
        grows = request.name in names and not any(ask.all_devices or _by_capacity(ask) for ask in ways)
        devices += min(ask.count for ask in ways) if grows else 0
        fixed += 0 if grows else 1
        if request.name in names and not any(ask.all_devices for ask in ways):
            bounds.append(max(_most_of(cluster, ask) for ask in ways))
    if devices:
        bounds.append((MAX_DEVICES - fixed) // devices)
    most = min(bounds, default=_NO_LIMIT)
    return 1 if most >= _NO_LIMIT else max(1, most)


def _most_of(cluster: Cluster, ask: Ask) -> int:
    """Return a multiple of one way to ask that cannot be exceeded."""
    if not _by_capacity(ask):
        return MAX_DEVICES // ask.count
    amounts = [(key, parse_quantity(value)) for key, value in ask.capacity.items()]
    return min((int(_most_left(cluster, key) // amount) for key, amount in amounts if amount > 0), default=_NO_LIMIT)


def _by_capacity(ask: Ask) -> bool:
    return bool(ask.capacity) and ask.count == 1 and not ask.all_devices


def _most_left(cluster: Cluster, key: str) -> Fraction:
    """Return the most of a capacity that is left on any node, on all its devices together."""
    consumed = cluster.allocated.consumed
    left: dict[str, Fraction | int] = {}
    # Devices have few different amounts, and fractions are slow.
    rests: dict[tuple[object, int, int], Fraction | int] = {}
    for spec in (published.spec for published in cluster.slices):
        names = {key, f"{spec.driver}/{key}", key.removeprefix(f"{spec.driver}/")}  # as in 1.38: it is a bound
        for device, name in [(one, name) for one in spec.devices or () for name in names if name in one.capacity]:
            held_of = consumed.get(DeviceID(spec.driver, spec.pool.name, device.name))
            taken = held_of.get(name, 0) if held_of else 0
            of = device.capacity[name].value, taken.numerator, taken.denominator
            if of not in rests:
                rest = max(Fraction(), parse_quantity(of[0]) - taken)
                rests[of] = rest.numerator if rest.denominator == 1 else rest
            left[spec.node_name or ""] = left.get(spec.node_name or "", 0) + rests[of]
    everywhere = left.pop("", 0)
    return Fraction(max(left.values(), default=0) + everywhere)
