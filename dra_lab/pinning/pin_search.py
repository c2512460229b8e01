"""The search for pins: each is tried on the copy of kube-scheduler, and those that are not needed are removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dra_lab.model.cluster import Cluster
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.pin_budget import SEEDS_TO_COMPARE, TO_TRY_PINS, PinBudget
from dra_lab.pinning.pin_options import PinKind, PinnedClaims, PinOption, pin_options
from dra_lab.pinning.place_selectors import affinity_words, node_requirements
from dra_lab.pinning.plan_replay import Replay, planned_values, replay_manifests
from dra_lab.pinning.pod_kinds import PlannedReplica, PodKind, names_of, planned_of, pod_kind, sketches_of
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation

Pins = tuple[PinOption, ...]


class PinSearch:
    """Searches pins for the drawings of a plan (`base`); every set of pins is run once."""

    def __init__(
        self,
        cluster: Cluster,
        plan: Plan,
        release: KubernetesRelease,
        expected: Sequence[PlannedReplica],
        budget: PinBudget,
    ) -> None:
        """Take what is planned, and the time for finding, running and pricing pins."""
        self._cluster, self._plan, self._release = cluster, plan, release
        self._expected, self._budget = expected, budget
        self._trying = budget.part(TO_TRY_PINS)
        self._order = tuple(goal.goal for goal in expected[0].goals) if expected else ()
        self._runs: dict[tuple[bytes, int | None], Replay] = {}
        self._pods: dict[tuple[int, bytes], PodKind] = {}
        drawn = sketches_of(plan)
        self.base = PinnedClaims(drawn, tuple(() for _ in drawn), tuple(tuple({} for _ in own) for own in drawn))

    def with_pins(self, pins: Iterable[PinOption]) -> PinnedClaims:
        """Return the claims with pins."""
        claims = self.base
        for pin in pins:
            claims = pin.add_to(claims)
        return claims

    def run(self, pins: Pins, seeds: int | None = None) -> Replay:
        """Run all replicas with pins; what was run completely is not run again."""
        claims, seeds = self.with_pins(pins), SEEDS_TO_COMPARE if seeds is None else seeds
        key = msgspec.json.encode((claims.sketches, claims.affinities))
        found = self._runs.get((key, seeds))
        if found is None:
            found = replay_manifests(self._simulation(claims), self._expected, seeds=seeds)
            if not found.not_run:
                self._runs[key, seeds] = found
        return found

    def find(self, before: Replay) -> Pins:
        """Return the fewest pins found that serve every replica as planned, given the run without pins.

        Without such pins: those that place the most pods, and of these those that serve the most as planned.
        """
        self._chosen: Pins = ()
        self._best = before
        attempts = self._attempts()
        while not (self._over or self._best.as_planned) and (attempt := next(attempts, None)) is not None:
            chosen, best = self._add(*attempt)
            if best.rank > self._best.rank:
                self._chosen, self._best = chosen, best
        return self._fewest()

    def price_of(self, pins: Pins, workload: int = 0) -> str:
        """Return what pins cost: the nodes that could serve the claim with nothing in use, and no longer can."""
        before, after = (self._fitting(claims, workload) for claims in (self.base, self.with_pins(pins)))
        lost = sorted(before - after)
        if not lost:
            return f"it still fits on all {len(before)} nodes that could serve it"
        some = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        return f"it no longer fits on {len(lost)} of {len(before)} nodes: {some}"

    def _attempts(self) -> Iterator[tuple[Pins, Iterable[PinOption]]]:
        """Yield pins to begin with, and those that may be added to them.

        Rules of the claim come first, then requirements on nodes, then selectors that name places. All that the claim
        may say without harm follows, for a selector may need it; then the devices of each replica, and the planned
        nodes alone.
        """
        found: dict[PinOption, None] = {}
        for planned in planned_of(self._plan):
            sketch = self.base.sketches[planned.workload][planned.claim]
            found |= dict.fromkeys(pin_options(self._cluster, self._release, sketch, planned))
        every = tuple(found)
        weak = tuple(option for option in every if option.kind is PinKind.CLAIM)
        strong = tuple(option for option in every if option.kind is not PinKind.CLAIM)
        yield (), weak
        yield self._on_good_nodes(), ()
        yield self._chosen, strong
        whole = self._harmless(self._chosen, weak)
        yield whole, (option for option in strong if option not in whole)
        yield self._on_good_nodes(), ()
        nodes = tuple(self._planned_nodes())
        for option in (option for option in strong if option.kind is PinKind.REPLICAS):
            yield (option,), ()
            yield (*nodes, option), ()
        exact = tuple(option for option in strong if option.kind is PinKind.EXACT)
        kept = tuple(pin for pin in self._chosen if pin.kind is not PinKind.NODES)
        harmless = self._harmless((), weak)
        for start in ((*kept, *nodes), nodes, (*nodes, *exact), (*harmless, *nodes, *exact)):
            yield start, (option for option in every if option not in start)

    def _add(self, chosen: Pins, options: Iterable[PinOption]) -> tuple[Pins, Replay]:
        """Add the pins that help, each by itself; then those that only help together with others."""
        best = self._best if chosen == self._chosen else self.run(chosen)
        rest = []
        for option in options:
            if self._over or best.as_planned:
                return chosen, best
            trial = self.run((*chosen, option))
            if trial.rank > best.rank:
                chosen, best = (*chosen, option), trial
            else:
                rest.append(option)
        together, found = chosen, best
        for option in rest:
            if self._over or found.as_planned:
                break
            trial = self.run((*together, option))
            if trial.rank >= found.rank:
                together, found = (*together, option), trial
        return (together, found) if found.rank > best.rank else (chosen, best)

    def _harmless(self, pins: Pins, options: Iterable[PinOption]) -> Pins:
        """Return pins with all further ones that cost no replica."""
        best = self._best if pins == self._chosen else self.run(pins)
        for option in options:
            if self._over:
                break
            if option not in pins and self.run((*pins, option)).rank >= best.rank:
                pins = (*pins, option)
        return pins

    def _fewest(self) -> Pins:
        """Return the chosen pins without those that are not needed, the last ones first."""
        chosen, best = self._chosen, self._best
        for pin in reversed(chosen):
            if self._over:
                break
            without = tuple(other for other in chosen if other is not pin)
            trial = self.run(without)
            if trial.rank >= best.rank and trial.as_planned >= best.as_planned:
                chosen = without
        return chosen

    def _planned_nodes(self) -> Iterator[PinOption]:
        """Yield requirements that keep the pods of each workload on its planned nodes."""
        reason = (
            "the plan uses these nodes; on other nodes first fit takes worse devices, or it is not known "
            "whether they are as good"
        )
        for workload, good in {planned.workload: planned.nodes for planned in planned_of(self._plan)}.items():
            bad = sorted(self._cluster.open_nodes.difference(good))
            yield from self._on_nodes(workload, good, bad, reason)

    def _on_good_nodes(self) -> Pins:
        """Return the chosen pins, and what keeps pods on the nodes where first fit takes as good devices as planned."""
        chosen = self._chosen
        if any(pin.kind is PinKind.NODES for pin in chosen):
            return chosen
        simulation = self._simulation(self.with_pins(chosen))
        for workload, pod in enumerate(simulation.pods):
            own = [planned_values(r, pod) for r in self._expected if r.workload == workload and r.planned]
            good, bad = _by_status(simulation, workload, max(own)) if own else ([], [])
            reason = f"on {len(bad)} other nodes first fit takes worse devices, or none"
            chosen = (*chosen, *self._on_nodes(workload, good, bad, reason))
        return chosen

    def _on_nodes(self, workload: int, good: Sequence[str], bad: Sequence[str], reason: str) -> Iterator[PinOption]:
        affinity = node_requirements(self._cluster, good, bad) if good and bad else ()
        if affinity:
            text = f"node affinity of {names_of(self._plan)[workload]}: {affinity_words(affinity)}"
            yield PinOption(text, reason, workload, 0, PinKind.NODES, affinity=affinity)

    @property
    def _over(self) -> bool:
        return self._trying.reached

    def _simulation(self, claims: PinnedClaims, *, idle: bool = False) -> SchedulerSimulation:
        rows = zip(names_of(self._plan), self.base.sketches, claims.sketches, claims.parts, strict=True)
        pods = []
        for number, (name, planned, exported, parts) in enumerate(rows):
            key = number, msgspec.json.encode(exported)
            if key not in self._pods:
                self._pods[key] = pod_kind(
                    self._cluster, self._release, name, planned, exported, self._order, parts=parts
                )
            pods.append(self._pods[key])
        return SchedulerSimulation(
            self._cluster, pods, self._release, affinity=claims.affinities, budget=self._budget, idle=idle
        )

    def _fitting(self, claims: PinnedClaims, workload: int) -> frozenset[str]:
        simulation = self._simulation(claims, idle=True)
        return frozenset(
            name
            for name in simulation.kind_of
            if simulation.admits(workload, name)
            and simulation.taken(name, (), workload).status is FirstFitStatus.ALLOCATED
        )


def _by_status(simulation: SchedulerSimulation, workload: int, planned: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """Return the admitted nodes on which the first pod is served as planned, and those where it is served worse."""
    good, bad = [], []
    for name in simulation.kind_of:
        if simulation.admits(workload, name):
            taken = simulation.taken(name, (), workload)
            if taken.status is FirstFitStatus.ALLOCATED and taken.values <= planned:
                good.append(name)
            elif taken.status is not FirstFitStatus.NONE:
                bad.append(name)
    return good, bad
