"""The best plan for a small fleet, and the goal `damage`, by trying everything: no solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from brute_force import COUNTED, BruteForce, Claims, TooLarge, by_name, may_pair
from msgspec.structs import replace
from random_devices import FABRIC

from dra_lab.model.goals import DAMAGE, NODES, UNPLACED
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload

STEPS = 10_000
ENDLESS = 10**9
"""Choices of one pod without a limit; `STEPS` limits pods beside one another."""


class Kept:
    """What pods keep of devices: alone, as shares with their amounts, and who pays counters how often."""

    def __init__(self, alone=frozenset(), shares=(), touched=frozenset(), paid=()) -> None:
        self.alone, self.shares, self.touched, self.paid = alone, Counter(shares), touched, Counter(paid)

    @property
    def key(self):
        return self.alone, frozenset(self.shares.items()), self.touched, frozenset(self.paid.items())

    def plus(self, other: Kept) -> Kept:
        shares, paid = Counter(self.shares), Counter(self.paid)
        shares.update(other.shares)
        paid.update(other.paid)
        return Kept(self.alone | other.alone, shares, self.touched | other.touched, paid)

    def take(self, model: BruteForce, ask, device) -> None:
        if model.shareable(device):
            self.touched |= {device}
            for key, amount in model.uses(ask, device).items():
                self.shares[device, key] += amount
        else:
            # One pod keeps a device, and each further pod that takes it pays for it.
            self.alone |= {device}
            self.paid[device] += 1

    def far(self) -> Kept:
        """Return the part that is of devices which several nodes may see."""
        return Kept(
            frozenset(d for d in self.alone if d.pool == FABRIC),
            {key: amount for key, amount in self.shares.items() if key[0].pool == FABRIC},
            frozenset(d for d in self.touched if d.pool == FABRIC),
            {d: times for d, times in self.paid.items() if d.pool == FABRIC},
        )


NOTHING = Kept().key


class Way:
    """One allocation for one pod: what it keeps, what it looks into (admin access), what it is worth."""

    def __init__(self, model: BruteForce, picked, order: tuple[str, ...]) -> None:
        values = model.goals(picked)
        self.value = tuple(values[goal] for goal in order)
        self.kept, self.seen = Kept(), Kept()
        for _, ask, taken in picked:
            for device in taken:
                (self.seen if ask.admin_access else self.kept).take(model, ask, device)
        self.key = (self.kept.key, self.seen.key)


def ways_of(model: BruteForce, order: tuple[str, ...]) -> list[Way]:
    """Return the ways to place a pod on a node, of those that take the same the best."""
    best: dict = {}
    for _, picked in model.found:
        way = Way(model, picked, order)
        if way.key not in best or way.value < best[way.key].value:
            best[way.key] = way
    return list(best.values())


class Stock:
    """What is left of capacity and counters of every device of a cluster, for all nodes that see it."""

    def __init__(self, models: list[BruteForce]) -> None:
        self.held, self.books = models[0].held, models[0].books
        self.amounts_left = {device: model.amounts_left(device) for model in models for device in model.devices}

    def lasts_for(self, kept: Kept) -> bool:
        if any(amount > self.amounts_left[device][key] for (device, key), amount in kept.shares.items()):
            return False
        payers = [*kept.paid.elements(), *(d for d in kept.touched if d not in self.held.shares)]
        return self.books.last_for(payers)


class NodeOfFleet:
    """The least values of every combination of pods on one node, for each use of devices that others see."""

    def __init__(self, ways: list[list[Way]], replicas: list[int], goals: int, stock: Stock, steps: int) -> None:
        self.ways, self.replicas, self.stock, self.steps = ways, replicas, stock, steps
        self.best: dict = {}
        self._extend([], Kept(), [0] * len(ways), 0, 0, (0,) * goals)

    def _extend(self, pods, kept, counts, workload, first, value) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TooLarge
        far, looks = kept.far(), [pod.seen.far() for pod in pods if pod.seen.far().key != NOTHING]
        key = (tuple(counts), far.key, frozenset(look.key for look in looks))
        if key not in self.best or value < self.best[key][0]:
            self.best[key] = (value, far, looks)
        for w in range(workload, len(self.ways)):
            for at in range(first if w == workload else 0, len(self.ways[w]) if counts[w] < self.replicas[w] else 0):
                way = self.ways[w][at]
                if way.kept.alone & kept.alone:
                    continue
                following, others = kept.plus(way.kept), [*pods, way]
                # Each pod has room for what it looks into beside what all keep, in whichever order they come.
                if all(self.stock.lasts_for(following.plus(pod.seen)) for pod in others):
                    counts[w] += 1
                    summed = tuple(a + b for a, b in zip(value, way.value, strict=True))
                    self._extend(others, following, counts, w, at, summed)
                    counts[w] -= 1


def nodes_of(
    cluster, pods: Sequence[Claims], replicas, goals, release, **options
) -> tuple[Stock | None, list[NodeOfFleet]]:
    """Return what is left of a cluster's devices, and each of its nodes with every combination of pods on it."""
    pairs = [may_pair(cluster, claims, release) for claims in pods]
    models = [
        [
            BruteForce(cluster, claims, node, release, paired=pair, **options)
            for claims, pair in zip(pods, pairs, strict=True)
        ]
        for node in cluster.node_names
    ]
    if not models:
        return None, []
    stock = Stock([model for row in models for model in row])
    ways = [[ways_of(model, goals) for model in row] for row in models]
    return stock, [NodeOfFleet(each, replicas, len(goals), stock, STEPS) for each in ways]


def claims_of(workload: Workload) -> dict[str, ClaimSketch]:
    """Return the claims of a workload's pods by name."""
    return {claim.name: claim for claim in workload.claims}


def most_alone(cluster, workload: Workload, release, replicas: int) -> int:
    """Return how many pods fit over all nodes, of which no two share devices, with at most `replicas` on each."""
    _, nodes = nodes_of(cluster, [claims_of(workload)], [replicas], (), release, most=ENDLESS)
    return sum(max(counts[0] for (counts, *_) in node.best) for node in nodes)


def best_fleet(cluster, workloads: Sequence[Workload], order, release, *, all_placed=False):
    """Return the least values of all goals in `order` for workloads; see `best_of_pods`."""
    pods, replicas = [claims_of(one) for one in workloads], [one.replicas for one in workloads]
    return best_of_pods(cluster, pods, replicas, order, release, all_placed=all_placed, most=ENDLESS)


def best_of_pods(cluster, pods: Sequence[Claims], replicas, order, release, *, all_placed=False, **options):
    """Return the least values of all goals in `order`, None if no plan places anything (or all, with `all_placed`)."""
    device = tuple(goal for goal in order if goal not in (UNPLACED, NODES))
    stock, nodes = nodes_of(cluster, pods, replicas, device, release, **options)
    # Node by node: of equal numbers of pods and nodes so far only the best values can lead to the best plan.
    reached: dict = {((0,) * len(pods), 0, NOTHING, frozenset()): ((0,) * len(device), Kept(), [])}
    for node in nodes:
        following: dict = {}
        if len(reached) * len(node.best) > 10 * STEPS:
            raise TooLarge
        for ((counts, used, *_), (value, far, looks)), ((more, *_), (added, farther, further)) in product(
            reached.items(), node.best.items()
        ):
            summed = tuple(a + b for a, b in zip(counts, more, strict=True))
            if any(have > want for have, want in zip(summed, replicas, strict=True)) or far.alone & farther.alone:
                continue
            both, every = far.plus(farther), [*looks, *further]
            if both.key != NOTHING and not all(stock.lasts_for(both.plus(look)) for look in [Kept(), *every]):
                continue
            new = (summed, used + any(more), both.key, frozenset(look.key for look in every))
            total = tuple(a + b for a, b in zip(value, added, strict=True))
            if new not in following or total < following[new][0]:
                following[new] = (total, both, every)
        reached = following
    plans = []
    for (counts, used, *_), (value, *_) in reached.items():
        values = dict(zip(device, value, strict=True)) | {UNPLACED: sum(replicas) - sum(counts), NODES: used}
        if any(counts) and not (all_placed and values[UNPLACED]):
            plans.append(tuple(values[goal] for goal in order))
    return min(plans, default=None)


class Damage:
    """How many further pods of the same claims fit on a node beside one, every preferred link of theirs kept."""

    def __init__(self, model: BruteForce, claims: Claims, most: int = STEPS // 10) -> None:
        self.model, self.stock, self.limit = model, Stock([model]), most
        strict = {
            name: replace(sketch, links=tuple(replace(link, must=True) for link in sketch.links))
            for name, sketch in by_name(claims).items()
        }
        others = BruteForce(model.cluster, strict, model.node, model.release, paired=False, most=model.most)
        self.ways = [way.kept for way in ways_of(others, ())]
        self.counted: dict = {}
        self.endless = any(not way.alone and not any(way.shares.values()) for way in self.ways)

    def most(self, kept: Kept) -> int:
        """Return how many pods fit beside what is kept."""
        if kept.key not in self.counted:
            if len(self.counted) > self.limit:
                raise TooLarge
            grown = (kept.plus(way) for way in self.ways if not way.alone & kept.alone)
            self.counted[kept.key] = max(
                (1 + self.most(both) for both in grown if self.stock.lasts_for(both)), default=0
            )
        return self.counted[kept.key]

    def values_in(self, order) -> tuple[int, ...] | None:
        """Return the least values of all goals in an order, `damage` where it stands in it."""
        if self.endless:
            raise TooLarge
        head = tuple(goal for goal in order[: order.index(DAMAGE)])
        least, values = self.model.values_in(head), []
        for values_before, picked in self.model.found:
            if tuple(values_before[goal] for goal in head) == least:
                lost = self.most(Kept()) - self.most(Way(self.model, picked, ()).kept)
                values.append(tuple({**values_before, DAMAGE: lost}[goal] for goal in order))
        return min(values, default=None)


def counted(goals) -> tuple[int, ...]:
    """Return the values of the goals that are tried here."""
    return tuple(goal.value for goal in goals if goal.goal in COUNTED)


def proven(plan) -> bool:
    """Say whether the goals that are tried here are proven, or the misfit is."""
    if not plan.fits:
        return plan.status is PlanStatus.INFEASIBLE
    return all(goal.proven for goal in plan.goals if goal.goal in COUNTED)


def hold_to(expected: tuple[int, ...] | None, plan: Plan, seed: str) -> bool:
    """Hold a plan to the values that trying everything found (None: no plan); say whether it is as good.

    What is proven is equal, and no bound is above what exists.
    """
    found = tuple(goal.value for goal in plan.goals) if plan.pods else None
    assert expected is None or plan.status is not PlanStatus.INFEASIBLE, f"seed {seed}"
    assert found is None or (expected is not None and found >= expected), f"seed {seed}: {found}, not {expected}"
    for at, goal in enumerate(plan.goals if expected is not None else ()):
        same = found is not None and found[:at] == expected[:at]
        assert not same or goal.bound is None or goal.bound <= expected[at], f"seed {seed}: {goal}"
        if not goal.proven:
            break
        assert found is not None, f"seed {seed}"
        assert found[: at + 1] == expected[: at + 1], f"seed {seed}: {found}, not {expected}"
    return found == expected
