"""The values of the Trace pane of `HardwareView`: the search on a node, its present step, and the prediction."""

from __future__ import annotations

from dra_lab.widgets.canvas_values import Row
from dra_lab.widgets.plan_values import TileRow


class TraceHead(Row, frozen=True):
    """The search: its title, how many steps it has, and what it ends with.

    `goals` are the values of the goals at the end; `error` says why there is no search. `working` says how far a search
    is that still runs; the other fields are then of the one before. `recorded` is the number of steps of a search of
    which not all are recorded, 0 if all are. `counters` explain the numbers of devices tried, rejected and given back.
    """

    node: str = ""
    title: str = ""
    total: int = 0
    end: str = ""
    goals: str = ""
    error: str = ""
    working: str = ""
    recorded: int = 0
    counters: tuple[TileRow, ...] = ()


class TraceRow(Row, frozen=True):
    """A row of the list: one step, or several that are folded; `key` is "first-last", `depth` how far it is inside.

    `opens` says that the row has rows inside it.
    """

    key: str
    first: int
    last: int
    kind: str
    position: str = ""
    letter: str = ""
    devices: str = ""
    result: str = ""
    why: str = ""
    depth: int = 0
    opens: bool = False


class TraceNow(Row, frozen=True):
    """The present step: its sentence, the device that it is about, and what the search holds and counted so far.

    `rows` are the rows up to it, of which `earlier` further ones are left out. `unseen` is what the planner knows and
    kube-scheduler does not compare.
    """

    step: int = 0
    kind: str = ""
    device: str = ""
    sentence: str = ""
    tried: int = 0
    rejected: int = 0
    given_back: int = 0
    held: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    rows: tuple[TraceRow, ...] = ()
    earlier: int = 0


class Prediction(Row, frozen=True):
    """What is to be predicted, what the last prediction was, and the score.

    `question` is "" where kube-scheduler allocates nothing more. `picked` and `verdict` are of the last prediction.
    """

    question: str = ""
    picked: str = ""
    right: bool = False
    verdict: str = ""
    score: int = 0
    asked: int = 0
