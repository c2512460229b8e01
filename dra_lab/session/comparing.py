"""Plans that a person keeps for comparing: the present plan with its answer, worked out in a worker thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace as replaced
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_lab.errors import Cancelled, DraLabError, InputError, did_you_mean
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.model.cluster import cluster_fingerprint
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Kept, KnownValue, claims_of
from dra_lab.model.workload import Workload
from dra_lab.session.answering import Answering
from dra_lab.session.answers import Answer, values_of_amounts, with_amounts
from dra_lab.session.drawings import fleet_cluster, numbered
from dra_lab.session.history import MOST_KEPT
from dra_lab.session.job import Job, Run
from dra_lab.session.preparing import settled_layers
from dra_lab.session.question import SessionQuestion
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.facts import counted
from dra_lab.words.plan_json import plan_json, values_of_plan

if TYPE_CHECKING:
    from dra_lab.model.cluster import Cluster
    from dra_lab.session.history import Content
    from dra_lab.words.scheduler_sentences import Simulation

MOST_COMPARED = 4
"""Plans side by side."""

NOW, BASELINE = "now", "baseline"
"""Names of the columns of the present plan, and of the one without the what-if changes."""

BASELINE_SECONDS = 5.0
"""How long the question without its what-if changes is planned."""

COPIES_SECONDS = 5.0
"""How long the copies of a kept plan are counted; later its number is a range."""


class Comparing(Job[None]):
    """The kept plans of a session. Each change is one undo step and is stored in the plan file."""

    def __init__(self, session: Answering) -> None:
        """Begin without a question; no thread is begun."""
        super().__init__(lambda: session.events.emit("compare"))
        self._session, self._fleet = session, session.fleet
        self._answers: dict[str, Plan] = {}  # of kept plans that are not simulated yet, by name
        self._chosen: tuple[str, ...] = ()
        self._baseline: tuple[SessionQuestion, Kept] | None = None
        self._wanted: SessionQuestion | None = None

    @property
    def plans(self) -> tuple[Kept, ...]:
        """Return the plans side by side: those that were chosen, else the last four that were kept."""
        chosen = tuple(kept for kept in self._content.kept if kept.name in self._chosen)
        return chosen or self._content.kept[-MOST_COMPARED:]

    @property
    def columns(self) -> tuple[Kept, ...]:
        """Return what stands side by side: the plan without what-if changes, the present one, and those kept.

        A kept plan that is the present one stands for it. Older kept plans give way.
        """
        kept = self.plans
        drawn = any(self.is_drawn(one) and self.is_of(one, self._session.snapshot) for one in kept)
        found = [None if drawn else self._now()]
        if self._baseline is not None and self._baseline[0] == self._without_changes:
            found.insert(0, self._baseline[1])
        first = [one for one in found if one is not None]
        return (*first, *kept[-(MOST_COMPARED - len(first)) :])

    @property
    def is_of_fleet(self) -> bool:
        """Say whether the present question is about the workloads of the fleet, not about the drawing alone."""
        return bool(self._content.workloads)

    @property
    def lacks_baseline(self) -> bool:
        """Say whether the plan without the what-if changes is wanted, and not asked for yet."""
        wanted = self._without_changes
        return wanted is not None and wanted != self._wanted

    @property
    def _without_changes(self) -> SessionQuestion | None:
        """Return the present question without its what-if changes, None if it has none."""
        content, session = self._content, self._session
        if not content.layers:
            return None
        release = session.snapshot.target_release(session.drawing.release or None)
        sketch = None if content.workloads else content.sketch
        return SessionQuestion(session.snapshot, release, content.workloads, sketch, goals=session.drawing.goals)

    def _now(self) -> Kept | None:
        """Return the present plan as it would be kept, None while it is planned."""
        answer, session = self._fleet.answer, self._session
        if self.is_of_fleet:
            return self._of_fleet(answer, NOW) if answer is not None and self._fleet.is_current else None
        plan = session.answer
        if plan is None or not session.is_answered or not plan.sketch.requests:
            return None
        return self._of_plan(plan, NOW, session.cluster)

    @property
    def every(self) -> tuple[Kept, ...]:
        """Return all kept plans, the oldest first."""
        return self._content.kept

    def choose(self, names: Sequence[str]) -> None:
        """Show these plans side by side, the last four for none. Raises InputError for too many or an unknown name."""
        if len(names) > MOST_COMPARED:
            raise InputError(f"{len(names)} plans are chosen, and {MOST_COMPARED} fit side by side")
        self._chosen = tuple(self.kept(name).name for name in names)
        self._session.events.emit("compare")

    def is_of(self, kept: Kept, snapshot: Cluster) -> bool:
        """Say whether a plan was kept from a snapshot with this content; one of an older file, from one of its name."""
        if not kept.snapshot:
            return kept.cluster == snapshot.name
        return kept.snapshot == cluster_fingerprint(snapshot)

    @property
    def _content(self) -> Content:
        return self._session.history.present

    def keep(self, plan: Plan, name: str = "") -> str:
        """Keep a plan of the present drawing and return its name; its copies are counted in the worker.

        Raises InputError if the file has no space for more, the name is taken, or the plan is of another drawing.
        """
        session, taken = self._session, [kept.name for kept in self._content.kept]
        if plan.sketch != self._content.sketch or plan.cluster != session.cluster.name:
            raise InputError("the drawing is still being planned; keep the plan when its answer is there")
        if not plan.sketch.requests:
            raise InputError("nothing is drawn yet; draw a request and keep its plan")
        if len(self._content.kept) >= MOST_KEPT:
            raise InputError(f"{MOST_KEPT} plans are kept, which is all that a file holds; remove one first")
        links = counted(len(plan.sketch.links), "link") if plan.sketch.links else "no links"
        own = name.strip() or next(made for made in numbered(f"{plan.sketch.name}, {links}") if made not in taken)
        if own in (*taken, NOW, BASELINE):
            raise InputError(f"there is a kept plan {own!r} already; give another name")
        made = self._of_plan(plan, own, session.cluster)
        self._answers[own] = plan
        if len(self._chosen) < MOST_COMPARED:
            self._chosen = (*self._chosen, own) if self._chosen else ()
        self._change((*self._content.kept, made))
        self.complete()
        return own

    def keep_fleet(self, name: str = "") -> str:
        """Keep the present answer of the fleet and return its name. Raises InputError if there is none."""
        fleet = self._fleet
        answer, names = fleet.answer, [kept.name for kept in self.every]
        if answer is None or not fleet.is_current:
            raise InputError("the fleet is still being planned; keep it when the answer is there")
        words = ", ".join(layer.words for layer in fleet.layers) or "As it is"
        own = name.strip() or next(made for made in numbered(words) if made not in names)
        made = self._of_fleet(answer, own)
        if answer.gangs is None:  # pods alone are simulated, and those of a gang start together
            self._answers[own] = answer.plan
        rest = [kept for kept in self.every if kept.name != own]
        self._change((*rest, made)[-MOST_KEPT:])
        return own

    def _of_plan(self, plan: Plan, name: str, cluster: Cluster) -> Kept:
        """Return the plan of a drawing on a cluster as it is kept."""
        return self._kept(
            name,
            mode="plan",
            release=self._session.release.version,
            node=plan.node,
            sketch=plan.sketch,
            sentence=answer_sentence(plan, cluster),
            figures=values_of_plan(plan_json(plan)),
            yaml=manifest_yaml(plan.sketch, cluster, self._session.release).text,
            devices={str(placement.device): placement.request for placement in plan.placements},
        )

    def _of_fleet(self, answer: Answer, name: str) -> Kept:
        """Return the answer to a fleet as it is kept."""
        return self._kept(
            name,
            release=str(answer.question.release.version),
            workloads=answer.question.pods,
            sentence=answer.sentence,
            figures={**answer.figures, **values_of_amounts(answer.amounts)},
            yaml=fleet_yaml(answer),
        )

    def _kept(self, name: str, **fields: Any) -> Kept:
        """Return a kept plan of the present cluster with its what-if changes, which the baseline has not."""
        snapshot = self._session.snapshot
        layers = () if name == BASELINE else self._content.layers
        key = cluster_fingerprint(snapshot)
        return Kept(name=name, cluster=snapshot.name, layers=layers, snapshot=key, **fields)

    def complete(self) -> None:
        """Work out in the worker what is not known of the kept plans: copies, and what kube-scheduler does."""
        snapshot, every = self._session.snapshot, self._content.kept
        if self.lacks_baseline or any(plan.name in self._answers for plan in every):
            self._wanted = self._without_changes
            self.start(lambda run: self._count(run, snapshot, every))

    def remove(self, name: str) -> None:
        """Forget a kept plan. Raises InputError if there is none of that name."""
        gone = self.kept(name)
        self._change(tuple(kept for kept in self._content.kept if kept is not gone))

    def rename(self, name: str, to: str) -> None:
        """Give a kept plan another name. Raises InputError for a name that is taken or empty."""
        old, new = self.kept(name), to.strip()
        if not new or (new != name and any(kept.name == new for kept in self._content.kept)):
            raise InputError(f"there is a kept plan {new!r} already; give another name" if new else "give a name")
        if name in self._answers:
            self._answers[new] = self._answers.pop(name)
        self._change(tuple(replace(kept, name=new) if kept is old else kept for kept in self._content.kept))

    def restore(self, name: str) -> None:
        """Make a kept plan's drawing or workloads the present ones, with its what-if changes: one undo step."""
        kept, content = self.kept(name), self._content
        if kept.mode == "plan":
            content = replace(content.with_sketch(kept.sketch), layers=kept.layers)
        else:
            drawn = claims_of(content.sketch)
            same = any(pod.pod == content.editing and pod.claims == drawn for pod in kept.workloads)
            editing = content.editing if same else ""
            content = replace(content, workloads=kept.workloads, layers=kept.layers, editing=editing)
        self._session.change(content)

    def kept(self, name: str) -> Kept:
        """Return a kept plan. Raises InputError if there is none of that name."""
        names = [kept.name for kept in self._content.kept]
        if name not in names:
            raise InputError(f"there is no kept plan {name!r}{did_you_mean(name, names)}")
        return self._content.kept[names.index(name)]

    def is_drawn(self, kept: Kept) -> bool:
        """Say whether a kept plan is that of the present drawing."""
        content = self._content
        if kept.mode == "plan":
            return (kept.sketch, kept.layers) == (content.sketch, content.layers)
        return (kept.workloads, kept.layers) == (content.workloads, content.layers)

    def _count(self, run: Run[None], snapshot: Cluster, kept: tuple[Kept, ...]) -> None:
        """Plan without the what-if changes, then count the copies of each kept plan that has no number of them."""
        wanted = self._without_changes
        if wanted is not None and (self._baseline is None or self._baseline[0] != wanted):
            run.report("Planning without the what-if changes")
            with suppress(DraLabError):
                self._baseline = wanted, self._planned(run, wanted)
                self._session.events.emit("compare")
        for plan in kept:
            if not self.is_of(plan, snapshot) or run.stop.is_set():
                continue
            cluster = settled_layers(snapshot, plan.layers).cluster
            if plan.mode == "plan" and "copies" not in plan.figures:
                run.report(f"Counting the copies of “{plan.name}”")
                with suppress(DraLabError):
                    values = more_values(plan, cluster, run.stop)
                    self._session.events.post(partial(self._counted, plan, values))
            if (answer := self._answers.get(plan.name)) is not None:
                run.report(f"Simulating kube-scheduler with “{plan.name}”")
                with suppress(DraLabError):
                    found = simulated(plan, answer, cluster, run.stop)
                    self._answers.pop(plan.name, None)
                    values = {}
                    if found.achieves is not None:
                        values["achieved"] = KnownValue(value=int(found.achieves), bound=int(found.achieves))
                    self._session.events.post(partial(self._counted, plan, values, found.sentence))

    def _planned(self, run: Run[None], question: SessionQuestion) -> Kept:
        """Return the plan without the what-if changes as it would be kept."""
        from dra_lab.planner.plan_workloads import plan_workloads

        known = self._fleet.unchanged
        if question.pods and known is not None and known.question.pods == question.pods:
            return self._of_fleet(known, BASELINE)
        question = replace(question, cluster=fleet_cluster(question.cluster, question.pods))
        goals = () if question.has_gangs else question.goals
        common: dict[str, Any] = {"release": question.release, "time_limit": BASELINE_SECONDS, "cancel": run.stop}
        plan = plan_workloads(question.cluster, question.workloads, goals=goals, **common)
        if question.sketch is None:
            return self._of_fleet(with_amounts(Answer(question, plan)), BASELINE)
        return self._of_plan(replaced(plan, drawn=question.sketch), BASELINE, question.cluster)

    def _counted(self, of: Kept, values: Mapping[str, KnownValue], simulation: str = "") -> None:
        content, plain = self._content, {"name": "", "figures": {}, "simulation": ""}
        kept = (
            replace(k, figures={**k.figures, **values}, simulation=simulation or k.simulation)
            if replace(k, **plain) == replace(of, **plain)  # the same plan, maybe under another name
            else k
            for k in content.kept
        )
        self._session.complete(replace(content, kept=tuple(kept)))
        self._session.events.emit("compare")

    def _change(self, kept: tuple[Kept, ...]) -> None:
        self._session.change(replace(self._content, kept=kept))
        self._session.events.emit("compare")


def fleet_yaml(answer: Answer) -> str:
    """Return the claims of the workloads as they are planned, as manifests, each under a comment with its pods."""
    question, parts = answer.question, []
    for one in answer.plan.workloads or question.workloads:
        gang = answer.drawn(one.name).gang
        words = counted(one.replicas, "pod" if gang is None else "gang")
        words += f" of {counted(gang.size, 'pod')}" if gang is not None else ""
        parts += [
            f"# {words} of {one.name}\n{manifest_yaml(claim, question.cluster, question.release).text}"
            for claim in one.claims
            if claim.requests
        ]
    return "---\n".join(parts)


def more_values(kept: Kept, cluster: Cluster, stop: threading.Event) -> dict[str, KnownValue]:
    """Return how many copies of a kept claim fit in all, and what is stranded beside them. Raises as `plan_fleet`."""
    from dra_lab.planner.questions import how_many_more, stranded

    release = cluster.target_release(KubernetesRelease(kept.release))
    workload = Workload(kept.sketch.name, kept.sketch)
    headroom = how_many_more(cluster, workload, release=release, time_limit=COPIES_SECONDS, cancel=stop)
    lost = stranded(cluster, claims_of(kept.sketch), release=release, time_limit=COPIES_SECONDS, cancel=stop)
    if stop.is_set():
        raise Cancelled("the copies were not counted")
    found = {"copies": KnownValue(value=headroom.count.value, bound=headroom.count.bound)}
    for kind in lost.kinds:
        proven = kind.proven and not lost.not_examined
        found[f"stranded/{kind.kind}"] = KnownValue(value=kind.stranded, bound=kind.stranded if proven else None)
    return found


def simulated(kept: Kept, answer: Plan, cluster: Cluster, stop: threading.Event) -> Simulation:
    """Return what kube-scheduler does with a kept plan's manifest, as an export says it. Raises Cancelled."""
    from dra_lab.session.outputs import Planned, bundle
    from dra_lab.sketch.claim_objects import Target

    target = Target(cluster.target_release(KubernetesRelease(kept.release)))
    on = fleet_cluster(cluster, kept.workloads)
    return bundle(Planned(on, answer, kept.sketch), target, cancel=stop).simulation
