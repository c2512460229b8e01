"""Many plans at once: scenarios are independent, so joblib spreads them over processes or machines."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from dra_lab.errors import Cancelled, DraLabError, InputError, SolverError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.arguments import given
from dra_lab.printing import Shown


@dataclass(frozen=True)
class Scenario:
    """What is different in one of the questions of `plan_scenarios`; what is None is as in the call.

    Args:
        name: The name of the scenario in the answers.
        cluster: The cluster to plan on.
        what: The pods, as in `make_plan`.
        release: The release to plan for.
        goals: Goals to put in front of the others, as in `make_plan`.
        node: The only node to plan on; default "": all nodes. For one pod only.
        time_limit: Seconds for this scenario.

    Example:
        >>> from dra_lab import Scenario, load_cluster, plan_scenarios, read_sketch
        >>> # On a sample cluster.
        >>> cluster, sketch = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
        >>> (answer,) = plan_scenarios(cluster, sketch, [Scenario("today")], jobs=1, progress=False)
        >>> answer.plan.fits
        True
    """

    name: str
    cluster: Cluster | None = None
    what: Any = None
    release: KubernetesRelease | str | None = None
    goals: tuple[str, ...] | None = None
    node: str = ""
    time_limit: float | None = None

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        other = [f for f in ("cluster", "what", "release", "goals", "node") if getattr(self, f) not in (None, "")]
        return f"<Scenario {self.name!r}: {'other ' + ', '.join(other) if other else 'as it is'}>"


@dataclass(frozen=True, repr=False)
class ScenarioAnswer(Shown):
    """The result of one scenario: its plan, or the error that it ended with; `seconds` is its own time.

    `error` is Cancelled where the scenario was not begun or not ended when it was cancelled.
    """

    scenario: str
    plan: Plan | None = None
    error: DraLabError | None = None
    seconds: float = 0.0


def plan_scenarios(
    cluster: Cluster,
    what: Any,
    scenarios: Iterable[Scenario],
    *,
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    goals: Sequence[str] = (),
    drivers: Any = None,
    time_limit: float | None = None,
    progress: bool = True,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
    jobs: int = -1,
    backend: str | None = None,
    each: Callable[[ScenarioAnswer], None] | None = None,
) -> tuple[ScenarioAnswer, ...]:
    """Return the answers of all scenarios, in their order.

    joblib spreads them over processes on this machine, or over another backend. The backend "dask" sends them to the
    current Dask client. Its workers must have the same dra_lab and two threads or more among them. With one thread,
    joblib sends nothing, and the scenarios are answered here, one after the other.

    Args:
        cluster: The cluster to plan on, if a scenario has no other.
        what: The pods, as in `make_plan`, if a scenario has no others.
        scenarios: What is different in each question. An error of one is part of its answer, and the others go on.
        after: A plan whose pods are there already; default: none.
        release: The release to plan for; default: that of the cluster.
        goals: Goals to put in front of the others, as in `make_plan`; default: the usual order.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds for each scenario; default None: no limit.
        progress: Show a bar (tqdm) after 0.5 s; default True.
        cancel: Ends the search when it is set. In this process it ends at once, elsewhere with the next answer. Ctrl+C
            ends everything and raises KeyboardInterrupt.
        solver: Name of the PuLP solver.
        jobs: Number of processes; default -1: one per core; 1: all in this process.
        backend: Name of a joblib backend; default None: the one chosen with `joblib.parallel_config`.
        each: Is called in this thread with every answer as it arrives, in any order; default: none.

    Returns:
        One answer per scenario, with its plan or its error, and its time in seconds. The error is Cancelled for
        scenarios without an answer when `cancel` was set.

    Raises:
        InputError: `jobs` is 0, or the backend cannot be used.
        SolverError: A process ended, often for want of memory.

    Example:
        >>> from dra_lab import Scenario, load_cluster, plan_scenarios, read_sketch, when_idle
        >>> # On a sample cluster.
        >>> cluster, sketch = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
        >>> scenarios = [Scenario("now"), Scenario("idle", when_idle(cluster))]
        >>> answers = plan_scenarios(cluster, sketch, scenarios, jobs=1, progress=False)
        >>> [(one.scenario, one.plan.node) for one in answers]
        [('now', 'lab-1'), ('idle', 'lab-1')]
    """
    common = {"after": after, "drivers": drivers, "solver": solver}
    every = tuple(
        replace(
            given("scenarios", one, Scenario),
            cluster=one.cluster or cluster,
            what=what if one.what is None else one.what,
            release=one.release or release,
            goals=tuple(goals) if one.goals is None else one.goals,
            time_limit=time_limit if one.time_limit is None else one.time_limit,
        )
        for one in scenarios
    )
    if jobs == 0:
        raise InputError("0 jobs answer nothing; give 1 or more, or -1 for one a core")
    from tqdm.auto import tqdm

    found: dict[int, ScenarioAnswer] = {}
    bar = tqdm(total=len(every), desc="scenarios", unit="plan", disable=not progress, leave=False, delay=0.5)
    with closing(_answers(every, common, jobs, backend, cancel)) as answers, bar:
        while not (cancel is not None and cancel.is_set()):
            arrived = next(answers, None)
            if arrived is None:
                break
            at, answer = arrived
            plan = answer.plan
            found[at] = answer if plan is None else replace(answer, plan=replace(plan, on=every[at].cluster))
            bar.update()
            if each is not None:
                each(found[at])
    for at, scenario in enumerate(every):
        cancelled = Cancelled(f"scenario {scenario.name!r} was cancelled before its answer")
        found.setdefault(at, ScenarioAnswer(scenario.name, error=cancelled))
    return tuple(found[at] for at in range(len(every)))


def _answer(
    at: int, scenario: Scenario, common: Mapping[str, Any], cancel: threading.Event | None
) -> tuple[int, ScenarioAnswer]:
    """Answer one scenario here; an error of ours is part of the answer."""
    # The planner is imported only for an answer.
    from dra_lab.planner.questions import make_plan

    began, plan, failed = time.monotonic(), None, None
    try:
        plan = make_plan(
            given("cluster", scenario.cluster, Cluster),
            scenario.what,
            release=scenario.release,
            node=scenario.node,
            goals=scenario.goals or (),
            time_limit=scenario.time_limit,
            progress=lambda _: None,  # the bar counts scenarios
            # An event of its own: an interrupt is for all scenarios, not for the one that happens to run.
            cancel=cancel or threading.Event(),
            **common,
        )
        # A plan goes back to the process that asked, which has the cluster.
        plan = replace(plan, on=None)
    except DraLabError as error:
        failed = error
    return at, ScenarioAnswer(scenario.name, plan, failed, time.monotonic() - began)


def _answers(
    scenarios: Sequence[Scenario],
    common: Mapping[str, Any],
    jobs: int,
    backend: str | None,
    cancel: threading.Event | None,
) -> Generator[tuple[int, ScenarioAnswer], None, None]:
    """Yield (number, answer) as they come. Closing it ends what still runs."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    try:
        # A backend is named through the configuration: Parallel itself does not look for Dask.
        with parallel_config(backend, n_jobs=jobs) if backend else nullcontext():
            parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        # An event of this process means nothing to another one.
        here = cancel if jobs == 1 or backend == "threading" else None
        running: Any = parallel(delayed(_answer)(at, scenario, common, here) for at, scenario in enumerate(scenarios))
    except (ValueError, ImportError, NotImplementedError) as error:
        raise InputError(f"backend {backend or 'of joblib'!r} cannot be used: {_first_line(error)}") from error
    try:
        for answer in running:  # noqa: UP028 - `yield from` would close `running` before the warnings are caught
            yield answer
    except BrokenProcessPool as error:
        advice = "often for want of memory: try fewer jobs"
        raise SolverError(f"a process that answered scenarios ended ({_first_line(error)}), {advice}") from error
    finally:
        with warnings.catch_warnings():
            # joblib warns about answers that are not awaited; after a cancel none is wanted.
            warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
            running.close()


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
