"""One look at every node for a fleet: its hardware, and what is free of each group of devices and each counter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from dra_lab.index.node_index import node_index, shape_key
from dra_lab.index.pools import Tie
from dra_lab.model.names import DeviceID, part_of
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.scan import Scan, scan_nodes
from dra_lab.planner.states.layouts import KnownDevices, Layouts, devices_by_group, holds_shareable
from dra_lab.planner.states.node_state import NodeState, inspectors


@dataclass
class Survey:
    """A scan, and where the rules are plain each node's state; a node without one is known by its problem alone.

    Under plain rules, what is in use is only missing, of devices, of shared devices or of counters. They have no
    devices that several nodes see, no node selectors of many terms, and no admin access of pods with several claims.
    They have no shared devices that draw on counters, that are requested with all others, that are looked into
    (`adminAccess`), or that a claim holds without a share. `problems` remembers the problem of a node, and where the
    devices of its groups are among the node's, by what it is exactly.
    """

    scan: Scan
    states: dict[str, NodeState] = field(default_factory=dict)
    problems: dict[Hashable, tuple[AllocationProblem, tuple[tuple[int, ...], ...]]] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Say whether every node's state is known."""
        return bool(self.states)

    def devices(
        self, node: str, groups: Iterable[int] | None = None, *, held_too: bool = False
    ) -> dict[int, list[DeviceID]]:
        """Return the free devices of a node by group of its layout, or of some groups; with `held_too` all of them."""
        layout = self.scan.layouts[self.states[node].layout]
        return devices_by_group(self.scan, layout, node, groups, held_too=held_too)


def survey(rules: Rules, budget: Budget) -> Survey:
    """Look at every node once. Raises UnsupportedFeature as `scan_nodes` does."""
    views = node_index(rules.cluster, rules.release)
    if rules.cluster.network_slices or _looks_from_several_claims(rules):
        return Survey(scan_nodes(rules, budget))
    layouts = Layouts(_is_plain)
    seen, devices = Survey(Scan(rules, views, layouts=layouts.made)), KnownDevices(rules, views)
    for number, name in enumerate(rules.nodes):
        if budget.reached:
            break
        kind = shape_key(views, name, rules.selecting, rules.attributes)
        layout = layouts.add(seen.scan, devices, kind, name)
        state = layouts.state(seen.scan, kind, name)
        # A shareable device that a claim holds without a share is in use, and its amounts do not say so.
        if state is None or holds_shareable(seen.scan, layouts.made[layout], name):
            return Survey(scan_nodes(rules, budget))
        seen.states[name] = state
        if budget.due:
            budget.report_step("nodes", f"looked at {number + 1} of {len(rules.nodes)} nodes")
    seen.scan.note_unseen(seen.states)
    return seen


def _looks_from_several_claims(rules: Rules) -> bool:
    """Say whether a pod of several claims asks for admin access: claims of one pod do not see one another."""
    # `pods.look_at` names them after the workload and the claim: "0.0", "0.1"
    pods = [(ask, part_of(ask.reference)[0].partition(".")) for ask in rules.asks]
    several = {pod for _, (pod, _, claim) in pods if claim not in ("", "0")}
    return any(ask.admin_access and pod in several for ask, (pod, _, _) in pods)


def _is_plain(problem: AllocationProblem) -> bool:
    for group in problem.groups:
        special = any(problem.asks[ask].admin_access or problem.asks[ask].all_devices for ask in group.asks)
        inspected = inspectors(problem, group)
        if group.tie is Tie.TERMS or (group.shareable and (group.draws or special)) or (group.draws and inspected):
            return False
    return True
