"""The values of gangs and of racks, blocks and other domains in the Fleet mode."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.device_rows import HeatMap
from dra_lab.widgets.wire import Row
from dra_lab.words.why_not_document import TestBars


class LevelRow(Row, frozen=True):
    """One level that a gang can have: `level` of `hierarchy` ("" for none), its label and what defines it."""

    level: str = ""
    hierarchy: str = ""
    label: str = ""
    source: str = ""


class PriceRow(Row, frozen=True):
    """How many gangs fit in all if a level is required; `now` if it is the one of the gang."""

    level: str
    gangs: str
    now: bool = False


class SchedulerRow(Row, frozen=True):
    """The verdict of a scheduler for the gang: yes, maybe or no, and why; `note` says what is not known."""

    name: str
    verdict: Literal["yes", "maybe", "no"]
    text: str
    note: str = ""


class StopRow(Row, frozen=True):
    """The answer to one question about Kueue (quota, its counts, devices), and whether it stops the gang."""

    question: str
    says: str
    stops: bool = False
    text: str = ""


class GangRow(Row, frozen=True):
    """The gang of a workload: its size, the least that start (0: all), its levels and the queue of Kueue.

    `words` are what it is, and `frame` the same in short. `levels` are what `level` can be, `prefers` what `prefer` can
    be, `queues` those of Kueue. `note` says why there are no levels, or that the preferred one has no effect.
    """

    size: int = 1
    min: int = 0
    level: str = ""
    hierarchy: str = ""
    prefer: str = ""
    queue: str = ""
    words: str = ""
    frame: str = ""
    levels: tuple[LevelRow, ...] = ()
    prefers: tuple[LevelRow, ...] = ()
    price: tuple[PriceRow, ...] = ()
    schedulers: tuple[SchedulerRow, ...] = ()
    stops: tuple[StopRow, ...] = ()
    queues: tuple[str, ...] = ()
    note: str = ""


BoxRow = tuple[str, int, int, int, int, bool]
"""Node; pods placed, free, kept away by the plan, by devices in use; whether it is cordoned. A tuple, as in bars."""

DomainState = Literal["chosen", "fits", "refused", "unknown", "outer"]


class DomainRow(Row, frozen=True):
    """One domain: what it holds of one gang, in words and in sums over its nodes.

    `state` is "outer" above the level of the gang. `sums` are pods placed, free, kept away by the plan, by devices in
    use, and on cordoned nodes. `boxes` are its nodes where they are few.
    """

    id: str
    name: str
    depth: int = 0
    state: DomainState = "unknown"
    nodes: int = 0
    holds: str = ""
    words: str = ""
    sums: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    boxes: tuple[BoxRow, ...] = ()


class DomainTable(Row, frozen=True):
    """The domains of one gang: `gang` is its name, `level` what people call a domain, `title` the heading.

    `gangs` are the names that can be chosen. `note` is shown above the rows, or in place of them.
    """

    gang: str = ""
    gangs: tuple[str, ...] = ()
    level: str = ""
    title: str = ""
    rows: tuple[DomainRow, ...] = ()
    heat: HeatMap = HeatMap()
    note: str = ""


class WouldFitRow(Row, frozen=True):
    """A change that makes a domain hold the gang, and what it brings."""

    title: str
    brings: str


class DomainCard(Row, frozen=True):
    """The domain that is chosen: a question with its numbers, the nodes, and what would make it hold the gang."""

    id: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    bars: tuple[TestBars, ...] = ()
    fixes: tuple[WouldFitRow, ...] = ()
    boxes: tuple[BoxRow, ...] = ()
