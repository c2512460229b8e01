"""The fewest units of running pods that leave so that pods fit: cheap candidates, then a proof by exhaustion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.goals import UNPLACED
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running_pods import Unit
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.planner.arguments import hierarchy_of
from dra_lab.planner.budget import Budget
from dra_lab.planner.demand import (
    AdmittingNodes,
    Demand,
    Placed,
    demands_of,
    place_units,
    places_of,
    plan_on,
    take,
)
from dra_lab.planner.fleet.after import cluster_after
from dra_lab.planner.room_costs import RoomCosts, pods_in, without_units
from dra_lab.topology.hierarchies import hierarchies as levels_of

_AT_ONCE = 64
"""Pods for which room is looked for at once."""

EXHAUSTED = 24
"""With more units the fewest moves are not proven by exhaustion."""


@dataclass(frozen=True)
class Attempt:
    """What comes of it if some units leave.

    `placed` is where the units go, with a cluster that has them there. `missing` are the pods without a place, as
    workloads, and `base` is a cluster that has all the others. `never` says that it is proven not to work.
    """

    units: frozenset[Unit]
    demands: tuple[Demand, ...]
    placed: Placed
    missing: tuple[Workload, ...] = ()
    base: Cluster | None = None
    never: bool = False

    @property
    def cost(self) -> tuple[int, int]:
        """Return the pods that move, and their devices."""
        return pods_in([*self.units]), sum(len(unit.devices) for unit in self.units)


class RoomSearch:
    """The fewest units that leave: cheap candidates first, then a bound by exhaustion while there is time."""

    def __init__(
        self,
        cluster: Cluster,
        admission: AdmittingNodes,
        workloads: Sequence[Workload],
        units: Sequence[Unit],
        allowed: Mapping[str, int],
        release: KubernetesRelease,
        budget: Budget,
        solver: str,
        *,
        sure: bool,
    ) -> None:
        """Begin without an attempt; `sure` says that no unit waits for the CPUs or memory of one that may leave."""
        self.cluster = admission.cluster.with_objects(claims=cluster.claims)
        self.admission, self.units, self.release = admission, tuple(units), release
        self._allowed, self._budget, self._solver, self._sure = allowed, budget, solver, sure
        self._known: dict[frozenset[Unit], Attempt] = {}
        self._coming_back: dict[Unit, bool] = {}
        self.workloads = tuple(workloads)
        self.bound = 0
        self.none_works = False

    def best(self) -> Attempt | None:
        """Return the best attempt that works, None if there is none; `bound` is then the least that could work.

        `none_works` says that it is proven that no units make room.
        """
        most = self._most()
        while any(workload.replicas for workload in most):
            self.workloads, self.bound, self._known = most, 0, {}
            found = self._cheap()
            if len(self.units) <= EXHAUSTED:
                found = self._exhausted(found)
            else:
                self.none_works = False
            if found is not None or self._budget.reached:
                self.none_works = False
                return found
            most = _one_less(most)
        return None

    def _most(self) -> tuple[Workload, ...]:
        """Return the workloads with as many replicas as fit if every movable unit leaves and none comes back."""
        empty = without_units(self.cluster, self.units)
        plan = self._plan(empty, self.workloads)
        self.none_works = _is_proven(plan)
        return tuple(replace(one, replicas=plan.placed[one.name]) for one in self.workloads)

    def _common(self) -> dict[str, Any]:
        return {"time_limit": self._budget.left, "cancel": self._budget.cancel, "solver": self._solver}

    # ------------------------------------------------------------ what comes of it if units leave

    def attempt(self, units: Iterable[Unit]) -> Attempt:
        """Return what comes of it if units leave: all pods have a place, or some are missing."""
        chosen = frozenset(units)
        if chosen not in self._known:
            self._known[chosen] = self._attempt(chosen)
        return self._known[chosen]

    def _attempt(self, chosen: frozenset[Unit]) -> Attempt:
        rest = without_units(self.cluster, [*chosen])
        demands = demands_of([unit for unit in self.units if unit in chosen], self.admission)
        bound_to = [demand for demand in demands if demand.is_bound(rest)]
        found = self._placed(chosen, rest, demands, bound_to)
        if found.missing and bound_to and not found.never:
            other = self._placed(chosen, rest, demands, bound_to, first=True)
            return found if other.missing else other
        return found

    def _placed(
        self,
        chosen: frozenset[Unit],
        rest: Cluster,
        demands: tuple[Demand, ...],
        bound_to: Sequence[Demand],
        *,
        first: bool = False,
    ) -> Attempt:
        """Return an attempt in which units that only some nodes admit are placed first, or last."""
        wanted = [workload for workload in self.workloads if workload.replicas]
        together = [demand for demand in demands if demand not in bound_to]
        placed = place_units(rest, bound_to, self.release, **self._common()) if first else Placed(rest)
        plan = self._plan(placed.cluster, [*wanted, *(demand.workload for demand in together)])
        short = _short(plan, wanted)
        if short:
            base = cluster_after(placed.cluster, _only(plan, wanted), self.release)
            return Attempt(chosen, demands, placed, short, base, _is_proven(plan) and not first)
        take(placed, _only(plan, [one.workload for one in together]), together)
        base = cluster_after(placed.cluster, _only(plan, wanted), self.release)
        if not first and not placed.why:
            more = place_units(base, bound_to, self.release, **self._common())
            placed.why, base = more.why, more.cluster
            placed.pods |= more.pods
            placed.shared |= more.shared
            claims = [c for demand in bound_to for s in demand.shapes if s.unit in more.pods for c in _claims(s, more)]
            placed.cluster = placed.cluster.with_objects(claims=(*placed.cluster.claims, *claims))
        missing = tuple(
            replace(demand.workload, replicas=gone)
            for demand in demands
            if (gone := sum(shape.unit in placed.why for shape in demand.shapes))
        )
        return Attempt(chosen, demands, placed, missing, base, bool(missing) and not first and _is_proven(plan))

    def _plan(self, cluster: Cluster, workloads: Sequence[Workload]) -> Plan:
        return plan_on(cluster, cluster.open_nodes, workloads, self.release, self._common())

    def _within_budgets(self, units: Iterable[Unit]) -> bool:
        taken: dict[str, int] = {}
        for unit in units:
            for name, count in unit.budgets.items():
                taken[name] = taken.get(name, 0) + count
        return all(count <= self._allowed[name] for name, count in taken.items())

    # ------------------------------------------------------------ cheap candidates

    def _cheap(self) -> Attempt | None:
        """Return an attempt that works: room where it costs least, then room for the pods that left, and so on."""
        chosen: frozenset[Unit] = frozenset()
        found: Attempt | None = None
        while not self._budget.reached:
            now = self.attempt(chosen)
            if not now.missing:
                found = now
                break
            if chosen or now.base is None:
                base = now.base if now.base is not None else self.cluster
                _, more = self._room(base, now.missing[0], [unit for unit in self.units if unit not in chosen])
            else:
                # the bound holds for all replicas on the cluster as it is
                whole = next(one for one in self.workloads if one.name == now.missing[0].name)
                cost, more = self._room(self.cluster, whole, self.units)
                self.bound = max(self.bound, int(cost) if cost < inf else 0, int(now.never))
            if not more or not self._within_budgets((*chosen, *more)):
                break
            chosen |= frozenset(more)
        return self._fewer(found) if found is not None else None

    def _room(self, cluster: Cluster, workload: Workload, units: Sequence[Unit]) -> tuple[float, Sequence[Unit]]:
        """Return a bound of the pods that must leave for replicas of a workload, and units that do if it is known."""
        group = max(workload.pods, key=lambda one: one.least)
        if workload.every_shared_claim or not group.claims:
            return 0.0, units[:1]
        # a replica starts with the least pods of each group
        one, wanted = Workload(workload.name, group.claims), min(workload.replicas * group.least, _AT_ONCE)
        domains = [*_domains(cluster, workload)]
        if workload.is_gang and workload.level:
            wanted = min(group.least, _AT_ONCE)
        budget = self._budget.part(self._budget.shares.first)
        costs = RoomCosts(cluster, one, units, self.release, budget, self._solver, wanted)
        # a device that several nodes see may be held by a pod of another node, which is not counted here
        complete = len(costs.nodes) == len(cluster.open_nodes) and not cluster.network_slices
        bounds = sorted((costs.cheapest(nodes, wanted)[0], number) for number, nodes in enumerate(domains))
        least, best = inf, None
        for bound, number in bounds:
            if bound >= least or bound == inf:
                break
            cost, more = costs.cheapest_exact(domains[number], wanted)
            if more is None and cost < least:
                least = min(least, cost)
            elif more is not None and (cost < least or best is None):
                least, best = min(least, cost), more
        return (least if complete else 0.0), best or ()

    def _fewer(self, found: Attempt) -> Attempt:
        """Return an attempt without units that need not leave."""
        for unit in sorted(found.units, key=lambda one: (-len(one.pods), -len(one.devices))):
            if self._budget.reached or found.cost[0] <= self.bound:
                break
            fewer = self.attempt(found.units - {unit})
            found = found if fewer.missing else fewer
        return found

    # ------------------------------------------------------------ exhaustion

    def _exhausted(self, found: Attempt | None) -> Attempt | None:
        """Return the cheapest attempt, proven by exhaustion: each failure says that some unit outside of it must leave.

        What works with some units works with more of them, because a unit may come back to its own devices. So one
        unit outside of each largest set that is proven not to work must leave. The cheapest units that meet all of
        these conditions are tried next, and their pods are a bound.
        """
        sets: list[frozenset[Unit]] = []
        sure = self._sure
        while not self._budget.reached:
            chosen = self._cheapest_hitting(sets, found)
            if chosen is None:
                if found is not None and sure:
                    self.bound = found.cost[0]
                self.none_works = self.none_works and sure
                return found
            if sure:
                self.bound = max(self.bound, pods_in([*chosen]))
            now = self.attempt(chosen)
            if not now.missing:
                return now
            sure = sure and now.never and all(map(self._comes_back, chosen))
            sets.append(frozenset(self.units) - (self._largest(chosen) if sure else chosen))
        self.none_works = False
        return found

    def _comes_back(self, unit: Unit) -> bool:
        """Say whether a unit could get its devices again: not if its node is closed or one of them is tainted."""
        if unit not in self._coming_back:
            slices = tuple(
                changed(s, spec=changed(s.spec, devices=tuple(d for d in s.spec.devices if _id(s, d) in unit.devices)))
                if s.spec.devices
                else s
                for s in self.cluster.slices
            )
            rest = without_units(self.cluster, [unit]).with_objects(slices=slices)
            placed = place_units(rest, demands_of([unit], self.admission), self.release, **self._common())
            self._coming_back[unit] = unit in placed.pods
        return self._coming_back[unit]

    def _largest(self, failing: frozenset[Unit]) -> frozenset[Unit]:
        """Return a set of units around one that fails which is proven to fail, too."""
        for unit in self.units:
            if unit not in failing and not self._budget.reached and self._comes_back(unit):
                more = self.attempt(failing | {unit})
                if more.missing and more.never:
                    failing |= {unit}
        return failing

    def _cheapest_hitting(self, sets: Sequence[frozenset[Unit]], found: Attempt | None) -> frozenset[Unit] | None:
        """Return the cheapest units that meet every set within the budgets, None if none is cheaper than `found`."""
        order = {unit: number for number, unit in enumerate(self.units)}
        best: list[tuple[tuple[int, int], frozenset[Unit]]] = []
        limit = found.cost if found is not None else (len(self.units) + pods_in(self.units) + 1, 0)

        def search(chosen: frozenset[Unit], without: frozenset[Unit], cost: tuple[int, int]) -> None:
            if cost >= (best[-1][0] if best else limit) or not self._within_budgets(chosen):
                return
            open_ = next((one for one in sets if not one & chosen), None)
            if open_ is None:
                best.append((cost, chosen))
                return
            for unit in sorted(open_ - without, key=order.__getitem__):
                more = (cost[0] + len(unit.pods), cost[1] + len(unit.devices))
                search(chosen | {unit}, without, more)
                without |= {unit}

        search(frozenset(), frozenset(), (0, 0))
        return best[-1][1] if best else None


def _is_proven(plan: Plan) -> bool:
    """Say whether it is proven that some pod has no place."""
    goal = next((one for one in plan.goals if one.goal.partition(" ")[0] == UNPLACED), None)
    return plan.status is PlanStatus.INFEASIBLE or (goal is not None and bool(goal.bound))


def _id(slice_: ResourceSlice, device: Device) -> DeviceID:
    return DeviceID(slice_.spec.driver, slice_.spec.pool.name, device.name)


def _one_less(workloads: Sequence[Workload]) -> tuple[Workload, ...]:
    """Return workloads with one replica less, of the last one that has any."""
    last = max(number for number, one in enumerate(workloads) if one.replicas)
    return tuple(replace(one, replicas=one.replicas - (number == last)) for number, one in enumerate(workloads))


def _short(plan: Plan, wanted: Sequence[Workload]) -> tuple[Workload, ...]:
    """Return workloads with the replicas that a plan does not place."""
    placed = plan.placed
    return tuple(
        replace(one, replicas=one.replicas - placed[one.name]) for one in wanted if placed[one.name] < one.replicas
    )


def _only(plan: Plan, workloads: Sequence[Workload]) -> Plan:
    """Return a plan with the pods of some of its workloads."""
    names = {workload.name for workload in workloads}
    return replace(
        plan.with_workloads(one for one in plan.workloads if one.name in names),
        pods=tuple(pod for pod in plan.pods if pod.workload in names),
        shared=tuple(claim for claim in plan.shared if claim.workload in names),
    )


def _claims(shape: Any, placed: Placed) -> Iterator[Any]:
    names = {claim.metadata.name for _, _, own in places_of(shape, placed) for claim, _ in own}
    return (claim for claim in placed.cluster.claims if claim.metadata.name in names)


def _domains(cluster: Cluster, workload: Workload) -> Iterator[list[str]]:
    """Yield the nodes of each domain that can have a replica of a workload."""
    nodes = sorted(cluster.open_nodes)
    if not workload.level:
        yield nodes
    elif workload.level in HOSTS:
        yield from ([node] for node in nodes)
    else:
        tree = hierarchy_of(workload, levels_of(cluster))
        found: dict[tuple[str, ...], list[str]] = {}
        depth = tree.level_index(workload.level) + 1 if tree is not None else 0
        for node in nodes:
            path = tree.path_of(node) if tree is not None else ()
            if len(path) >= depth:
                found.setdefault(path[:depth], []).append(node)
        yield from found.values()
