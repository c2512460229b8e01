"""Compare mode of `PlanView`: the kept plans as columns, and in Fleet as rows; what a person does with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import traitlets

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.placement import Placement
from dra_lab.model.plan import PlanStatus, plan_of_pod
from dra_lab.model.sketch import Kept, KnownValue
from dra_lab.session import Session
from dra_lab.session.answers import AMOUNTS
from dra_lab.session.comparing import BASELINE, MOST_COMPARED, NOW, Comparing
from dra_lab.topology.layered import with_possible_layers
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Place
from dra_lab.widgets.session_view import Pane, Row, calls, latest_plan, on
from dra_lab.words.comparison import (
    ComparisonRow,
    changed_lines,
    comparison_csv,
    comparison_rows,
    comparison_sentence,
    comparison_table,
)
from dra_lab.words.document import as_markdown
from dra_lab.words.facts import GLOSSARY, KINDS


class ChipRow(Row, frozen=True):
    """A device of the small picture: its name, kind and state in a word; letter and colours if the plan takes it."""

    name: str
    kind: str
    state: str
    letter: str = ""
    colour: str = ""
    text_colour: str = ""


class PlaceRow(Row, frozen=True):
    """A PCIe root of the small picture, under its NUMA node, with its devices."""

    numa: str
    root: str
    chips: tuple[ChipRow, ...]


BarRow = tuple[str, int, int, int, int, int]
"""A kind of device, then in use, planned, free, stranded and not available."""


class ComparedPlan(Row, frozen=True):
    """A column: a kept plan, the present one (`now`), or the one without the what-if changes.

    `drawn` says that it is the present drawing. `places` are a small picture of its node, and `bars` the devices of a
    fleet. `elsewhere` says that it was kept from another snapshot. `diff` are the lines of its manifest against that of
    the first column, each with its sign, () for the first.
    """

    name: str
    sentence: str
    kind: Literal["kept", "now", "baseline"] = "kept"
    node: str = ""
    drawn: bool = False
    places: tuple[PlaceRow, ...] = ()
    bars: tuple[BarRow, ...] = ()
    elsewhere: bool = False
    diff: tuple[str, ...] = ()


class CompareRow(Row, frozen=True):
    """Compare mode; {} while another mode is shown. The table is ready to be copied in both forms.

    `every` are the names of all kept plans, of which `plans` are shown; `meanings` say what each line counts.
    """

    sentence: str
    stage: str = ""
    plans: tuple[ComparedPlan, ...] = ()
    lines: tuple[ComparisonRow, ...] = ()
    meanings: dict[str, str] = {}
    most: int = 4
    every: tuple[str, ...] = ()
    markdown: str = ""
    csv: str = ""


MODE = "compare"

_SHOWN_KINDS = ("gpu", "nic")


class CompareMode(Pane):
    """The part of a view that shows kept plans side by side; `kept` counts them in every mode."""

    compare = traitlets.Dict().tag(sync=True, value=CompareRow)
    kept = traitlets.Int(0).tag(sync=True)

    def _begin(self) -> None:
        events = "compare", "mode", "sketch", "cluster", "history", "plan", "fleet"
        self.shows(*events, kept=lambda session: len(session.comparing.every), compare=compare_row)
        self.when(self._complete, "mode")
        self.when(lambda: self._complete() if self.session.comparing.lacks_baseline else None, "plan", "fleet")

    def _complete(self) -> None:
        if self.session.mode == MODE:
            self.session.comparing.complete()

    # ------------------------------------------------------------ what the person did

    remove_kept = calls(Comparing.remove, "comparing", tag="remove-kept")
    rename_kept = calls(Comparing.rename, "comparing", tag="rename-kept")
    restore_kept = calls(Comparing.restore, "comparing", tag="restore-kept")
    choose_kept = calls(Comparing.choose, "comparing", tag="choose-kept")

    @on
    def keep_for_compare(self, name: str = "") -> None:
        """Keep the present plan for comparing, under a name or "" for one made of the drawing or the changes."""
        if self.session.mode == MODE and self.session.comparing.is_of_fleet:
            self.session.comparing.keep_fleet(name)
            return
        plan = latest_plan(self.session)
        if plan is None:
            raise InputError("there is no answer yet; keep the plan when it is there")
        self.session.comparing.keep(plan, name)


def compare_row(session: Session) -> CompareRow | dict[str, Any]:
    """Return what Compare mode shows of a session, {} in another mode."""
    comparing = session.comparing
    if session.mode != MODE:
        return {}
    plans = comparing.columns
    lines = tuple(comparison_rows(plans))
    return CompareRow(
        sentence=comparison_sentence(plans),
        stage=comparing.progress or "",
        plans=tuple(_column(session, kept, plans[0]) for kept in plans),
        lines=lines,
        meanings={row.key: GLOSSARY[row.key] for row in lines},
        most=MOST_COMPARED,
        every=tuple(kept.name for kept in comparing.every),
        markdown=as_markdown([comparison_table(plans)]) if plans else "",
        csv=comparison_csv(plans) if plans else "",
    )


def _column(session: Session, kept: Kept, first: Kept) -> ComparedPlan:
    known = session.comparing.is_of(kept, session.snapshot)
    return ComparedPlan(
        name=kept.name,
        sentence=kept.sentence,
        kind="now" if kept.name == NOW else "baseline" if kept.name == BASELINE else "kept",
        node=kept.node,
        drawn=kept.name == NOW or session.comparing.is_drawn(kept),
        bars=tuple(_bars(kept)),
        elsewhere=not known,
        places=tuple(_places(session.snapshot, kept)) if known and kept.node else (),
        diff=changed_lines(first.yaml, kept.yaml) if kept is not first else (),
    )


def _bars(kept: Kept) -> Iterator[BarRow]:
    """Yield the devices of a kept fleet by kind."""
    for kind, label in KINDS.items():
        named = (kept.figures.get(f"amount/{kind}/{name}", KnownValue(value=0)).value for name in AMOUNTS)
        used, planned, free, stranded, blocked = named
        if used + planned + free + stranded + blocked:
            yield label, used, planned, free, stranded, blocked


def _places(snapshot: Cluster, kept: Kept) -> Iterator[PlaceRow]:
    """Yield the PCIe roots of a kept plan's node that have GPUs or NICs, with the devices that it takes."""
    from dra_lab.pictures.device_states import device_states, shown
    from dra_lab.pictures.letters import colours, letters

    cluster = with_possible_layers(snapshot, kept.layers).cluster
    if kept.node not in cluster.node_by_name:
        return
    places = localities(cluster, kept.node)
    taken = {str(device): kept.devices[str(device)] for device in places if str(device) in kept.devices}
    placements = tuple(Placement(request, device) for device in places if (request := taken.get(str(device))))
    plan = plan_of_pod(PlanStatus.FEASIBLE, kept.sketch, kept.node, placements)
    states = device_states(cluster, kept.node, sketch=kept.sketch, on_top=shown(plan, kept.node, "best"))
    letter, colour = letters(kept.sketch), colours(kept.sketch)
    rows: dict[tuple[str, str], list[ChipRow]] = {}
    for device, place in places.items():
        if place.kind in _SHOWN_KINDS and device in states:
            request = taken.get(str(device), "").partition("/")[0]
            ink = colour.get(request)
            chip = ChipRow(
                name=place.name,
                kind=place.kind,
                state=states[device].state.value,
                letter=letter.get(request, ""),
                colour=ink.fill if ink else "",
                text_colour=ink.text if ink else "",
            )
            rows.setdefault((_value(place.numa_node), _value(place.pcie_root)), []).append(chip)
    for (numa, root), chips in sorted(rows.items()):
        yield PlaceRow(numa=numa, root=root, chips=tuple(sorted(chips, key=lambda c: (c.kind, c.name))))


def _value(place: Place | None) -> str:
    return "" if place is None else str(place.value)


class ScenarioRow(Row, frozen=True):
    """One row of the scenarios: `cells` are the figures; `kept` if it can be restored and removed."""

    name: str
    cells: tuple[str, ...] = ()
    now: bool = False
    kept: bool = False
    title: str = ""


def scenario_row(
    name: str, figures: Mapping[str, KnownValue], keys: Sequence[str], *, now: bool = False, kept: Kept | None = None
) -> ScenarioRow:
    """Return the figures of one answer in the order of `keys`; `placed` comes with the number wanted."""
    cells = []
    for key in keys:
        found = figures.get(key)
        if found is None:
            cells.append("–")
            continue
        of = f" of {figures['wanted'].value:,}" if key == "placed" and "wanted" in figures else ""
        cells.append(f"{found.value:,}{of}")
    title = "" if kept is None else f"{kept.cluster}: {kept.sentence}"
    return ScenarioRow(name=name, cells=tuple(cells), now=now, kept=kept is not None, title=title)


def scenario_columns(figures: Iterable[Mapping[str, KnownValue]]) -> Mapping[str, str]:
    """Return the figures that are compared with their headings: pods placed, more of each workload, stranded."""
    columns = {"placed": "placed"}
    every = list(dict.fromkeys(key for found in figures for key in found))
    more = [key for key in every if key.startswith("more/")]
    columns |= {key: "more fit" if len(more) == 1 else f"more {key.partition('/')[2]}" for key in more}
    for key in every:
        kind = key.partition("/")[2]
        if key.startswith("stranded/") and kind in ("gpu", "nic"):
            columns[key] = f"stranded {KINDS.get(kind, kind)}"
    return columns
