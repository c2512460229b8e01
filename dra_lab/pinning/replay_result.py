"""What a run of first fit on exported manifests gave, compared with the plan replica by replica."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dra_lab.findings import Finding, Severity
from dra_lab.model.goals import GoalValue


class Miss(Struct, frozen=True):
    """A replica that was not served as well as planned in the worst run: where, and what is worse.

    `ours` and `theirs` are the first goal that is worse, as planned and as served, and `because` why; None and "" where
    no devices were found, or a must-link is broken.
    """

    workload: str
    number: int
    node: str
    why: str
    ours: GoalValue | None = None
    theirs: GoalValue | None = None
    because: str = ""


class Replay(Struct, frozen=True):
    """What running the manifests gave.

    `kept` of `wanted` replicas were served as well as planned in the worst of the runs; `misses` are the others of that
    run. `placed` of `pods` got devices in the run that placed the fewest, `most_placed` in the run that placed the
    most; `pods` are all replicas, also those without a place in the plan. `runs` says which orders and choices of nodes
    were run. `not_run` says what was not, "" where nothing is missing. `recorded` is False for releases whose scheduler
    is reproduced from documentation. `most_steps` and `seconds` are candidates and kube-scheduler's time of the longest
    search of one node.
    """

    wanted: int
    kept: int
    misses: tuple[Miss, ...] = ()
    runs: str = ""
    not_run: str = ""
    recorded: bool = True
    most_steps: int = 0
    seconds: float = 0.0
    pods: int = 0
    placed: int = 0
    most_placed: int = 0

    @property
    def as_planned(self) -> bool:
        """Say whether every replica was served as well as planned in every run, and no run is missing."""
        return self.kept == self.wanted and not self.not_run

    @property
    def never_starts(self) -> bool:
        """Say whether replicas are planned and no pod got devices in any run."""
        return bool(self.wanted and self.runs) and not self.most_placed and not self.not_run

    @property
    def rank(self) -> tuple[int, int]:
        """Return what manifests are compared by, more is better: the pods placed, then those served as planned."""
        return self.placed, self.kept

    @property
    def sentence(self) -> str:
        """Return the result in one sentence."""
        if not self.runs:
            return f"kube-scheduler's first fit was not simulated: {self.not_run}."
        first = f"{self.kept} of {self.wanted} as planned"
        if self.placed < self.pods and self.placed != self.kept:
            first += f", {self.placed} of {self.pods} placed"
        more = [f"replica {miss.number + 1} of {miss.workload} {miss.why}" for miss in self.misses[:3]]
        more += [f"{len(self.misses) - 3} more"] if len(self.misses) > 3 else []
        rest = f"; not simulated: {self.not_run}" if self.not_run else ""
        source = "" if self.recorded else "; from documentation, not recorded"
        return f"{first}{': ' if more else ''}{'; '.join(more)} ({self.runs}{rest}{source})."

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the result as a Finding: a note where the manifests do what was planned, else a warning."""
        severity = Severity.NOTE if self.as_planned else Severity.WARNING
        advice = "" if self.as_planned or not self.misses else "Export with --pin, or use another order of goals."
        return (Finding("replay", severity, "kube-scheduler", self.sentence.rstrip("."), advice),)

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "asPlanned": self.as_planned,
            "kept": self.kept,
            "wanted": self.wanted,
            "placed": self.placed,
            "pods": self.pods,
            "neverStarts": self.never_starts,
            "runs": self.runs,
            "notRun": self.not_run,
            "recorded": self.recorded,
            "mostSteps": self.most_steps,
            "longestSearch": round(self.seconds, 3),
            "misses": [
                {"workload": m.workload, "replica": m.number + 1, "node": m.node, "why": m.why} for m in self.misses
            ],
        }
