"""The Fleet mode of `PlanView`: the workloads, the what-if changes, the scenarios, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import traitlets

from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer, spans
from dra_lab.model.sketch import PodDrawing
from dra_lab.pictures.letters import PALETTE, letter
from dra_lab.session import Session
from dra_lab.session.comparing import Comparing
from dra_lab.session.drawings import admitted
from dra_lab.session.fleet import SessionFleet
from dra_lab.sources.files import confined
from dra_lab.sources.samples import PREFIX
from dra_lab.topology.locality import localities
from dra_lab.widgets.compare_mode import ScenarioRow, scenario_columns, scenario_row
from dra_lab.widgets.gang_rows import GangRow, gang_row
from dra_lab.widgets.session_view import Pane, Row, calls, on
from dra_lab.widgets.verdict_row import AnswerRow, fleet_answer_row
from dra_lab.words.facts import FLEET_TERMS, counted
from dra_lab.words.workload_words import (
    claim_words,
    more_number,
)


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

    fleet_answer = traitlets.Dict().tag(sync=True, value=AnswerRow)
    fleet_workloads: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[WorkloadRow])
    fleet_layers: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[LayerRow])
    fleet_terms = traitlets.Dict(FLEET_TERMS, read_only=True).tag(sync=True, value=dict[str, str])
    fleet_scenarios = traitlets.Dict().tag(sync=True, value=ScenarioTable)
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)

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
            can_undo=session.history.can_undo,
            can_redo=session.history.can_redo,
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
