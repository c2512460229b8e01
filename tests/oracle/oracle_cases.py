"""Holds the planner's answers against what counting says: values, bounds, proofs, and answers beside one another."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from checked_plans import checked_fleet, checked_plan
from oracle_claims import Claim
from oracle_clusters import Node, cluster_of, placements_on, random_nodes
from oracle_drawings import Drawn
from oracle_families import FAMILIES, random_claims
from oracle_truth import Goals, Truth

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import Headroom, Stranded
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.workload import Workload
from dra_lab.planner import largest_job, stranded
from dra_lab.planner.questions import how_many_more

SEEDS = "DRA_LAB_SEEDS"
"""Environment variable with the first seed and the one after the last, as in 1000:3000; other seeds are other cases."""

MOST_REPLICAS = 400
SECONDS = 2.0
"""The time limit of a question; what it leaves unproven is counted, not refused."""


@dataclass
class Case:
    """Nodes and one or two workloads; `wrong` are the sentences about what does not agree, `asked` what was proven."""

    seed: str
    nodes: list[Node]
    claims: tuple[Claim | Drawn, ...]
    replicas: tuple[int, ...] = ()
    wrong: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    roots: ClassVar[tuple[int, int]] = (4, 16)
    """The least and the most PCIe roots of a node."""

    @classmethod
    def random(cls, seed: int) -> Case:
        """Draw a case; families come in turn."""
        rng, family = random.Random(f"oracle {seed}"), FAMILIES[seed % len(FAMILIES)]
        nodes = random_nodes(rng, split="partitions" in family, roots=cls.roots)
        claims = random_claims(rng, family)
        alone = Truth(nodes, claims)
        replicas = tuple(cls._wanted(rng, alone.total(at)) for at in range(len(claims)))
        return cls(f"{seed} ({family})", nodes, claims, replicas)

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
            Workload(f"w{at}", (claim.drawn().sketch(),), replicas=count)
            for at, (claim, count) in enumerate(zip(self.claims, self.replicas, strict=True))
        )

    @cached_property
    def truth(self) -> Truth:
        """Return what is right."""
        return Truth(self.nodes, self.claims, self.replicas)

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

    def goals(self, question: str, goals: Sequence, least: Goals) -> None:
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

    def ask_fleet(self, objective: str = "replicas", **more) -> Plan:
        """Ask `plan_fleet`: as many as can be, or all on the fewest nodes."""
        question = f"plan_fleet {objective}"
        plan = checked_fleet(
            self.cluster, self.workloads, objective=objective, time_limit=SECONDS, first_fit=False, **more
        )
        wanted, placed, best = sum(self.replicas), len(plan.pods), self.truth.placeable
        missing, all_on_few = plan.goal(UNPLACED), plan.objective == "nodes"
        if all_on_few:
            self._all_placed(question, plan, best == wanted)
        elif missing is not None and missing.bound is not None:
            self.between(question, placed, best, wanted - missing.bound, proven=missing.proven)
        else:
            self.between(question, placed, best, wanted, proven=plan.status is PlanStatus.INFEASIBLE)
        if plan.pods and placed == best:
            self.goals(question, plan.goals, self.truth.least_goals(placed, nodes_first=all_on_few))
        return plan

    def _all_placed(self, question: str, plan: Plan, fits: bool) -> None:
        self.asked[f"{question} {'proven' if plan.proven else 'open'}"] += 1
        if plan.status is PlanStatus.INFEASIBLE and fits:
            self.say(question, "it says that not all fit, but they do")
        if plan.pods and (not fits or len(plan.pods) != sum(self.replicas)):
            self.say(question, f"{len(plan.pods)} replicas are placed")

    def ask_headroom(self, at: int = 0, after: Plan | None = None) -> Headroom:
        """Ask `how_many_more` of one workload, now or after a plan."""
        question = "how_many_more" if after is None else "how_many_more after"
        headroom = how_many_more(self.cluster, self.workloads[at], after=after, time_limit=SECONDS)
        placed = after.pods if after is not None else ()
        truth = {n.name: self.truth.most(at, n.free(placements_on(placed, n.name))) for n in self.nodes}
        self.between(question, headroom.count.value, sum(truth.values()), headroom.count.bound, proven=headroom.proven)
        for equal in headroom.where:
            for node in equal.members:
                self.between(
                    f"{question} on a node",
                    equal.replicas.value,
                    truth[node],
                    equal.replicas.bound,
                    proven=equal.replicas.exact,
                )
        return headroom

    def ask_after(self, plan: Plan) -> None:
        """Ask what more fits beside a plan: nothing does where the plan says so."""
        missing = plan.goal(UNPLACED)
        for at, workload in enumerate(self.workloads):
            headroom = self.ask_headroom(at, plan)
            left = workload.replicas - plan.placed[workload.name]
            if missing is not None and missing.proven and left and headroom.count.value:
                self.say(
                    "plan_fleet", f"no more fit, proven; but {headroom.count} more of {workload.name} fit beside it"
                )
            whole = self.ask_headroom(at)
            if plan.placed[workload.name] + headroom.count.value > whole.count.bound:
                self.say("how_many_more", f"at most {whole.count.bound}, but a plan and what fits beside it are more")

    def ask_job(self) -> None:
        """Ask `largest_job` of the first claim: every multiple is tried, for a larger one may fit alone."""
        job = largest_job(self.cluster, self.workloads[0].claims[0], time_limit=SECONDS)
        self.between(
            "largest_job replicas", job.replicas.value, self.truth.total(0), job.replicas.bound, proven=job.proven
        )
        top = self.truth.largest_multiple()
        self.between("largest_job", job.scale, top, job.scale_bound, proven=job.scale >= job.scale_bound)

    def ask_stranded(self) -> None:
        """Ask `stranded`: the most that replicas of the claims can use of each kind, in any numbers."""
        found = stranded(self.cluster, [workload.claims[0] for workload in self.workloads], time_limit=SECONDS)
        for kind in found.kinds:
            most = self.truth.usable(kind.kind)
            self.between(f"stranded {kind.kind}", kind.usable, most, kind.bound, proven=kind.usable >= kind.bound)
        self._each_stranded(found)

    def _each_stranded(self, found: Stranded) -> None:
        """Hold every node by itself. CPUs are counted in cores only if a claim asks for cores."""
        frees = {node.name: node.free() for node in self.nodes}
        asked = {kind for claim in self.truth.drawn for kind in claim.uses}
        question = "stranded on a node"
        for name, kind in [(name, kind) for rows in found.nodes for name in rows.nodes for kind in rows.kinds]:
            most, free = self.truth.usable_on(frees[name], kind.kind), frees[name].count(kind.kind)
            self.between(question, kind.usable, most, kind.bound, proven=kind.usable >= kind.bound)
            if kind.kind in asked and free != kind.free:
                self.say(question, f"{kind.free} {kind.kind} are free, but {free} is right")

    def ask_plan(self) -> None:
        """Ask `make_plan` of the first claim: it fits where counting says so, with the least values of the goals."""
        plan = checked_plan(self.cluster, self.workloads[0].claims[0], time_limit=SECONDS)
        fits = any(self.truth.most(0, free) for free in self.truth.frees)
        self.asked[
            f"make_plan {'proven' if plan.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE) else 'open'}"
        ] += 1
        if plan.fits and not fits:
            self.say("make_plan", "it fits, but it does not")
        if plan.status is PlanStatus.INFEASIBLE and fits:
            self.say("make_plan", "it does not fit, proven; but it does")
        if not plan.fits or not fits:
            return
        self.goals("make_plan", plan.goals, self.truth.goals_of_one())

    def ask(self, rng: random.Random, *, everything: bool = False) -> None:
        """Ask for a plan, and two of the other questions or all of them."""
        plan = self.ask_fleet()
        others = [lambda: self.ask_after(plan), self.ask_job, self.ask_stranded, self.ask_plan]
        if len(self.claims) == 1:
            others.append(lambda: self.ask_fleet("nodes"))
        for question in others if everything else rng.sample(others, 2):
            question()


class SmallCase(Case):
    """A case of small nodes, on which bounds and misfits are met more often."""

    roots = (1, 4)


def seeds(first: int, end: int) -> range:
    """Return the seeds of the environment variable, or the ones given."""
    given = os.environ.get(SEEDS)
    return range(*map(int, given.split(":"))) if given else range(first, end)


def run(seed: int, kind: type[Case] = Case, *, everything: bool = False) -> Case:
    """Ask the questions of the case of a seed."""
    case = kind.random(seed)
    case.ask(random.Random(f"questions {seed}"), everything=everything)
    return case
