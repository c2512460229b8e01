"""The Fleet mode of `PlanView`: the workloads, the what-if changes, the scenarios, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import traitlets

from dra_lab.errors import Cancelled
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import STOPS, GangVerdicts
from dra_lab.model.layers import Layer, spans
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import PodDrawing
from dra_lab.pictures.letters import PALETTE, letter
from dra_lab.session import Session
from dra_lab.session.answers import Answer
from dra_lab.session.comparing import Comparing
from dra_lab.session.drawings import admitted
from dra_lab.session.fleet import SessionFleet
from dra_lab.session.gang_answers import GangAnswer
from dra_lab.sources.files import confined
from dra_lab.sources.samples import PREFIX
from dra_lab.topology.locality import localities
from dra_lab.widgets.answer_rows import State
from dra_lab.widgets.compare_mode import ScenarioRow, scenario_columns, scenario_row
from dra_lab.widgets.gang_rows import GangRow, gang_row, is_kueue, scheduler_row
from dra_lab.widgets.session_view import Pane, Row, calls, on
from dra_lab.words.answer_sentence import proof_sentence, verdict_and_values
from dra_lab.words.document import printable
from dra_lab.words.facts import FLEET_TERMS, GLOSSARY, counted, sentence
from dra_lab.words.scheduler_sentences import scheduler_sentences
from dra_lab.words.verdict import Tile, Tone
from dra_lab.words.workload_words import (
    claim_words,
    more_number,
    more_words,
    request_words,
    sharing_words,
    stranded_words,
)


class FleetAnswerRow(Row, frozen=True):
    """The answer to the fleet: what is asked, the verdict, its proof, what a scheduler does with a gang, the tiles.

    `stale` while the answer is for another question; `working` says what goes on, "" if nothing; `gap` is how far the
    plan is from its bound, as placed and most that may fit. `can_improve` if it was stopped before the proof.
    """

    state: State = "empty"
    asked: str = ""
    verdict: str = ""
    proof: str = ""
    scheduler: str = ""
    tiles: tuple[Tile, ...] = ()
    stale: bool = False
    working: str = ""
    gap: tuple[int, int] = (0, 0)
    can_improve: bool = False
    can_undo: bool = False
    can_redo: bool = False


def fleet_answer_row(session: Session) -> FleetAnswerRow:
    """Return what is asked of the fleet of a session, and the answer so far."""
    fleet, answer = session.fleet, session.fleet.answer
    history = {"can_undo": session.history.can_undo, "can_redo": session.history.can_redo}
    common: dict[str, Any] = {"asked": request_words(fleet.workloads), **history}
    if fleet.refusal is not None:
        is_stopped = isinstance(fleet.refusal, Cancelled)
        proof = str(fleet.refusal)
        return FleetAnswerRow(state="error", verdict="No answer.", proof=proof, can_improve=is_stopped, **common)
    if not fleet.workloads:
        return FleetAnswerRow(verdict="Nothing to plan yet. Draw a claim in Plan, or add one from a file.", **common)
    if answer is None:
        return FleetAnswerRow(state="solving", verdict="Planning …", stale=True, working="Planning", **common)
    is_current = fleet.is_current
    pins = sum(sum(pod.pins.values()) for pod in answer.question.pods)
    working = ""
    if fleet.stale:
        working = "Planning" if not is_current else _working_words(answer, session.progress)
    placed = answer.figures["placed"]
    verdict, values = verdict_and_values(answer.plan, answer.question.cluster)
    return FleetAnswerRow(
        state=_state(answer),
        verdict=verdict,
        proof=" ".join(filter(None, (values, _proof(answer.plan, pins)))),
        scheduler=_scheduler(answer.plan, answer.gangs) if answer.gangs is not None and is_current else "",
        tiles=_tiles(answer),
        stale=not is_current,
        working=working,
        gap=(placed.value, placed.bound) if placed.bound is not None and placed.bound > placed.value else (0, 0),
        can_improve=is_current and not fleet.stale and not answer.complete,
        **common,
    )


def _proof(plan: Plan, pins: int) -> str:
    """Return what is proven, the first reason if pods have no place, and what kube-scheduler does instead."""
    reasons = [sentence(reason.message) for reason in plan.shortfalls[:1] if plan.fits]
    pinned = f"{counted(pins, 'pod')} {'is' if pins == 1 else 'are'} pinned." if pins and not plan.proven else ""
    scheduler = scheduler_sentences(plan) if plan.fits else ()
    return printable(" ".join(filter(None, (proof_sentence(plan, most=2), pinned, *reasons, *scheduler))))


def _scheduler(plan: Plan, gangs: GangAnswer) -> str:
    """Return what stops the first gang in its queue, else what Kueue does with it."""
    name = plan.gangs[0].name if plan.gangs else ""
    verdicts = gangs.verdicts.get(name)
    if isinstance(verdicts, GangVerdicts) and verdicts.quota.row.says in STOPS:
        return printable(f"Quota stops it: {verdicts.quota.row.sentence}")
    if plan.status is PlanStatus.INFEASIBLE:
        return ""  # no scheduler can do what is impossible
    kueue = next((one for one in gangs.choices.get(name, ()) if is_kueue(one)), None)
    return scheduler_row(kueue).text if kueue is not None and kueue.replay.domains else ""


def _working_words(answer: Answer, progress: Any) -> str:
    if answer.gangs is not None and answer.gangs.nodes:
        wanted = len(answer.plan.gangs)
        if len(answer.gangs.total) < wanted:
            return "Counting how many more gangs fit"
        return "Simulating schedulers" if len(answer.gangs.choices) < wanted else "Finding what is stranded"
    if answer.headroom:
        return "Finding what is stranded" if answer.stranded is None else "Comparing with kube-scheduler"
    if answer.plan.proven:
        return "Counting how many more fit"
    text = getattr(progress, "text", "")
    return f"Improving: {text}" if text else "Improving"


def _state(answer: Answer) -> State:
    plan = answer.plan
    if plan.status is PlanStatus.EMPTY:
        return "empty"
    if not plan.pods:
        return "misfit" if plan.proven else "stopped"
    return "fits" if answer.figures["placed"].value == answer.figures["wanted"].value else "misfit"


def _tiles(answer: Answer) -> tuple[Tile, ...]:
    placed, wanted = answer.figures["placed"].value, answer.figures["wanted"].value
    tone: Tone = "ok" if placed == wanted else "warn"
    tiles = [_tile(f"{placed:,} of {wanted:,}", "pods placed", "Pods placed", "placed", tone)]
    for headroom in answer.headroom[:2]:
        head, comma, proof = more_words(headroom).partition(" more")
        name = f" {headroom.workload}" if len(answer.headroom) > 1 else ""
        tiles.append(_tile(f"{head}{name}", f"more fit{proof}" if comma else "", "More pods that fit", "more"))
    tiles += _gang_tiles(answer, answer.gangs) if answer.gangs is not None else []
    for value, caption in stranded_words(answer.stranded)[:2] if answer.stranded is not None else ():
        tones: Tone = "plain" if value.startswith("0 ") else "warn"
        tiles.append(_tile(value, caption, "Stranded devices", "stranded", tones))
    return tuple(tiles)


def _tile(value: str, caption: str, title: str, term: str, tone: Tone = "plain") -> Tile:
    return Tile(value=value, caption=caption, tone=tone, title=title, lines=(GLOSSARY[term],))


def _gang_tiles(answer: Answer, gangs: GangAnswer) -> list[Tile]:
    several, tiles = len(gangs.more) > 1, []
    for name, more in [*gangs.more.items()][:2]:
        drawn = answer.drawn(name).gang
        same = f" {sharing_words(drawn.same, 'these', short=True)}" if drawn is not None and drawn.same else ""
        head = f"{more.count.value if same else more.count} more{f' {name}' if several else ''}"
        proof = ", proven" if more.proven else ""
        tiles.append(_tile(head, f"gangs fit{same}{proof}", "More gangs", "more gangs"))
    return tiles


class WorkloadRow(Row, frozen=True):
    """One workload: `detail` says what a pod requests, `more` how many more fit, `pins` the nodes that pods must be on.

    `editing` says that the canvas shows its claims. With a `gang`, `wanted`, `placed` and `more` count gangs. `letter`
    and `colour` are those on the bars and pictures; `devices` counts what one pod has of each kind of device.
    """

    name: str
    detail: str
    wanted: int
    placed: int = 0
    more: str = ""
    pins: tuple[tuple[str, int], ...] = ()
    editing: bool = False
    letter: str = ""
    colour: str = ""
    ink: str = ""
    devices: dict[str, int] = {}
    gang: GangRow | None = None


class LayerRow(Row, frozen=True):
    """One what-if change; `problem` says why it does not apply to this cluster, `note` what to know if it does.

    It is `count` layers from the position `first`.
    """

    words: str
    first: int = 0
    count: int = 1
    problem: str = ""
    note: str = ""


class ScenarioTable(Row, frozen=True):
    """The present answer beside the kept ones."""

    columns: tuple[str, ...] = ()
    rows: tuple[ScenarioRow, ...] = ()


class FleetMode(Pane):
    """The fleet and the answer to it; it has no values before the mode is shown for the first time."""

    fleet_answer = traitlets.Dict().tag(sync=True, value=FleetAnswerRow)
    fleet_workloads: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[WorkloadRow])
    fleet_layers: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[LayerRow])
    fleet_terms = traitlets.Dict(FLEET_TERMS, read_only=True).tag(sync=True, value=dict[str, str])
    fleet_scenarios = traitlets.Dict().tag(sync=True, value=ScenarioTable)

    only_in = "fleet"

    def _begin(self) -> None:
        self.when(self._show_fleet, "fleet", "mode", "history")
        self.when(self.soon(lambda: self.assign(fleet_answer=fleet_answer_row(self.session))), "progress")

    def _show_fleet(self) -> None:
        session = self.session
        refused, notes = session.refused_layers, session.layer_notes
        self.assign(
            fleet_answer=fleet_answer_row(session),
            fleet_workloads=_workload_rows(session),
            fleet_layers=[
                LayerRow(
                    words=span.words,
                    first=span.first,
                    count=span.count,
                    problem=" ".join(refused[at] for at in places if at in refused),
                    note=" ".join(notes[at] for at in places if at in notes),
                )
                for span in spans(session.fleet.layers)
                for places in [range(span.first, span.first + span.count)]
            ],
            fleet_scenarios=_scenarios(session),
        )

    # ------------------------------------------------------------ what the person did

    remove_workload = calls(SessionFleet.remove, "fleet", tag="remove-workload")
    rename_workload = calls(SessionFleet.rename, "fleet", tag="rename-workload")
    set_replicas = calls(SessionFleet.set_replicas, "fleet", tag="set-replicas")
    pin_pods = calls(SessionFleet.pin, "fleet", tag="pin-pods")
    move_pod = calls(SessionFleet.move, "fleet", tag="move-pod")
    remove_layer = calls(SessionFleet.remove_layer, "fleet", tag="remove-layer")
    keep_scenario = calls(Comparing.keep_fleet, "comparing", tag="keep-scenario")
    show_mode = calls(Session.show_mode, tag="mode")
    undo = calls(Session.undo, tag="undo")
    redo = calls(Session.redo, tag="redo")

    @on
    def add_workload(self, source: str = "") -> None:
        """Add the workload of a file or `sample:NAME/EXAMPLE`; without a source, the drawing."""
        source = source.strip()
        if not source:
            self.session.fleet.add_drawing()
            return
        if not source.startswith(PREFIX):
            confined(source)
        self.session.fleet.add_file(source)

    @on
    def open_workload(self, name: str) -> None:
        """Show the claim of a workload on the canvas."""
        self.session.fleet.open(name)
        self.session.show_mode("plan")

    @on
    def add_layer(self, change: str, subject: str = "", count: int = 0) -> None:
        """Add a what-if change."""
        self.session.fleet.what_if(Layer(change=change, subject=subject.strip(), count=count))

    @on
    def improve_fleet(self) -> None:
        """Go on after a stop."""
        self.session.ask_fleet(again=True)


def _devices(session: Session) -> dict[str, dict[str, int]]:
    """Return how many devices of each kind the first pod of each workload has."""
    answer, found = session.fleet.answer, dict[str, dict[str, int]]()
    for pod in answer.plan.pods if answer is not None else ():
        if pod.workload not in found and answer is not None:
            places = localities(answer.question.cluster, pod.node)
            kinds = Counter(places[placed.device].kind for placed in pod.devices if placed.device in places)
            found[pod.workload] = dict(kinds)
    return found


def letters_of(pods: tuple[PodDrawing, ...]) -> Mapping[str, str]:
    """Return the letter of each workload by its name."""
    return {pod.pod: letter(number) for number, pod in enumerate(pods)}


def _workload_rows(session: Session) -> tuple[WorkloadRow, ...]:
    fleet, answer = session.fleet, session.fleet.answer
    placed = Counter[str]()
    if answer is not None:
        for name, count in answer.plan.placed.items():
            placed[answer.drawn(name).pod] += count
    more = {headroom.workload: more_number(headroom) for headroom in answer.headroom} if answer is not None else {}
    gangs = answer.gangs if answer is not None else None
    if gangs is not None:
        more |= {name: more_number(count) for name, count in gangs.more.items()}
    letters, devices = letters_of(fleet.workloads), _devices(session)
    return tuple(
        WorkloadRow(
            name=pod.pod,
            detail=workload_words(session.cluster, pod),
            wanted=pod.replicas,
            placed=placed[pod.pod],
            more=more.get(pod.pod, ""),
            pins=tuple(sorted(pod.pins.items())),
            editing=pod.pod == fleet.editing,
            letter=letters[pod.pod],
            colour=PALETTE[at % len(PALETTE)].fill,
            ink=PALETTE[at % len(PALETTE)].text,
            devices=devices.get(pod.pod, {}),
            gang=None if pod.gang is None else gang_row(session, pod, pod.gang, answer),
        )
        for at, pod in enumerate(fleet.workloads)
    )


def _scenarios(session: Session) -> ScenarioTable:
    fleet, every = session.fleet, session.comparing.every
    # figures of another cluster say nothing beside those of this one
    shown = {kept.name: kept.figures if kept.cluster == session.snapshot.name else {} for kept in every}
    before = fleet.unchanged if fleet.layers else None
    present = [one.figures for one in (fleet.answer, before) if one is not None]
    columns = scenario_columns([*present, *shown.values()])
    rows = []
    if before is not None:
        rows.append(scenario_row("without changes", before.figures, tuple(columns)))
    if fleet.answer is not None:
        words = ", ".join(layer.words for layer in fleet.layers) or "as it is"
        rows.append(scenario_row(f"now: {words}", fleet.answer.figures, tuple(columns), now=True))
    rows += [scenario_row(kept.name, shown[kept.name], tuple(columns), kept=kept) for kept in every]
    return ScenarioTable(columns=tuple(columns.values()), rows=tuple(rows))


def workload_words(cluster: Cluster, pod: PodDrawing) -> str:
    """Return what a pod of a workload requests, then the nodes and DeviceClasses that its file says."""
    nodes, every = len(admitted(cluster, pod)), len(cluster.node_names)
    words = [claim_words(pod.claims)]
    words += [f"on {nodes:,} of {counted(every, 'node')}"] if nodes < every else []
    words += [f"with DeviceClass {', '.join(one.name for one in pod.classes)}"] if pod.classes else []
    return ", ".join(words)
