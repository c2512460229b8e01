"""The values of the Fleet mode of `PlanView`: answer, workloads, layers, scenarios, bars of nodes, and one card."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.canvas_values import Row
from dra_lab.widgets.domain_values import GangRow
from dra_lab.widgets.plan_values import BarsRow, State, TileRow


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
    tiles: tuple[TileRow, ...] = ()
    stale: bool = False
    working: str = ""
    gap: tuple[int, int] = (0, 0)
    can_improve: bool = False
    can_undo: bool = False
    can_redo: bool = False
    can_compare: bool = False


class WorkloadRow(Row, frozen=True):
    """One workload: `detail` says what a pod requests, `more` how many more fit, `pins` the nodes that pods must be on.

    `editing` says that the canvas shows its claims. With a `gang`, `wanted`, `placed` and `more` count gangs.
    """

    name: str
    detail: str
    wanted: int
    placed: int = 0
    more: str = ""
    pins: tuple[tuple[str, int], ...] = ()
    editing: bool = False
    letter: str = ""
    gang: GangRow | None = None


class LayerRow(Row, frozen=True):
    """One what-if change; `problem` says why it does not apply to this cluster, `note` what to know if it does."""

    words: str
    problem: str = ""
    note: str = ""


class ScenarioRow(Row, frozen=True):
    """One row of the scenarios: `cells` are the figures; `kept` if it can be restored and removed."""

    name: str
    cells: tuple[str, ...] = ()
    now: bool = False
    kept: bool = False
    title: str = ""


class ScenarioTable(Row, frozen=True):
    """The present answer beside the kept ones."""

    columns: tuple[str, ...] = ()
    rows: tuple[ScenarioRow, ...] = ()


BarRow = tuple[str, str, str, int, float, float, float, float, float, str]
"""id, name, state, nodes; in use, planned, free, stranded, not available; pods in words. A tuple, as there are many."""


class FilterRow(Row, frozen=True):
    """One filter of the bars: its name, and its values with the number of nodes of each."""

    name: str
    values: tuple[tuple[str, int], ...] = ()


class BarTable(Row, frozen=True):
    """The bars: one kind of device by nodes, racks or hardware types, and the amounts of all of them.

    `kinds` and `groupings` are what can be chosen, with labels. `many` is True if there are too many nodes for a bar
    each at first. `names` are the nodes of a small cluster. `filters` are what nodes can be chosen by.
    """

    kind: str = ""
    by: Literal["nodes", "racks", "types"] = "nodes"
    kinds: tuple[tuple[str, str], ...] = ()
    groupings: tuple[tuple[str, str], ...] = ()
    rows: tuple[BarRow, ...] = ()
    names: tuple[str, ...] = ()
    filters: tuple[FilterRow, ...] = ()
    note: str = ""
    many: bool = False


class PodsRow(Row, frozen=True):
    """Pods of one workload on a node: how many the plan has there, and how many are pinned."""

    workload: str
    count: int
    pinned: int = 0
    letter: str = ""


class WhyStrandedRow(Row, frozen=True):
    """Why devices of one node are stranded: `title` is the question, `requests` the tests, `lines` what would help."""

    title: str = ""
    requests: tuple[BarsRow, ...] = ()
    lines: tuple[str, ...] = ()


class CardRow(Row, frozen=True):
    """What is chosen: a node with its pods and its picture, or the nodes of a group.

    `lines` say what is free, and `cordoned` that no pod starts on the node. `rows` are the nodes of a group. `svg` is
    the picture of a node. `why` is the reason why devices of the node, or of the node of the group with most of them,
    are stranded.
    """

    id: str = ""
    title: str = ""
    node: bool = False
    cordoned: bool = False
    lines: tuple[str, ...] = ()
    pods: tuple[PodsRow, ...] = ()
    rows: tuple[BarRow, ...] = ()
    svg: str = ""
    why: WhyStrandedRow = WhyStrandedRow()
