"""Where every plan of a process passes on its way to whoever asked for it, and what is held against `check_plan`.

`planner.waiting.awaited` decorates every public question: replaced before the planner is imported, it hands over what
`make_plan` and `plan_fleet` return, however they were imported, to a session, the command line or a widget alike; and
`planner.recorded_cases.solve_node` answers recorded cases. The plugin `plans_are_checked` holds what tests are handed
when they have ended and their patches are gone; other processes (`in_processes/sitecustomize.py`) hold theirs at once.
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from pathlib import Path

FOLDER = "DRA_LAB_PLANS_CHECKED_IN"
"""The environment variable that tells other processes where they write down what they held."""

IN_PROCESSES = Path(__file__).parent / "in_processes"

_WORLD = ("cluster", "claims", "workloads", "release", "node", "held", "objective")


@dataclass(frozen=True)
class Handed:
    """A plan that was handed out: the question by its name, what it was about by the arguments' names, and the plan."""

    question: str
    asked: dict[str, object]
    plan: object

    def repeats(self, other: Handed) -> bool:
        """Say whether this is the same answer to the same question: a command that is run again, as JSON say."""
        if self.question != other.question or self.question == "solve_node":
            return False
        return replace(self.plan, seconds=0.0) == replace(other.plan, seconds=0.0) and self.asked == other.asked


class Seams(MetaPathFinder):
    """Changes modules of dra_lab right after they are imported, for the first time and by whomever."""

    def __init__(self, changes: dict[str, Callable]) -> None:
        self.changes = changes
        late = changes.keys() & sys.modules.keys()
        assert not late, f"imported before its plans could be held: {', '.join(late)}"

    def find_spec(self, name, path=None, target=None):
        """Find a module as everybody else does; what it becomes after its import is ours."""
        if name not in self.changes:
            return None
        others = sys.meta_path[sys.meta_path.index(self) + 1 :]
        spec = next(spec for finder in others if (spec := finder.find_spec(name, path, target)) is not None)
        run, change = spec.loader.exec_module, self.changes[name]

        def execute(module):
            run(module)
            change(module)

        spec.loader.exec_module = execute
        return spec


class Collector:
    """What was handed out and is still to be held; `at_once` holds it before it is handed out."""

    def __init__(self, at_once: Callable[[Handed], None] | None = None) -> None:
        self.at_once = at_once
        self.pending: dict[int, Handed] = {}
        self.seen: dict[int, tuple[object, object]] = {}
        self.broken: list[str] = []
        self.held = 0
        self._installed = False
        self._lock = threading.Lock()

    def install(self) -> None:
        """Stand at every seam, once; before any of these modules is imported."""
        if self._installed:
            return
        self._installed = True
        changes = {
            "dra_lab.planner.waiting": self._at_questions,
            "dra_lab.planner.recorded_cases": self._at_replays,
            "dra_lab.checks.plans": partial(self._at_checks, name="check_plan"),
            "dra_lab.checks.fleets": partial(self._at_checks, name="check_fleet"),
        }
        sys.meta_path.insert(0, Seams(changes))

    def take(self, handed: Handed) -> None:
        """Take a plan that was handed out, or is about to be."""
        if self.at_once is not None:
            self.at_once(handed)
            return
        with self._lock:
            self.pending[id(handed.plan)] = handed

    def hold(self) -> list[str]:
        """Hold all that was handed out since the last time; return what is broken, a line each."""
        with self._lock:
            waiting, checked, lines = list(self.pending.values()), dict(self.seen), self.broken
            self.forget()
        done: list[Handed] = []
        for handed in waiting:
            cluster = checked.get(id(handed.plan), (None, None))[1]
            self.held += 1
            known = cluster is not None and cluster is handed.asked["cluster"]
            lines += [] if known or any(map(handed.repeats, done)) else broken(handed)
            done.append(handed)
        return lines

    def hold_now(self, handed: Handed) -> None:
        """Hold a plan before it is handed out; what it breaks is told by `hold`."""
        self.held += 1
        self.broken += broken(handed)

    def forget(self) -> None:
        """Forget what was handed out: the test that asked has failed by itself."""
        self.pending, self.seen, self.broken = {}, {}, []

    def _at_questions(self, module) -> None:
        decorate = module.awaited
        module.awaited = lambda question: decorate(self._handing(question))

    def _handing(self, question):
        signature = inspect.signature(question)

        @wraps(question)
        def asked(*args, **named):
            bound = signature.bind(*args, **named)
            plan = question(*args, **named)
            if question.__name__ in ("make_plan", "plan_fleet"):
                # no more than is needed: who asked may be gone before the plan is held
                world = {name: value for name, value in bound.arguments.items() if name in _WORLD}
                self.take(Handed(question.__name__, world, plan))
            return plan

        return asked

    def _at_replays(self, module) -> None:
        solve_node = module.solve_node

        @wraps(solve_node)
        def solved(rules, node_name):
            solution, proof, found = solve_node(rules, node_name)
            if solution.taken is not None:
                asked = {"cluster": rules.cluster, "rules": rules, "node": node_name, "found": found}
                self.take(Handed("solve_node", asked, solution))
            return solution, proof, found

        module.solve_node = solved

    def _at_checks(self, module, name: str) -> None:
        check = getattr(module, name)

        @wraps(check)
        def checked(cluster, plan, release, **more):
            found = check(cluster, plan, release, **more)
            with self._lock:
                if id(plan) in self.pending and not found and str(release) == plan.release:
                    self.seen[id(plan)] = (plan, cluster)
            return found

        setattr(module, name, checked)


# ---------------------------------------------------------------- a plan in its world


def broken(handed: Handed) -> list[str]:
    """Return what a plan breaks on the cluster that it was asked about, a line each."""
    found = {"make_plan": _of_pod, "plan_fleet": _of_fleet, "solve_node": _of_case}[handed.question](handed)
    return [f"{handed.question} on {_where(handed)}: {line}" for line in found]


def _where(handed: Handed) -> str:
    return f"{handed.asked['cluster'].name or 'a cluster'}, {getattr(handed.plan, 'node', '') or 'its nodes'}"


def _of_pod(handed: Handed) -> list[str]:
    from dra_lab.checks.plans import check_plan
    from dra_lab.index.documented_classes import with_documented_classes

    cluster, plan, asked = handed.asked["cluster"], handed.plan, handed.asked
    known = {(claim.metadata.namespace, claim.metadata.name) for claim in cluster.claims}
    own = tuple(c for c in plan.allocated_claims if (c.metadata.namespace, c.metadata.name) not in known)
    world = with_documented_classes(replace(cluster, claims=(*cluster.claims, *own)) if own else cluster)
    nodes = getattr(asked["claims"], "nodes", None)
    lines = [f"{f.rule} {f.subject}: {f.message}" for f in check_plan(world, plan, _release(handed))]
    if plan.fits and (plan.node != (asked.get("node") or plan.node) or (nodes is not None and plan.node not in nodes)):
        lines.append(f"node {plan.node} was not asked about")
    return lines


def _of_fleet(handed: Handed) -> list[str]:
    from dra_lab.checks.fleets import check_fleet
    from dra_lab.index.documented_classes import with_documented_classes

    cluster, held = handed.asked["cluster"], handed.asked.get("held")
    world = with_documented_classes(cluster if held is None else replace(cluster, claims=holding(held)))
    found = check_fleet(world, handed.plan, _release(handed))
    wanted = tuple(handed.asked["workloads"])
    lines = [f"{f.rule} {f.subject}: {f.message}" for f in found]
    return lines if handed.plan.workloads == wanted else [*lines, "its workloads are not those that were asked about"]


def _of_case(handed: Handed) -> list[str]:
    from dra_lab.checks.plans import check_plan
    from dra_lab.model.names import part_of
    from dra_lab.model.plan import Placement, Plan, PlanStatus

    asked, placements = handed.asked, []
    for ask, device in handed.plan.taken:
        claim, request = part_of(asked["found"].asks[ask].ask.reference)
        placements.append(Placement(request, device, claim=claim))
    rules = asked["rules"]
    plan = Plan(PlanStatus.FEASIBLE, rules.sketch, node=asked["node"], placements=tuple(placements))
    return [f"{f.rule} {f.subject}: {f.message}" for f in check_plan(rules.cluster, plan, rules.release)]


def _release(handed: Handed):
    from dra_lab.model.release import release_of

    return release_of(handed.asked.get("release"), handed.asked["cluster"].default_release)


def holding(held) -> tuple:
    """Return claims that hold what is told to be in use: one a holder's result, so that the order does not matter."""
    from dra_lab.model.allocation import (
        AllocationResult,
        DeviceAllocationResult,
        DeviceRequestAllocationResult,
        ResourceClaimStatus,
    )
    from dra_lab.model.claims import ResourceClaim
    from dra_lab.model.nodes import ObjectMeta
    from dra_lab.model.quantity import format_quantity

    results = [DeviceRequestAllocationResult(request="held", **device._asdict()) for device in held.exclusive]
    for device, holders in held.shares.items():
        amounts = {key: format_quantity(amount) for key, amount in held.consumed.get(device, {}).items()}
        for number in range(len(holders)):
            share = f"00000000-0000-0000-0000-{len(results):012d}"
            # what all of them take is known, not what each does
            taken = amounts if number == 0 else {}
            results.append(
                DeviceRequestAllocationResult(
                    request="held", **device._asdict(), share_id=share, consumed_capacity=taken
                )
            )
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=tuple(results))))
    return (ResourceClaim(metadata=ObjectMeta(name="held"), status=status),)


COLLECTOR = Collector()
"""What this process hands out."""

# ---------------------------------------------------------------- other processes


def in_this_process() -> None:
    """Hold every plan of a process that a test started, before it is handed out, and write down what it breaks."""
    folder, numbers = Path(os.environ[FOLDER]), itertools.count()

    def at_once(handed: Handed) -> None:
        try:
            lines = broken(handed)
        except Exception as error:  # noqa: BLE001 - a plan that could not be held is none that was
            lines = [f"{handed.question} could not be held: {error!r}"]
        # whole or not at all: the test may look while this is written
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file:
            file.write("\n".join(lines))
        Path(file.name).rename(folder / f"{os.getpid()}-{next(numbers)}-{handed.question}.held")

    COLLECTOR.at_once = at_once
    COLLECTOR.install()


def from_processes(folder: Path) -> tuple[int, list[str]]:
    """Return how many plans other processes held since the last time, and what these break; a line each."""
    number, lines = 0, []
    for file in sorted(folder.glob("*.held")):
        number += 1
        lines += [f"another process: {line}" for line in file.read_text(encoding="utf-8").splitlines()]
        file.unlink()
    return number, lines
