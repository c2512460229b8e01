"""Holds the planner's answers against what counting says: values, bounds, proofs, and answers beside one another."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from oracle_beside import frontier, joined
from oracle_claims import Claim, Cores, Partition, Together, in_parts
from oracle_clusters import Node, cluster_of, placements_on, random_nodes
from oracle_families import FAMILIES, random_claims

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, FleetPlan, Room, Workload
from dra_lab.model.plan import DAMAGE, PlanStatus
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner import make_plan
from dra_lab.planner.fleet import how_many_more, largest_job, plan_fleet, stranded

GOALS = ("numa", "unpaired", "roots")
SEEDS = "DRA_LAB_SEEDS"
"""Environment variable with the first seed and the one after the last, as in 1000:3000; other seeds are other cases."""

MOST_REPLICAS = 400
MOST_SCALE = 1 + 64 * 4 * 2
SECONDS = 2.0
"""The time limit of a question; what it leaves unproven is counted, not refused."""


@dataclass
class Case:
    """Nodes and one or two workloads; `wrong` are the sentences about what does not agree, `asked` what was proven."""

    seed: str
    nodes: list[Node]
    claims: tuple[Claim, ...]
    replicas: tuple[int, ...] = ()
    wrong: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    @classmethod
    def random(cls, seed: int) -> Case:
        """Draw a case; families come in turn."""
        rng, family = random.Random(f"oracle {seed}"), FAMILIES[seed % len(FAMILIES)]
        case = cls(f"{seed} ({family})", random_nodes(rng, split="partitions" in family), random_claims(rng, family))
        case.replicas = tuple(case._wanted(rng, most) for most in case.totals)
        return case

    @staticmethod
    def _wanted(rng: random.Random, most: int) -> int:
        wanted = rng.choice([most, most, most + 1, most - 1, most // 2, most + 5, rng.randint(1, 2 * most + 2)])
        return min(max(1, wanted), MOST_REPLICAS)

    # ---------------------------------------------------------------- what is true

    @cached_property
    def cluster(self) -> Cluster:
        """Return the objects."""
        return cluster_of(self.nodes)

    @cached_property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads as they are asked for."""
        return tuple(
            Workload(f"w{at}", (claim.sketch(),), count)
            for at, (claim, count) in enumerate(zip(self.claims, self.replicas, strict=True))
        )

    @property
    def totals(self) -> tuple[int, ...]:
        """Return how many replicas of each claim fit alone."""
        return tuple(sum(claim.most(node.free()) for node in self.nodes) for claim in self.claims)

    @cached_property
    def placeable(self) -> int:
        """Return how many of the replicas fit together."""
        wanted = (*self.replicas, 0)
        found = [0]
        for node in self.nodes:
            found = joined(found, frontier(node.free(), self.claims), wanted[0])
        return max(count + min(most, wanted[1]) for count, most in enumerate(found))

    def least_goals(self, placed: int, *, nodes_first: bool = False) -> tuple[tuple[str, int], ...]:
        """Return the first goals with their least values for some replicas of one claim, as far as they are known."""
        if len(self.claims) > 1:
            return ()
        claim = self.claims[0]
        known = min((len(claim.costs(node.free(), 1)) for node in self.nodes), default=0)
        names = (NODES, *GOALS[:known]) if nodes_first else (*GOALS[:known], *[NODES] * (known == len(GOALS)))
        best: dict[int, tuple[int, ...]] = {0: (0,) * len(names)}
        for node in self.nodes:
            free = node.free()
            rows = []
            for count in range(1, claim.most(free) + 1):
                costs = claim.costs(free, count)[:known]
                rows.append((count, (1, *costs) if nodes_first else (*costs, *[1] * (known == len(GOALS)))))
            following = dict(best)
            for have, value in best.items():
                for count, costs in rows:
                    if have + count > placed:
                        break
                    total = tuple(map(sum, zip(value, costs, strict=True)))
                    if have + count not in following or total < following[have + count]:
                        following[have + count] = total
            best = following
        return tuple(zip(names, best[placed], strict=True))

    # ---------------------------------------------------------------- what is said

    def say(self, question: str, sentence: str) -> None:
        """Keep what is wrong."""
        self.wrong.append(f"seed {self.seed}, {question}: {sentence}; {self.claims} x {self.replicas}")

    def between(self, question: str, found: int, truth: int, bound: int, *, proven: bool) -> None:
        """Hold a number that is to be as large as can be: found ≤ truth ≤ bound, and equal where it is proven."""
        self.asked[f"{question} {'proven' if proven else 'open'}"] += 1
        if not found <= truth <= bound:
            self.say(question, f"at least {found}, at most {bound}, but {truth} is right")
        if proven and found != truth:
            self.say(question, f"{found} proven, but {truth} is right")

    def goals(self, question: str, goals: Sequence, least: Sequence[tuple[str, int]]) -> None:
        """Hold goals against their least values, up to the first that is not reached."""
        have = {goal.goal: goal for goal in goals}
        for name, truth in least:
            if name not in have:
                continue
            goal = have[name]
            self.asked[f"{question} {name} {'proven' if goal.proven else 'open'}"] += 1
            if (
                goal.value < truth
                or (goal.bound is not None and goal.bound > truth)
                or (goal.proven and goal.value != truth)
            ):
                words = "proven" if goal.proven else f"bound {goal.bound}"
                self.say(question, f"goal {name} is {goal.value} ({words}), but {truth} is right")
            if goal.value != truth:
                return

    # ---------------------------------------------------------------- the questions

    def ask_fleet(self, objective: str = "replicas", **more) -> FleetPlan:
        """Ask `plan_fleet`: as many as can be, or all on the fewest nodes."""
        question = f"plan_fleet {objective}"
        plan = plan_fleet(
            self.cluster, self.workloads, objective=objective, time_limit=SECONDS, first_fit=False, **more
        )
        wanted, placed, best = sum(self.replicas), len(plan.replicas), self.placeable
        missing = plan.goal(UNPLACED)
        if objective == "nodes":
            self._all_placed(question, plan, best == wanted)
        elif missing is not None and missing.bound is not None:
            self.between(question, placed, best, wanted - missing.bound, proven=missing.proven)
        else:
            self.between(question, placed, best, wanted, proven=plan.status is PlanStatus.INFEASIBLE)
        if plan.replicas and placed == best:
            self.goals(question, plan.goals, self.least_goals(placed, nodes_first=objective == "nodes"))
        return plan

    def _all_placed(self, question: str, plan: FleetPlan, fits: bool) -> None:
        self.asked[f"{question} {'proven' if plan.proven else 'open'}"] += 1
        if plan.status is PlanStatus.INFEASIBLE and fits:
            self.say(question, "it says that not all fit, but they do")
        if plan.replicas and (not fits or len(plan.replicas) != sum(self.replicas)):
            self.say(question, f"{len(plan.replicas)} replicas are placed")

    def ask_room(self, at: int = 0, after: FleetPlan | None = None) -> Room:
        """Ask `how_many_more` of one workload, now or after a plan."""
        question = "how_many_more" if after is None else "how_many_more after"
        room = how_many_more(self.cluster, self.workloads[at], after=after, time_limit=SECONDS)
        placed = after.replicas if after is not None else ()
        truth = {n.name: self.claims[at].most(n.free(placements_on(placed, n.name))) for n in self.nodes}
        self.between(question, room.count, sum(truth.values()), room.bound, proven=room.proven)
        for equal in room.classes:
            for node in equal.nodes:
                self.between(f"{question} on a node", equal.each, truth[node], equal.bound, proven=equal.proven)
        return room

    def ask_after(self, plan: FleetPlan) -> None:
        """Ask what more fits beside a plan: nothing does where the plan says so."""
        missing = plan.goal(UNPLACED)
        for at, workload in enumerate(self.workloads):
            room = self.ask_room(at, plan)
            left = workload.replicas - plan.placed[workload.name]
            if missing is not None and missing.proven and left and room.count:
                self.say("plan_fleet", f"no more fit, proven; but {room.count} more of {workload.name} fit beside it")
            whole = self.ask_room(at)
            if plan.placed[workload.name] + room.count > whole.bound:
                self.say("how_many_more", f"at most {whole.bound}, but a plan and what fits beside it are more")

    def ask_job(self) -> None:
        """Ask `largest_job` of the first claim: every multiple is tried, for a larger one may fit alone."""
        claim = self.claims[0]
        job = largest_job(self.cluster, self.workloads[0].claims[0], time_limit=SECONDS)
        self.between("largest_job replicas", job.replicas, self.totals[0], job.replicas_bound, proven=job.proven)
        if claim.times(1) is None:
            return
        top = 0
        largest = max(part.cores for node in self.nodes for part in node.parts)
        for scale in range(1, MOST_SCALE):
            more = in_parts(claim.times(scale), largest)
            if more.devices <= MAX_DEVICES and any(more.most(node.free()) for node in self.nodes):
                top = scale
        self.between("largest_job", job.scale, top, job.scale_bound, proven=job.scale >= job.scale_bound)

    def ask_stranded(self) -> None:
        """Ask `stranded`: the most that replicas of the claims can use of each kind, in any numbers."""
        found = stranded(self.cluster, [workload.claims[0] for workload in self.workloads], time_limit=SECONDS)
        for kind in found.kinds:
            uses = [claim.uses.get(kind.kind) for claim in self.claims]
            if None in uses and isinstance(self.claims[0], Partition):
                continue
            weights = [use or 0 for use in (*uses, 0)]
            most = 0
            for node in self.nodes:
                rows = enumerate(frontier(node.free(), self.claims))
                most += max(a * weights[0] + b * weights[1] for a, b in rows)
            self.between(f"stranded {kind.kind}", kind.usable, most, kind.bound, proven=kind.usable >= kind.bound)

    def ask_plan(self) -> None:
        """Ask `make_plan` of the first claim: it fits where counting says so, with the least values of the goals."""
        plan = make_plan(self.cluster, self.workloads[0].claims[0], time_limit=SECONDS)
        one = replace(self, claims=self.claims[:1], replicas=(1,), wrong=self.wrong, asked=self.asked)
        fits = one.totals[0] > 0
        self.asked[
            f"make_plan {'proven' if plan.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE) else 'open'}"
        ] += 1
        if plan.fits and not fits:
            self.say("make_plan", "it fits, but counting says that it does not")
        if plan.status is PlanStatus.INFEASIBLE and fits:
            self.say("make_plan", "it does not fit, proven; but counting says that it does")
        if not plan.fits or not fits:
            return
        least = tuple(row for row in one.least_goals(1) if row[0] != NODES)
        if len(least) == len(GOALS) and isinstance(self.claims[0], Together | Cores):
            # A replica takes one from what its places count down to, and leaves the others as they are.
            least = (*least, (DAMAGE, 1))
        self.goals("make_plan", plan.goals, least)

    def ask(self, rng: random.Random, *, everything: bool = False) -> None:
        """Ask for a plan, and two of the other questions or all of them."""
        plan = self.ask_fleet()
        others = [lambda: self.ask_after(plan), self.ask_job, self.ask_stranded, self.ask_plan]
        if len(self.claims) == 1:
            others.append(lambda: self.ask_fleet("nodes"))
        for question in others if everything else rng.sample(others, 2):
            question()


def seeds(first: int, end: int) -> range:
    """Return the seeds of the environment variable, or the ones given."""
    given = os.environ.get(SEEDS)
    return range(*map(int, given.split(":"))) if given else range(first, end)


def run(seed: int, *, everything: bool = False) -> Case:
    """Ask the questions of the case of a seed."""
    case = Case.random(seed)
    case.ask(random.Random(f"questions {seed}"), everything=everything)
    return case
