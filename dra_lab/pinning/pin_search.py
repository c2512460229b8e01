"""The search for pins: pieces are tried on the copy of kube-scheduler, and those that are not needed taken out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import msgspec

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import FirstFitStatus, Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.node_pins import node_requirements
from dra_lab.pinning.pin_options import PinDraft, PinOption, pin_options
from dra_lab.pinning.plan_replay import planned_values, replay_manifests
from dra_lab.pinning.planned_devices import names_of, planned_of, sketches_of
from dra_lab.pinning.pod_kinds import Parts, PodKind, pod_kind
from dra_lab.pinning.replay_result import Expected, Replay
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation
from dra_lab.sketch.claim_objects import Affinity

_QUICK = 3
_SEARCHED = 0.7
"""Share of the time in which pins are looked for; the rest is for running and pricing what was found."""


class PinSearch:
    """Tries pieces on the copy of the scheduler; every draft is run once."""

    def __init__(
        self,
        cluster: Cluster,
        plan: Plan | FleetPlan,
        release: KubernetesRelease,
        expected: Sequence[Expected],
        time_limit: float,
        cancel: threading.Event | None,
    ) -> None:
        """Take what is planned, and the seconds that there are for everything."""
        self._cluster, self._plan, self._release = cluster, plan, release
        self._expected, self._cancel = expected, cancel
        now = time.monotonic()
        self._enough, self._end = now + _SEARCHED * time_limit, now + time_limit
        self._base = sketches_of(plan)
        self._order = tuple(goal.goal for goal in expected[0].goals)
        self._runs: dict[tuple[bytes, int | None], Replay] = {}
        self._pods: dict[tuple[int, bytes], PodKind] = {}

    def simulation(self, draft: PinDraft, *, idle: bool = False) -> SchedulerSimulation:
        """Return a scheduler that is given the manifests of a draft."""
        parts = draft.parts or [()] * len(self._base)
        rows = enumerate(zip(names_of(self._plan), self._base, draft.sketches, parts, strict=True))
        pods = [self._pod(number, *row) for number, row in rows]
        left = max(0.0, self._end - time.monotonic())
        return SchedulerSimulation(
            self._cluster, pods, self._release, affinity=draft.affinity, seconds=left, idle=idle, cancel=self._cancel
        )

    def run(self, draft: PinDraft, seeds: int = _QUICK) -> Replay:
        """Run all replicas on a draft; what was run whole is not run again."""
        key = msgspec.json.encode((draft.sketches, draft.affinity))
        found = self._runs.get((key, seeds)) or self._runs.get((key, None))
        if found is None:
            found = replay_manifests(self.simulation(draft), self._expected, seeds=seeds)
            if not found.not_run:
                self._runs[key, None if found.always else seeds] = found
        return found

    def _pod(
        self, number: int, name: str, planned: Sequence[ClaimSketch], exported: Sequence[ClaimSketch], parts: Parts
    ) -> PodKind:
        key = number, msgspec.json.encode(exported)
        if key not in self._pods:
            self._pods[key] = pod_kind(self._cluster, self._release, name, planned, exported, self._order, parts=parts)
        return self._pods[key]

    def find(self, base: PinDraft, before: Replay) -> tuple[PinOption, ...]:
        """Return the fewest pieces found that serve every replica as planned.

        Without such pieces: those that place the most pods, and of these those that serve the most as planned.
        What the claim says comes first, then requirements on nodes, then selectors that name places.
        """
        pieces = list(self._pieces(base))
        weak = [piece for piece in pieces if not piece.strong]
        strong = [piece for piece in pieces if piece.strong]
        chosen, best = self._add(base, (), before, weak)
        if not best.as_planned:
            chosen, best = self._at_nodes(base, chosen, best)
        if not best.as_planned:
            chosen, best = self._add(base, chosen, best, strong)
        if not best.as_planned:
            # what the claim may say without harm can be what a selector was missing
            whole = self._harmless(base, chosen, best, weak)
            rest = [piece for piece in strong if piece not in whole]
            fuller, found = self._add(base, whole, self.run(with_pins(base, whole)), rest)
            if found.rank > best.rank:
                chosen, best = fuller, found
        if not best.as_planned:
            chosen, best = self._at_nodes(base, chosen, best)
        if not best.as_planned:
            chosen, best = self._by_replica(base, chosen, best, [piece for piece in strong if piece.ways])
        if not best.as_planned:
            chosen, best = self._on_planned_nodes(base, chosen, best, pieces)
        return self._fewest(base, chosen, best)

    def _by_replica(
        self, base: PinDraft, chosen: tuple[PinOption, ...], best: Replay, pieces: Sequence[PinOption]
    ) -> tuple[tuple[PinOption, ...], Replay]:
        """Try the devices of each replica as alternatives instead of what was chosen; then on the planned nodes too."""
        nodes = tuple(self._planned_nodes(base))
        for start in (start for piece in pieces for start in ((piece,), (*nodes, piece))):
            if self.over or best.as_planned:
                break
            trial = self.run(with_pins(base, start))
            if trial.rank > best.rank:
                chosen, best = start, trial
        return chosen, best

    def _on_planned_nodes(
        self, base: PinDraft, chosen: tuple[PinOption, ...], best: Replay, pieces: Sequence[PinOption]
    ) -> tuple[tuple[PinOption, ...], Replay]:
        """Try again on the planned nodes alone: from what was chosen, from nothing, from the planned devices."""
        nodes = tuple(self._planned_nodes(base))
        exact = tuple(piece for piece in pieces if piece.exact)
        kept = tuple(piece for piece in chosen if not piece.affinity)
        weak = [piece for piece in pieces if not piece.strong]
        fuller = self._harmless(base, (), self.run(base), weak)
        for start in ((*kept, *nodes), nodes, (*nodes, *exact), (*fuller, *nodes, *exact)):
            if self.over or best.as_planned:
                break
            trial = self.run(with_pins(base, start))
            pinned, found = self._add(base, start, trial, [piece for piece in pieces if piece not in start])
            if found.rank > best.rank:
                chosen, best = pinned, found
        return chosen, best

    def _harmless(
        self, base: PinDraft, chosen: tuple[PinOption, ...], best: Replay, pieces: Sequence[PinOption]
    ) -> tuple[PinOption, ...]:
        """Return the pieces with all further ones that cost no replica."""
        for piece in pieces:
            if self.over:
                break
            if piece not in chosen and self.run(with_pins(base, (*chosen, piece))).rank >= best.rank:
                chosen = (*chosen, piece)
        return chosen

    def _planned_nodes(self, base: PinDraft) -> Iterator[PinOption]:
        reason = (
            "the plan uses these nodes; on other nodes first fit takes worse devices, or it is not known "
            "whether they are as good"
        )
        seen: set[int] = set()
        for planned in planned_of(self._plan, base.sketches):
            if planned.workload in seen:
                continue
            seen.add(planned.workload)
            others = [name for name in self._cluster.node_names if name not in planned.nodes]
            affinity = node_requirements(self._cluster, planned.nodes, others)
            if affinity:
                text = f"node affinity of {names_of(self._plan)[planned.workload]}: {_words(affinity)}"
                yield PinOption(text, reason, planned.workload, 0, affinity=affinity)

    def _add(
        self, base: PinDraft, chosen: tuple[PinOption, ...], best: Replay, pieces: Sequence[PinOption]
    ) -> tuple[tuple[PinOption, ...], Replay]:
        """Add the pieces that help, each by itself; then those that only help together with others."""
        rest = []
        for piece in pieces:
            if self.over or best.as_planned:
                return chosen, best
            trial = self.run(with_pins(base, (*chosen, piece)))
            if trial.rank > best.rank:
                chosen, best = (*chosen, piece), trial
            else:
                rest.append(piece)
        together, found = chosen, best
        for piece in rest:
            if self.over or found.as_planned:
                break
            trial = self.run(with_pins(base, (*together, piece)))
            if trial.rank >= found.rank:
                together, found = (*together, piece), trial
        return (together, found) if found.rank > best.rank else (chosen, best)

    @property
    def over(self) -> bool:
        """Say whether no time is left to look for further pins."""
        return time.monotonic() >= self._enough or (self._cancel is not None and self._cancel.is_set())

    def price(self, base: PinDraft, piece: PinOption) -> str:
        """Return what a piece costs: the nodes that could serve the claim with nothing in use, and no longer can."""
        return self.price_of(base, piece.add_to(base), piece.workload)

    def price_of(self, base: PinDraft, draft: PinDraft, workload: int = 0) -> str:
        """Return what a draft costs a workload; see `price`."""
        before, after = (self._fitting(each, workload) for each in (base, draft))
        lost = sorted(before - after)
        if not lost:
            return f"it still fits on all {len(before)} nodes that could serve it"
        some = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        return f"it no longer fits on {len(lost)} of {len(before)} nodes: {some}"

    def _fitting(self, draft: PinDraft, workload: int) -> frozenset[str]:
        simulation = self.simulation(draft, idle=True)
        return frozenset(
            name
            for names in simulation.kinds.values()
            for name in names
            if simulation.admits(workload, name)
            and simulation.taken(name, (), workload).status is FirstFitStatus.ALLOCATED
        )

    def _at_nodes(
        self, base: PinDraft, chosen: tuple[PinOption, ...], best: Replay
    ) -> tuple[tuple[PinOption, ...], Replay]:
        """Try to keep pods on the nodes where first fit takes as good devices as planned."""
        if any(piece.affinity for piece in chosen):
            return chosen, best
        draft = with_pins(base, chosen)
        simulation = self.simulation(draft)
        added: list[PinOption] = []
        for workload, pod in enumerate(simulation.pods):
            own = [planned_values(r, pod) for r in self._expected if r.workload == workload and r.planned]
            if not own:
                continue
            good, bad = _by_worth(simulation, workload, max(own))
            affinity = node_requirements(self._cluster, good, bad) if good and bad else ()
            if affinity:
                reason = f"on {len(bad)} other nodes first fit takes worse devices, or none"
                added.append(
                    PinOption(
                        f"node affinity of {pod.name}: {_words(affinity)}", reason, workload, 0, affinity=affinity
                    )
                )
        if not added:
            return chosen, best
        trial = self.run(with_pins(base, (*chosen, *added)))
        return ((*chosen, *added), trial) if trial.rank > best.rank else (chosen, best)

    def _fewest(self, base: PinDraft, chosen: tuple[PinOption, ...], best: Replay) -> tuple[PinOption, ...]:
        for piece in reversed(chosen):
            without = tuple(other for other in chosen if other is not piece)
            if self.over:
                break
            trial = self.run(with_pins(base, without))
            if trial.rank >= best.rank and trial.as_planned >= best.as_planned:
                chosen = without
        return chosen

    def _pieces(self, base: PinDraft) -> Iterator[PinOption]:
        for planned in planned_of(self._plan, base.sketches):
            yield from pin_options(self._cluster, self._release, base, planned)


def _by_worth(simulation: SchedulerSimulation, workload: int, planned: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """Return the admitted nodes on which the first pod is served as planned, and those where it is served worse."""
    good, bad = [], []
    for names in simulation.kinds.values():
        own = [name for name in names if simulation.admits(workload, name)]
        if not own:
            continue
        taken = simulation.taken(own[0], (), workload)
        if taken.status is FirstFitStatus.ALLOCATED and taken.values <= planned:
            good += own
        elif taken.status is not FirstFitStatus.NONE:
            bad += own
    return good, bad


def _words(affinity: Affinity) -> str:
    return "; ".join(f"{r['key']} {r['operator']} {', '.join(r['values'])}" for r in affinity)


def with_pins(base: PinDraft, pieces: Sequence[PinOption]) -> PinDraft:
    """Return a draft with pieces added."""
    for piece in pieces:
        base = piece.add_to(base)
    return base
