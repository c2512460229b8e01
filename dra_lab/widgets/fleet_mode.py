"""The Fleet mode of `PlanView`: its values about the fleet, and the actions of a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
import traitlets

from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer
from dra_lab.model.sketch import PodDrawing
from dra_lab.pictures.letters import letter
from dra_lab.session import Session
from dra_lab.session.fleet_answer import FleetAnswer
from dra_lab.sources import PREFIX
from dra_lab.sources.confined import confined
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.widgets import messages
from dra_lab.widgets.domain_rows import gang_row
from dra_lab.widgets.fleet_adding import FleetAdding
from dra_lab.widgets.fleet_answer_rows import answer_row
from dra_lab.widgets.fleet_domains import FleetDomains
from dra_lab.widgets.fleet_filters import filter_rows, matching
from dra_lab.widgets.fleet_mode_values import (
    BarRow,
    BarTable,
    CardRow,
    FleetAnswerRow,
    LayerRow,
    PodsRow,
    ScenarioTable,
    WhyStrandedRow,
    WorkloadRow,
)
from dra_lab.widgets.fleet_rows import FEW_NODES, Bars, free_lines, scenario_columns, scenario_row, workload_words
from dra_lab.widgets.fleet_values import HeatMap
from dra_lab.widgets.plan_values import BarsRow
from dra_lab.widgets.why_not_rows import bar_rows
from dra_lab.words.fleet_verdict import (
    more_number,
)
from dra_lab.words.glossary import FLEET_TERMS

MOST_NAMES = 300
"""Nodes up to which fields offer their names."""

_NOTHING = "No devices here. Load a cluster."


class FleetMode(FleetDomains, FleetAdding):
    """The part of a view that shows the fleet; it has no values before the mode is shown for the first time.

    Both sides write `fleet_kind`, `fleet_by`, `fleet_filters` (`driver:dra.net`), `fleet_chosen` (the id of a bar) and
    `fleet_picture` (whether the card shows the picture of its node). Only Python writes the other traits.
    """

    fleet_answer = traitlets.Dict().tag(sync=True, value=FleetAnswerRow)
    fleet_workloads: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[WorkloadRow])
    fleet_layers: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[LayerRow])
    fleet_terms = traitlets.Dict(FLEET_TERMS, read_only=True).tag(sync=True, value=dict[str, str])
    fleet_scenarios = traitlets.Dict().tag(sync=True, value=ScenarioTable)
    fleet_bars = traitlets.Dict().tag(sync=True, value=BarTable)
    fleet_heat = traitlets.Dict().tag(sync=True, value=HeatMap)
    fleet_card = traitlets.Dict().tag(sync=True, value=CardRow)
    fleet_kind = traitlets.Unicode("").tag(sync=True)
    fleet_by = traitlets.Unicode("").tag(sync=True)
    fleet_filters: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    fleet_chosen = traitlets.Unicode("").tag(sync=True)
    fleet_picture = traitlets.Bool(False).tag(sync=True)

    def _follow_fleet(self, session: Session) -> None:
        self._follow_domains(session)
        self._follow_adding(session)
        self._bars: Bars | None = None
        self._bars_of: FleetAnswer | None = None
        self._when(session, self._show_fleet, "fleet", "mode", "history")
        self._when(session, self._show_bars, "fleet", "mode")
        self._when(session, self._show_card, "fleet-why")
        self._when(session, self._soon(self._show_fleet_progress), "fleet-progress")
        self.observe(
            lambda _change: self._try("_show_bars", self._show_bars), ["fleet_kind", "fleet_by", "fleet_filters"]
        )
        self.observe(lambda _change: self._try("_show_card", self._show_card), ["fleet_chosen", "fleet_picture"])

    # ------------------------------------------------------------ what is shown

    def _show_fleet(self) -> None:
        if (session := self._session) is None or session.mode != "fleet":
            return
        fleet = session.fleet
        self._assign(
            fleet_answer=answer_row(session),
            fleet_workloads=_workload_rows(session),
            fleet_layers=[
                LayerRow(
                    words=layer.words,
                    problem=session.refused_layers.get(number, ""),
                    note=session.layer_notes.get(number, ""),
                )
                for number, layer in enumerate(fleet.layers)
            ],
            fleet_scenarios=_scenarios(session),
        )

    def _show_fleet_progress(self) -> None:
        if (session := self._session) is not None and session.mode == "fleet":
            self._assign(fleet_answer=answer_row(session))

    def _show_bars(self) -> None:
        if (session := self._session) is None or session.mode != "fleet":
            return
        answer = session.fleet.answer
        if answer is None:
            self._assign(fleet_bars=BarTable(note="" if session.cluster.slices else _NOTHING))
            return
        if answer is not self._bars_of:
            self._bars_of, self._bars = answer, Bars(answer.question.cluster, answer.amounts, answer)
        bars = self._bars
        if bars is None or not bars.kinds:
            self._assign(fleet_bars=BarTable(note=_NOTHING), fleet_card=CardRow(), fleet_heat=HeatMap())
            return
        many = len(answer.question.cluster.node_names) > FEW_NODES
        word = bars.racks.word if bars.racks is not None else ""
        groupings = {
            "nodes": "nodes",
            **({"racks": plural(word)} if word else {}),
            "types": "hardware types",
        }
        kinds = dict(bars.kinds)
        kind = self.fleet_kind if self.fleet_kind in kinds else next(iter(kinds))
        bars.only = matching(bars.cluster, self.fleet_filters)
        by: Any = self.fleet_by if self.fleet_by in groupings else ("types" if many else "nodes")
        rows = bars.nodes(kind) if by == "nodes" else bars.groups(kind, by)
        with self.hold_trait_notifications():
            self.fleet_kind, self.fleet_by = kind, by
        table = BarTable(
            kind=kind,
            by=by,
            kinds=bars.kinds,
            groupings=tuple(groupings.items()),
            rows=rows,
            many=many,
            filters=filter_rows(bars.cluster),
            names=_names(answer.question.cluster),
        )
        self._assign(fleet_bars=table, fleet_heat=bars.heat(kind) if many else HeatMap())
        self._show_card()

    def _show_card(self) -> None:
        if (session := self._session) is None or session.mode != "fleet":
            return
        bars, chosen, kind = self._bars, self.fleet_chosen, self.fleet_kind
        if bars is None or not chosen or kind not in bars.by_kind:
            self._assign(fleet_card=CardRow())
            return
        group = bars.members(kind, chosen.partition("/")[0]).get(chosen) if "/" in chosen else None
        if group is not None:
            name, state, nodes = group
            whole = next(row for row in bars.groups(kind, chosen.partition("/")[0]) if row[0] == chosen)
            title = f"{name}, {state}" if state else name
            rows = tuple(sorted(bars.nodes(kind, nodes), key=lambda row: (-row[7], -row[6])))
            why = self._why(session, rows[0])
            self._assign(fleet_card=CardRow(id=chosen, title=title, lines=free_lines(kind, whole), rows=rows, why=why))
        elif chosen in bars.by_kind[kind]:
            (row,) = bars.nodes(kind, [chosen])
            card = self._node_card(session, bars, chosen, free_lines(kind, row))
            self._assign(fleet_card=msgspec.structs.replace(card, why=self._why(session, row)))
        else:
            self._assign(fleet_card=CardRow())

    def _node_card(self, session: Session, bars: Bars, node: str, lines: tuple[str, ...]) -> CardRow:
        letters = _letters(session.fleet.workloads)
        here = bars.pods_on(node)
        pods = tuple(
            PodsRow(workload=pod.pod, count=here.get(pod.pod, 0), pinned=pod.pins.get(node, 0), letter=letters[pod.pod])
            for pod in session.fleet.workloads
            if here.get(pod.pod, 0) or pod.pins.get(node, 0)
        )
        is_node = node in bars.cluster.node_by_name
        svg = self._node_picture(session, bars, node) if self.fleet_picture and is_node else ""
        closed = node in bars.cluster.cordoned
        lines = ("Cordoned: kube-scheduler starts no new pod here.", *lines) if closed else lines
        return CardRow(id=node, title=node, node=is_node, cordoned=closed, lines=lines, pods=pods, svg=svg)

    @staticmethod
    def _why(session: Session, row: BarRow) -> WhyStrandedRow:
        """Return why devices of the node of a bar are stranded, with the title alone while that is worked out."""
        from dra_lab.words.why_stranded_document import stranded_bars, stranded_lines

        node, stranded, answer = row[0], row[7], session.fleet.answer
        if answer is None or not stranded or node not in answer.question.cluster.node_by_name:
            return WhyStrandedRow()
        title, found = f"Why not more on {node}?", session.fleet.stranding.ask(answer, node)
        if found is None:
            return WhyStrandedRow(title=title, lines=("Finding out …",))
        bars_found = stranded_bars(found, answer.question.cluster, answer.question.release)
        requests = tuple(BarsRow(title=b.title, bars=bar_rows(b.bars), request=b.request) for b in bars_found)
        return WhyStrandedRow(title=title, requests=requests, lines=tuple(stranded_lines(found)))

    @staticmethod
    def _node_picture(session: Session, bars: Bars, node: str) -> str:
        """Return the picture of a node with all its pods, the letter of each workload on its devices."""
        from dra_lab.pictures.hardware import hardware_svg

        answer = session.fleet.answer
        pods = {
            placement.device: replica.workload
            for replica in (answer.plan.on_node.get(node, ()) if answer is not None else ())
            for placement in replica.devices
        }
        return hardware_svg(bars.cluster, node, pods=pods, workloads=[pod.pod for pod in session.fleet.workloads])

    # ------------------------------------------------------------ what the person did

    def _with_session(self, act: Callable[[Session], object]) -> None:
        if self._session is not None:
            act(self._session)

    def _add_workload(self, message: messages.AddWorkload) -> None:
        source = message.source.strip()
        if source and not source.startswith(PREFIX):
            confined(source)
        self._with_session(lambda s: s.fleet.add_file(source) if source else s.fleet.add_drawing())

    def _remove_workload(self, message: messages.RemoveWorkload) -> None:
        self._with_session(lambda s: s.fleet.remove(message.name))

    def _set_replicas(self, message: messages.SetReplicas) -> None:
        self._with_session(lambda s: s.fleet.set_replicas(message.name, message.replicas))

    def _open_workload(self, message: messages.OpenWorkload) -> None:
        if self._session is not None:
            self._session.fleet.open(message.name)
            self._session.show_mode("plan")

    def _pin_pods(self, message: messages.PinPods) -> None:
        self._with_session(lambda s: s.fleet.pin(message.name, message.node, message.pods))

    def _move_pod(self, message: messages.MovePod) -> None:
        self._with_session(lambda s: s.fleet.move(message.name, message.from_node, message.to_node))

    def _add_layer(self, message: messages.AddLayer) -> None:
        layer = Layer(change=message.change, subject=message.subject.strip(), count=message.count)
        self._with_session(lambda s: s.fleet.what_if(layer))

    def _remove_layer(self, message: messages.RemoveLayer) -> None:
        self._with_session(lambda s: s.fleet.remove_layer(message.number))

    def _keep_plan(self, message: messages.KeepScenario) -> None:
        self._with_session(lambda s: s.fleet.keep(message.name.strip()))

    def _restore_plan(self, message: messages.RestoreScenario) -> None:
        self._with_session(lambda s: s.fleet.restore(message.name))

    def _forget_plan(self, message: messages.ForgetScenario) -> None:
        self._with_session(lambda s: s.fleet.drop(message.name))

    def _compare_plans(self, _message: messages.ComparePlans) -> None:
        self._with_session(lambda s: s.show_mode("compare"))

    def _stop_fleet(self, _message: messages.StopFleet) -> None:
        self._with_session(lambda s: s.fleet.cancel())

    def _improve_fleet(self, _message: messages.ImproveFleet) -> None:
        self._with_session(lambda s: s.fleet.ask(again=True))

    def _undo(self, _message: messages.Undo) -> None:
        self._with_session(lambda s: s.undo())

    def _redo(self, _message: messages.Redo) -> None:
        self._with_session(lambda s: s.redo())

    fleet_actions: ClassVar[Mapping[type[messages.Message], Callable[[Any, Any], None]]] = {
        **FleetDomains.gang_actions,
        **FleetAdding.adding_actions,
        messages.AddWorkload: _add_workload,
        messages.RemoveWorkload: _remove_workload,
        messages.SetReplicas: _set_replicas,
        messages.OpenWorkload: _open_workload,
        messages.PinPods: _pin_pods,
        messages.MovePod: _move_pod,
        messages.AddLayer: _add_layer,
        messages.RemoveLayer: _remove_layer,
        messages.KeepScenario: _keep_plan,
        messages.RestoreScenario: _restore_plan,
        messages.ForgetScenario: _forget_plan,
        messages.ComparePlans: _compare_plans,
        messages.StopFleet: _stop_fleet,
        messages.ImproveFleet: _improve_fleet,
        messages.Undo: _undo,
        messages.Redo: _redo,
    }


def _names(cluster: Cluster) -> tuple[str, ...]:
    """Return the names of the nodes that a field can offer; none of many."""
    return cluster.node_names if len(cluster.node_names) <= MOST_NAMES else ()


def _letters(pods: tuple[PodDrawing, ...]) -> Mapping[str, str]:
    return {pod.pod: letter(number) for number, pod in enumerate(pods)}


def _workload_rows(session: Session) -> tuple[WorkloadRow, ...]:
    fleet, answer = session.fleet, session.fleet.answer
    placed = answer.plan.placed if answer is not None else {}
    more = {headroom.workload: more_number(headroom) for headroom in answer.headroom} if answer is not None else {}
    gangs = answer.gangs if answer is not None else None
    if gangs is not None:
        more |= {name: str(count.count) for name, count in gangs.more.items()}
    letters = _letters(fleet.workloads)
    return tuple(
        WorkloadRow(
            name=pod.pod,
            detail=workload_words(session.cluster, pod),
            wanted=pod.replicas,
            placed=placed.get(pod.pod, 0),
            more=more.get(pod.pod, ""),
            pins=tuple(sorted(pod.pins.items())),
            editing=pod.pod == fleet.editing,
            letter=letters[pod.pod],
            gang=None if pod.gang is None else gang_row(session.cluster, pod, pod.gang, answer),
        )
        for pod in fleet.workloads
    )


def _scenarios(session: Session) -> ScenarioTable:
    fleet = session.fleet
    # figures of another cluster say nothing beside those of this one
    shown = {kept.name: kept.figures if kept.cluster == session.snapshot.name else {} for kept in fleet.kept}
    before = fleet.unchanged if fleet.layers else None
    present = [one.figures for one in (fleet.answer, before) if one is not None]
    columns = scenario_columns([*present, *shown.values()])
    rows = []
    if before is not None:
        rows.append(scenario_row("without changes", before.figures, tuple(columns)))
    if fleet.answer is not None:
        words = ", ".join(layer.words for layer in fleet.layers) or "as it is"
        rows.append(scenario_row(f"now: {words}", fleet.answer.figures, tuple(columns), now=True))
    rows += [scenario_row(kept.name, shown[kept.name], tuple(columns), kept=kept) for kept in fleet.kept]
    return ScenarioTable(columns=tuple(columns.values()), rows=tuple(rows))
