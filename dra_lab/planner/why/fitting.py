"""On how many nodes a drawing fits, whatever the goals: what a change to a drawing brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace as changed

from dra_lab.index.node_index import node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import build_problem
from dra_lab.planner.node.eligible import Rules, eligibility
from dra_lab.planner.node.milp import is_feasible
from dra_lab.planner.node.refuse import refuse_claim, refuse_devices
from dra_lab.planner.scan import Scan, node_shapes, scan_nodes
from dra_lab.planner.ways import fitting_nodes
from dra_lab.sketch.expand import expand
from dra_lab.topology.locality import localities


@dataclass(frozen=True, slots=True)
class Fitting:
    """Nodes on which a drawing fits, of all that were examined; `undecided` are those that time left open."""

    nodes: int = 0
    total: int = 0
    undecided: int = 0
    example: str = ""


@dataclass(frozen=True)
class Trial:
    """Tries drawings on one cluster; `node` restricts it to one node ("" for all).

    `cluster` has every class; `expanded` says that large CPU requests of the drawings are split already; `only` are the
    nodes that are examined, None for all.
    """

    cluster: Cluster
    release: KubernetesRelease
    budget: Budget
    solver: str = "HiGHS"
    node: str = ""
    expanded: bool = False
    only: frozenset[str] | None = None

    def rules(self, sketch: ClaimSketch) -> Rules:
        """Return the rules of a drawing, as it is planned. Raises UnsupportedFeature."""
        refuse_claim(sketch)
        drawn = sketch if self.expanded else expand(sketch, self.cluster, self.release).sketch
        return Rules(self.cluster, drawn, self.release, node_index(self.cluster, self.release).matching, only=self.only)

    def fits_on(self, sketch: ClaimSketch, node: str) -> bool | None:
        """Say whether a drawing fits on one node; None where time ended the search. Raises UnsupportedFeature."""
        if not sketch.requests:
            return True
        rules = self.rules(sketch)
        refuse_devices(rules, eligibility(changed(rules, idle=True), node))
        found = eligibility(rules, node)
        problem = build_problem(rules.sketch, found, localities(self.cluster, node), paired=False)
        return is_feasible(problem, self.budget, solver=self.solver)

    def fits_somewhere(self, sketch: ClaimSketch) -> bool | None:
        """Say whether a drawing fits on any of the nodes; None where time ended the search. Raises like `fits_on`."""
        if not sketch.requests or self.node:
            return self.fits_on(sketch, self.node)
        found = self.fitting(sketch, enough=1)
        return True if found.nodes else None if found.undecided else False

    def fitting(self, sketch: ClaimSketch, *, enough: int = 0) -> Fitting:
        """Count the nodes on which a drawing fits, at least `enough` (0: all of them). Raises like `fits_on`."""
        if self.node:
            fits = self.fits_on(sketch, self.node)
            return Fitting(int(fits is True), 1, int(fits is None), self.node if fits else "")
        rules = self.rules(sketch)
        if len(rules.nodes) > self.budget.sizes.solved_alone:
            found = self._of_many(rules)
            if found is not None:
                return found
        scan = scan_nodes(rules, self.budget, again=False)
        nodes, undecided, example = 0, len(scan.unseen), ""
        for equal in scan.classes:
            fits = is_feasible(scan.problem(equal.nodes[0]), self.budget, solver=self.solver)
            undecided += len(equal.nodes) if fits is None else 0
            if fits:
                nodes += len(equal.nodes)
                example = min(example or equal.nodes[0], equal.nodes[0])
            if enough and nodes >= enough:
                break
        return Fitting(nodes, len(rules.nodes), undecided, example)

    def _of_many(self, rules: Rules) -> Fitting | None:
        """Count nodes of which each kind is looked at once, with nothing in use; None where that does not tell."""
        scan = Scan(rules, node_index(self.cluster, self.release))
        seen = node_shapes(scan, self.budget)
        known = fitting_nodes(scan, seen, self.budget)
        if known is None:
            return Fitting(0, len(rules.nodes)) if self._is_hopeless(scan, seen) else None
        fit = sorted(name for name, fits in known.items() if fits)
        return Fitting(len(fit), len(rules.nodes), len(rules.nodes) - len(known), fit[0] if fit else "")

    def _is_hopeless(self, scan: Scan, seen: Mapping[tuple[int, ...], Sequence[str]]) -> bool:
        """Say whether a drawing fits on no node even with nothing in use."""
        if any(ask.all_devices for ask in scan.rules.asks):
            return False  # for all devices, less may be requested where some are in use
        idle = (scan.problem(nodes[0], idle=True) for nodes in seen.values())
        none = all(is_feasible(problem, self.budget, solver=self.solver) is False for problem in idle)
        return none and sum(map(len, seen.values())) == len(scan.rules.nodes)
