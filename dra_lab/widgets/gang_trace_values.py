"""The values of the Trace pane for a gang: a scheduler's choice, its present step, and the domains at that step."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.canvas_values import Row
from dra_lab.widgets.plan_values import TileRow

DomainState = Literal["above", "chosen", "fits", "few", "none", "maybe", "later", "waits"]


class GangTraceHead(Row, frozen=True):
    """A scheduler's choice for a gang: what is asked, the verdict, how many steps it has, and its regret.

    `name` is that of the gang, "" if the drawing is none. `error` says why there are no steps, `working` what is still
    computed.
    """

    name: str = ""
    title: str = ""
    verdict: str = ""
    sentence: str = ""
    total: int = 0
    regret: str = ""
    tiles: tuple[TileRow, ...] = ()
    error: str = ""
    working: str = ""


class GangStepRow(Row, frozen=True):
    """One step of the list: its number, its level, and its sentence."""

    number: int
    level: str = ""
    sentence: str = ""


class GangDomainRow(Row, frozen=True):
    """One domain at the present step.

    `depth` is how far it is inside. `pods` of `wanted` have room, -1 for a domain that only contains others. `words`
    say its state.
    """

    key: str
    name: str
    depth: int = 0
    pods: int = -1
    wanted: int = 0
    state: DomainState = "above"
    words: str = ""


class GangTraceNow(Row, frozen=True):
    """The present step: its sentence, the source of its rule, the steps up to it, and the domains.

    `more` says how many further domains there are, and `scale` what a full bar means.
    """

    step: int = 0
    sentence: str = ""
    source: str = ""
    steps: tuple[GangStepRow, ...] = ()
    heading: str = ""
    rows: tuple[GangDomainRow, ...] = ()
    more: str = ""
    scale: str = ""
