"""A person goes through the planner at random: what is shown always belongs to the question that is shown."""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from contradictions import of_text
from widget_messages import say

from dra_lab import ClusterBar, HardwareView, PlanView, Session, read_sketch
from dra_lab.errors import DraLabError
from dra_lab.model.sketch import GangDrawing
from dra_lab.widgets.session_view import MOMENT
from dra_lab.words.answer_sentence import verdict_sentence

SAMPLES = {
    "sample:two-sockets": "lesson",
    "sample:eks-p4d": "gpu-nic-pairs",
    "sample:h100-pod": "eight-pairs",
    "sample:dgx-h100": "gpu-nic-cpu",
}
LEVELS = {"sample:h100-pod": "leaf switch"}
PYTHON = re.compile(r"Traceback|Error:|NoneType|object has no attribute|KeyError|0x[0-9a-f]{8}")


class Walk:
    """The widgets of one planner, and what a person may do there next."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.session = Session("sample:two-sockets", sketch=read_sketch("sample:two-sockets/lesson"))
        self.bar, self.view, self.hardware = (
            ClusterBar(self.session),
            PlanView(self.session),
            HardwareView(self.session),
        )
        self.done: list[str] = []

    async def step(self) -> None:
        """Do one thing, and wait for its answer while the loop runs, as in a kernel."""
        acts = [name for name in dir(self) if name.startswith("act_")]
        name = self.chance.choice([*acts, "act_mode", "act_mode", "act_drain"])
        self.done.append(name.removeprefix("act_"))
        try:
            getattr(self, name)()
        except DraLabError as error:
            self.done[-1] += f" (refused: {error})"
        jobs = (self.bar.loading, self.session, self.session.comparing)
        await asyncio.sleep(0.02)
        while not all(job.wait(0.0) for job in jobs):  # noqa: ASYNC110  the jobs are threads
            await asyncio.sleep(0.02)
        await asyncio.sleep(2 * MOMENT)

    def act_load(self) -> None:
        """Load another cluster, sometimes with the drawing of its example."""
        name = self.chance.choice([*SAMPLES])
        say(self.bar, type="load", source=name)
        if self.chance.random() < 0.7:
            self.session.edit(read_sketch(f"{name}/{SAMPLES[name]}"))

    def act_drain(self) -> None:
        """Drain a node."""
        if names := self.session.cluster.node_names:
            say(self.view, type="add-layer", change="drain", subject=self.chance.choice(names))

    def act_idle(self) -> None:
        """Ask what were if nothing were in use."""
        say(self.view, type="add-layer", change="idle")

    def act_undo_what_if(self) -> None:
        """Take the last what-if change back, as the bar offers it."""
        if self.session.fleet.layers:
            say(self.bar, type="undo-what-if")

    def act_mode(self) -> None:
        """Show another mode."""
        say(self.bar, type="mode", mode=self.chance.choice(["plan", "fleet", "compare", "trace"]))

    def act_replicas(self) -> None:
        """Ask for other replicas of a workload."""
        names = [pod.pod for pod in self.session.fleet.workloads]
        if names:
            say(self.view, type="set-replicas", name=self.chance.choice(names), replicas=self.chance.randint(0, 6))

    def act_gang(self) -> None:
        """Make a workload a gang, or single pods again."""
        names = [pod.pod for pod in self.session.fleet.workloads]
        if names:
            level = LEVELS.get(self.session.snapshot.name, "")
            drawn = self.chance.choice([None, GangDrawing(size=2, level=level)])
            self.session.fleet.set_gang(self.chance.choice(names), drawn)

    def act_keep(self) -> None:
        """Keep the present plan."""
        if len(self.session.comparing.every) < 6:
            say(self.view, type="keep-for-compare")

    def act_undo(self) -> None:
        """Undo a step."""
        self.session.undo()

    def act_redo(self) -> None:
        """Do an undone step again."""
        self.session.redo()

    def wrong(self) -> list[str]:
        """Return what the screen says of another question, or against itself."""
        session, found = self.session, []
        if self.bar.source != session.snapshot.name:
            found.append(f"the bar names {self.bar.source}, the cluster is {session.snapshot.name}")
        if list(self.bar.what_if) != [layer.words for layer in session.fleet.layers]:
            found.append(f"the bar has the changes {self.bar.what_if}")
        answer = self.view.answer
        is_shown = session.answer is not None and not answer.get("stale") and session.refusal is None
        if is_shown and (session.answer.cluster, session.answer.sketch) != (session.cluster.name, session.sketch):
            found.append("the verdict is of another drawing or cluster")
        if session.mode == "fleet":
            found += self._wrong_fleet()
        for plan in self.view.compare.get("plans", ()) if session.mode == "compare" else ():
            if plan.get("kind") == "now" and session.comparing.is_of_fleet:
                found += [] if plan["sentence"] == session.fleet.answer.sentence else ["now is another fleet"]
        shown = "\n".join(
            str(text) for text in (answer.get("sentence"), answer.get("scheduler"), self.view.fleet_answer)
        )
        found += of_text(shown)
        told = [self.view.problem, self.bar.problem, self.hardware.problem, shown]
        return found + [f"Python on the screen: {text}" for text in told if PYTHON.search(str(text))]

    def _wrong_fleet(self) -> list[str]:
        fleet, row = self.session.fleet, self.view.fleet_answer
        if fleet.refusal is not None or fleet.answer is None:
            return [] if row.get("state", "empty") in ("error", "empty", "solving") else ["a verdict without an answer"]
        if not fleet.is_current or fleet.answer.question.pods != fleet.workloads:
            return ["the fleet is of other workloads or another cluster"]
        said = verdict_sentence(fleet.answer.plan, fleet.answer.question.cluster)
        return [] if row["sentence"] == said else [f"the verdict is {row['sentence']!r}, the answer {said!r}"]

    def close(self) -> None:
        """End every thread."""
        for widget in (self.bar, self.view, self.hardware):
            widget.close()
        self.session.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_what_is_shown_belongs_to_the_question_that_is_shown(seed):
    """200 actions in all: load, drain, gang, modes, undo, keep."""

    async def walk() -> None:
        walk = Walk(seed)
        try:
            for _ in range(50):
                await walk.step()
                assert walk.wrong() == [], walk.done
        finally:
            walk.close()

    asyncio.run(walk())
